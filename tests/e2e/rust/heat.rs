// Dot product and a one-dimensional heat equation: `dot [N [STEPS]]`.
#[inline(never)]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

#[inline(never)]
fn heat(field: &mut Vec<f64>, steps: usize) {
    let mut next = field.clone();
    for _ in 0..steps {
        for i in 1..field.len() - 1 {
            next[i] = field[i] + 0.25 * (field[i - 1] - 2.0 * field[i] + field[i + 1]);
        }
        std::mem::swap(field, &mut next);
    }
}

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).map(|a| a.parse().expect("a number")).collect();
    let n = arguments.first().copied().unwrap_or(64);
    let steps = arguments.get(1).copied().unwrap_or(10);
    let mut field: Vec<f64> = (0..n).map(|i| (i * (n - 1 - i)) as f64).collect();
    heat(&mut field, steps);
    println!("{:.6}", dot(&field, &field));
}
