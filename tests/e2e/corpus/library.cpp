// Containers, algorithms, strings, streams, virtual calls, lambdas, allocation in all its forms.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <deque>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

struct Shape {
  virtual ~Shape() {}
  virtual double area() const = 0;
};
struct Square : Shape {
  double side;
  explicit Square(double s) : side(s) {}
  double area() const override { return side * side; }
};
struct Disc : Shape {
  double radius;
  explicit Disc(double r) : radius(r) {}
  double area() const override { return 3.0 * radius * radius; }
};

static std::vector<double> at_start = {3, 1, 2};  // static constructor
static const double scale = std::sqrt(2.0) * static_cast<double>(at_start.size());
thread_local int calls = 0;

struct Matrix {
  std::array<std::array<double, 4>, 4> m{};
  Matrix operator*(const Matrix &o) const {
    Matrix r;
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++)
        for (int k = 0; k < 4; k++)
          r.m[i][j] += m[i][k] * o.m[k][j];
    return r;
  }
};

template <typename T> T twice(T x) {
  calls++;
  return x + x;
}

int main() {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 6; i++) {
    if (i % 2)
      shapes.push_back(std::make_unique<Square>(0.5 * i));
    else
      shapes.push_back(std::make_unique<Disc>(0.25 * i));
  }
  double area = 0;
  for (const auto &s : shapes)
    area += s->area();
  std::cout << area << ' ' << scale << '\n';

  std::sort(at_start.begin(), at_start.end(), [](double a, double b) { return a > b; });
  std::map<std::string, double> table;
  std::unordered_map<int, double> hashed;
  for (int i = 0; i < 20; i++) {
    table["key" + std::to_string(i % 7)] += twice(i * 0.5);
    hashed[i % 5] += i;
  }
  for (const auto &[key, value] : table)
    std::cout << key << '=' << value << ' ';
  double h = 0;
  for (int i = 0; i < 5; i++)
    h += hashed[i] * i;
  std::cout << h << ' ' << calls << '\n';

  std::list<int> list = {5, 3, 9};
  list.sort();
  std::deque<double> deque(at_start.begin(), at_start.end());
  deque.push_front(0.5);
  std::set<int> set(list.begin(), list.end());
  std::function<double(double)> f = [&](double x) { return x * deque.front() + *set.begin(); };
  std::cout << f(4) << ' ' << std::accumulate(deque.begin(), deque.end(), 0.0) << '\n';

  std::stringstream stream;
  stream << "12 2.5 word";
  int n;
  double x;
  std::string word;
  stream >> n >> x >> word;
  word.append(40, '!');
  std::cout << n * x << word.substr(2, 6) << word.size() << '\n';

  alignas(16) unsigned char buffer[sizeof(Square)];
  Square *placed = new (buffer) Square(3);
  int *numbers = new int[10]();
  int *none = new (std::nothrow) int(7);
  std::iota(numbers, numbers + 10, *none);
  std::rotate(numbers, numbers + 3, numbers + 10);
  std::cout << placed->area() << ' ' << numbers[0] << ' ' << numbers[9] << '\n';
  placed->~Square();
  delete[] numbers;
  delete none;

  Matrix a, b;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      a.m[i][j] = i + j, b.m[i][j] = i - j;
  Matrix c = a * b * a;
  std::complex<double> z(1, 2);
  z = z * z + std::exp(z);
  std::cout << c.m[3][2] << ' ' << z.real() << ' ' << std::abs(z) << std::endl;
  return static_cast<int>(c.m[1][1]) & 63;
}
