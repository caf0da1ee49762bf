"""Random C++ programs: classes, templates, virtual calls, exceptions, containers, lambdas; all defined.

Numbers are doubles kept small by a bounded update, integers are unsigned; every index is reduced modulo a
size. The same seed gives the same program.
"""

from random import Random

_HEADERS = """#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>
"""
_SUPPORT = """
static double bound(double x) { return x > 1e6 || x < -1e6 || x != x ? 1.0 : x; }
struct Failure : std::runtime_error {
  double value;
  Failure(double v, const char *what) : std::runtime_error(what), value(v) {}
};
template <typename T, unsigned N> struct Block {
  T cells[N];
  explicit Block(T first) { for (unsigned i = 0; i < N; i++) cells[i] = first + T(i); }
  T &operator[](unsigned i) { return cells[i % N]; }
  T total() const { T t{}; for (const T &c : cells) t += c; return t; }
};
struct Shape {
  virtual ~Shape() = default;
  virtual double measure(double x) const = 0;
};
static int live = 0;
struct Guard {
  double *target; double amount;
  Guard(double *t, double a) : target(t), amount(a) { live++; }
  ~Guard() { *target = bound(*target + amount); live--; }
};
"""


class _Writer:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.shapes = self.random.randint(1, 4)
        self.functions = self.random.randint(1, 4)
        self.size = self.random.randint(2, 12)

    def text(self) -> str:
        parts = [_HEADERS, _SUPPORT]
        parts += [self._shape(i) for i in range(self.shapes)]
        parts += [self._template(), *(self._function(i) for i in range(self.functions)), self._main()]
        return "\n".join(parts)

    def number(self, names: tuple[str, ...]) -> str:
        choice = self.random.random()
        if choice < 0.6:
            return self.random.choice(names)
        if choice < 0.8:
            return f"{self.random.randint(-30, 30) / 8}"
        return f"double({self.random.randint(0, 9)})"

    def expression(self, names: tuple[str, ...], depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.number(names)
        a, b = self.expression(names, depth - 1), self.expression(names, depth - 1)
        form = self.random.choice(
            ("({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} < {b} ? {a} : {b})", "std::max({a}, {b})",
             "std::fabs({a})", "bound({a}) / (2.0 + std::fabs({b}))", "std::sqrt(std::fabs({a}))")
        )  # fmt: skip
        return form.format(a=f"double({a})", b=f"double({b})")

    def _shape(self, index: int) -> str:
        base = f"Shape{self.random.randrange(index)}" if index and self.random.random() < 0.4 else "Shape"
        inherited = "" if base == "Shape" else f" + {base}::measure(x) * 0.25"
        first = "double" if self.random.random() < 0.5 else "float"
        start = f"{self.random.randint(1, 9)}"
        return (
            f"struct Shape{index} : {base} {{ {first} own{index} = {start}; int count{index} = {index};\n"
            f"  double measure(double x) const override {{ double y = own{index} + count{index};"
            f" return bound({self.expression(('x', 'y'))}{inherited}); }} }};"
        )

    def _template(self) -> str:
        return (
            "template <typename F> static double fold(const std::vector<double> &v, double start, F f) {\n"
            "  for (double x : v) start = bound(f(start, x)); return start; }\n"
            "template <typename... T> static double several(T... values) "
            "{ double t = 0; ((t = bound(t * 0.5 + values)), ...); return t; }"
        )

    def _function(self, index: int) -> str:
        depth = self.random.randint(1, 6)
        throws = self.random.random() < 0.6
        lines = [f"__attribute__((noinline)) static double f{index}(int depth, double x, double y) {{"]
        if self.random.random() < 0.7:
            lines.append(f"  Guard guard(&y, {self.number(('x',))});")
        if throws:
            lines.append(f'  if (depth > {depth} || x > 500) throw Failure(bound(x), "f{index}");')
        lines.append(f"  Block<double, {self.random.randint(1, 7)}> block({self.expression(('x', 'y'), 1)});")
        lines.append(f"  block[depth] = bound({self.expression(('x', 'y', 'block[0]'))});")
        callee = f"f{self.random.randrange(index + 1)}"
        call = f"{callee}(depth + 1, {self.expression(('x', 'y'), 1)}, block[1])"
        lines.append(f"  if (depth < 8 && {'true' if throws else 'depth < 4'}) y = bound({call});")
        lines.append(f"  return bound({self.expression(('x', 'y', 'block.total()'))}); }}")
        return "\n".join(lines)

    def _statement(self) -> str:
        i = f"(step + {self.random.randint(0, 5)}u) % n"
        names = (f"v[{i}]", "w[step % n]", "s", "fixed[step % 5]")
        value = self.expression(names)
        f = f"f{self.random.randrange(self.functions)}"
        k = self.random.randint(2, 9)
        return self.random.choice(
            (
                f"v[{i}] = bound({value});",
                f"s = bound(s + {value});",
                f"w[{i}] += bound({value}) * 0.125; w[{i}] = bound(w[{i}]);",
                f"try {{ s = bound(s + {f}(0, v[{i}], s)); }} catch (const Failure &e) "
                "{ s = bound(e.value + e.what()[0]); }",
                f"try {{ try {{ s = {f}(2, s, v[{i}]); }} catch (...) {{ s += 1; throw; }} }} "
                "catch (const std::exception &e) { fixed[step % 5] = bound(s); }",
                f"s = bound(s + shapes[step % shapes.size()]->measure(v[{i}]));",
                "s = fold(v, s, [&](double a, double b) { return a * 0.5 + b * w[step % n]; });",
                f"std::sort(v.begin(), v.end(), "
                f"[](double a, double b) {{ return a {'<' if k % 2 else '>'} b; }});",
                f"table[int(step) % {k}] += v[{i}]; table[int(step) % {k}] = bound(table[int(step) % {k}]);",
                f"v.push_back(bound({value})); if (v.size() > 2 * n) v.resize(n);",
                f"names.push_back(std::string({k}, char('a' + step % 26)) + std::to_string(step));",
                "std::rotate(w.begin(), w.begin() + step % n, w.end());",
                f"s = bound(several(s, v[{i}], float(w[0]), int(step)));",
                "s = bound(s + std::accumulate(w.begin(), w.end(), 0.0));",
                f"std::function<double(double)> g = "
                f"[=](double x) {{ return bound(x * 0.5 + {value}); }}; s = g(s);",
                f"auto owner = std::make_unique<Block<float, {k}>>(float(bound(s))); "
                f"s = bound(s + (*owner)[step] + owner->total());",
                "std::copy(v.begin(), v.begin() + std::min(v.size(), w.size()), w.begin());",
                "std::transform(w.begin(), w.end(), w.begin(), "
                "[&](double x) { return bound(x * 0.75 + s); });",
                f"{{ auto best = std::max_element(v.begin(), v.end()); fixed[{k} % 5] = *best; }}",
                f"static double kept = {k}; kept = bound(kept * 0.5 + s); s = kept;",
            )
        )

    def _main(self) -> str:
        shapes = ", ".join(f"std::make_shared<Shape{i}>()" for i in range(self.shapes))
        steps = self.random.randint(1, 25)
        body = "\n    { ".join(f"{self._statement()} }}" for _ in range(self.random.randint(3, 9)))
        return f"""int main() {{
  const unsigned n = {self.size};
  std::vector<double> v(n), w(n, {self.random.randint(0, 40) / 16});
  std::iota(v.begin(), v.end(), {self.random.randint(-3, 3)}.5);
  std::array<double, 5> fixed{{1, 2, 3, 4, 5}};
  std::map<int, double> table;
  std::vector<std::string> names;
  std::vector<std::shared_ptr<Shape>> shapes{{{shapes}}};
  double s = {self.random.randint(-20, 20) / 8};
  for (unsigned step = 0; step < {steps}; step++) {{
    {{ {body}
  }}
  double total = s;
  for (double x : v) total = bound(total * 0.5 + x);
  for (double x : w) total = bound(total * 0.5 + x);
  for (double x : fixed) total = bound(total * 0.5 + x);
  for (const auto &[key, value] : table) total = bound(total + key * value);
  std::size_t letters = 0;
  for (const auto &name : names) letters = letters * 31 + name.size() + name.back();
  std::printf("%.17g %zu %zu %d\\n", total, v.size(), letters, live);
  return int(letters % 7);
}}
"""


def cpp_program(seed: int) -> str:
    return _Writer(seed).text()
