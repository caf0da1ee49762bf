// Exceptions through frames with local arrays and destructors, rethrow, function try blocks, nested handlers.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

static int live = 0;
struct Guard {
  double work[4];
  explicit Guard(double x) {
    for (int i = 0; i < 4; i++)
      work[i] = x + i;
    live++;
  }
  ~Guard() { live--; }
  double sum() const { return work[0] + work[1] + work[2] + work[3]; }
};

struct Failure : std::runtime_error {
  double value;
  explicit Failure(double v) : std::runtime_error("failure"), value(v) {}
};

__attribute__((noinline)) double descend(int depth, double x) {
  Guard guard(x);
  double local[8];
  for (int i = 0; i < 8; i++)
    local[i] = x * i;
  if (depth == 0)
    throw Failure(guard.sum() + local[7]);
  if (depth == 3) {
    try {
      return descend(depth - 1, x + 1);
    } catch (const Failure &f) {
      if (f.value > 40)
        throw;
      return f.value;
    }
  }
  return descend(depth - 1, x * 2) + guard.sum();
}

__attribute__((noinline)) int risky(int i) {
  if (i % 3 == 0)
    throw i;
  if (i % 5 == 0)
    throw std::string("five");
  return i;
}

struct Member {
  int n;
  explicit Member(int i) try : n(risky(i)) {
  } catch (int code) {
    throw code + 1000;
  }
};

int main() {
  double total = 0;
  for (int depth = 0; depth < 8; depth++) {
    try {
      total += descend(depth, 0.5 * depth);
    } catch (const std::exception &e) {
      total += 1;
      std::printf("%d %s\n", depth, e.what());
    }
  }
  int sum = 0;
  for (int i = 1; i < 16; i++) {
    try {
      Member member(i);
      sum += member.n;
    } catch (int code) {
      sum += code;
    } catch (...) {
      sum -= 7;
    }
  }
  std::vector<int> v(3);
  try {
    v.at(5) = 1;
  } catch (const std::out_of_range &) {
    std::puts("out of range");
  }
  std::printf("%.17g %d %d\n", total, sum, live);
  return live;
}
