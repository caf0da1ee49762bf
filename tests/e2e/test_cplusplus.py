"""C++17 and C++20: unchanged behaviour, and numbers followed through language and library."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from commanalyzer.foundation.flows import SourceRole
from commanalyzer.graph.value_graph import HomeKind, ValueGraph
from tests.recorded import Recorded, record_file, record_source

STANDARD = Path(__file__).parent / "cplusplus" / "standard.cpp"


def test_a_program_with_the_whole_language_behaves_like_the_original() -> None:
    recorded = record_file(STANDARD, flags=("-std=c++20",))
    assert recorded.plain.stdout.startswith(b"constructed\ncircle7 10.75 1\n")
    assert recorded.plain.stdout.endswith(b"destroyed\ndestroyed\n")
    assert recorded.traced.stdout == recorded.plain.stdout
    assert recorded.traced.exit_status == recorded.plain.exit_status == 0


# Statements that return a double made of elements of in[] = {5, 3, 8, 1, 9, 2, 7, 4} // and which elements.
# ruff: noqa: E501
# The runtime reuses the memory of exceptions, so the two that are thrown carry the same element.
CASES = {
    "template and constexpr": "constexpr int k = 2; return twice(in[k]); // 2",
    "lambda captures": "double a = in[0]; auto f = [a, &b = in[1]](double x) { return a + b + x; }; return f(in[2]); // 0 1 2",
    "std::function": "std::function<double(double)> f = [k = in[3]](double x) { return k * x; }; return f(in[4]); // 3 4",
    "virtual call": "std::unique_ptr<Base> b = make(in[5]); return b->get() + 1; // 5",
    "multiple inheritance": "Both b(in[0], in[6]); Second &s = b; return s.second() + 1; // 6",
    "exception through frames": "try { thrower(3, in[2]); } catch (const Failure &f) { return f.value + in[1]; } return 0; // 1 2",
    "rethrown exception": "try { try { thrower(1, in[2]); } catch (...) { throw; } } catch (Failure f) { return f.value + 1; } return 0; // 2",
    "vector that grows": "std::vector<double> v; for (double x : in) v.push_back(x); return v[6] + v[0]; // 0 6",
    "deque": "std::deque<double> d; for (double x : in) d.push_front(x); return d[2] + 1; // 5",
    "list": "std::list<double> l(in, in + 8); l.reverse(); return l.front() + l.back(); // 0 7",
    "map": "std::map<int, double> m; for (int i = 0; i < 8; i++) m[7 * i % 8] = in[i]; return m[7] + 1; // 1",
    "unordered_map": "std::unordered_map<int, double> m; for (int i = 0; i < 8; i++) m[i * 17] = in[i]; return m[34] + 1; // 2",
    "array and structured binding": "std::array<double, 2> a{in[3], in[5]}; auto [x, y] = a; return x - y; // 3 5",
    "valarray": "std::valarray<double> v(in, 4); v = v * 2.0; return v[1] + v[3]; // 1 3",
    "complex": "std::complex<double> a(in[0], in[1]), b(in[2], in[3]); return (a * b).real(); // 0 1 2 3",
    "pair and tuple": "auto t = std::make_tuple(in[1], std::pair(in[2], 1)); return std::get<1>(t).first + 1; // 2",
    "optional": "std::optional<double> o; o = in[4]; return o.value_or(in[5]) + 1; // 4",
    "variant": "std::variant<int, double> v = in[6]; return std::visit([](auto x) { return x + 1.0; }, v); // 6",
    "initializer_list": "return total({in[0], in[2], in[4]}); // 0 2 4",
    "variadic template": "return sum_of(in[1], in[3], in[5]); // 1 3 5",
    "unique_ptr moved": "auto p = std::make_unique<double>(in[2]); auto q = std::move(p); return *q + 1; // 2",
    "shared_ptr": "auto p = std::make_shared<double>(in[3]); auto q = p; p.reset(); return *q + 1; // 3",
    "placement new": "alignas(Second) char room[sizeof(Second)]; auto *s = new (room) Second(in[1]); return s->second() + 1; // 1",
    "array and aligned new": "struct alignas(64) W { double x[8]; }; W *w = new W[2]; w[1].x[3] = in[7]; double r = w[1].x[3] + 1; delete[] w; return r; // 7",
    "thread_local": "slot = in[4]; return slot + 1; // 4",
    "local static": "static double kept = in[5]; return kept + 1; // 5",
    "sort": "std::vector<double> v(in, in + 8); std::sort(v.begin(), v.end(), [](double a, double b) { return a < b; }); return v[0] + v[7]; // 3 4",
    "transform": "double t[8]; std::transform(in, in + 8, t, [](double x) { return 2 * x; }); return t[5] + 1; // 5",
    "library function": "double t[8]; std::transform(in, in + 8, t, static_cast<double (*)(double)>(std::sqrt)); return t[5] + 1; // 5",
    "precompiled sort": "double t[8]; std::copy(in, in + 8, t); std::sort(t, t + 8); return t[0] + t[7]; // 3 4",
    "number in a string": "return std::stod(std::to_string(in[2])) * 2; // 2",
    "number from a stream": 'std::istringstream text("2.5 7"); double x = in[0]; int n; text >> x >> n; return x * n * in[6]; // 6',
    "accumulate": "return std::accumulate(in + 2, in + 5, 0.0); // 2 3 4",
    "inner_product": "return std::inner_product(in, in + 2, in + 4, 0.0); // 0 1 4 5",
    "partial_sum": "double t[8]; std::partial_sum(in, in + 8, t); return t[2] + 1; // 0 1 2",
    "reduce": "return std::reduce(in + 1, in + 4); // 1 2 3",
    "transform_reduce": "return std::transform_reduce(in, in + 2, in + 6, 0.0); // 0 1 6 7",
    "rotate and reverse": "std::vector<double> v(in, in + 8); std::rotate(v.begin(), v.begin() + 3, v.end()); std::reverse(v.begin(), v.end()); return v[7] + 1; // 3",
    "span": "std::span<double> s(in + 2, 3); return s[1] + s.back(); // 3 4",
    "ranges": "double r = 0; for (double x : std::span(in) | std::views::drop(5) | std::views::transform([](double x) { return 3 * x; })) r += x; return r; // 5 6 7",
}
PRELUDE = """
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <valarray>
#include <variant>
#include <vector>
double in[8] = {5, 3, 8, 1, 9, 2, 7, 4};
thread_local double slot;
template <typename T> T twice(T x) { return x + x; }
struct Base { virtual ~Base() = default; virtual double get() const = 0; };
struct Derived : Base { double x; explicit Derived(double x) : x(x) {} double get() const override { return x * 2; } };
std::unique_ptr<Base> make(double x) { return std::make_unique<Derived>(x); }
struct First { double a; explicit First(double a) : a(a) {} virtual double first() { return a; } };
struct Second { double b; explicit Second(double b) : b(b) {} virtual double second() { return b; } };
struct Both : First, Second {
    Both(double a, double b) : First(a), Second(b) {}
    double second() override { return b * 2; }
};
struct Failure { double value; };
__attribute__((noinline)) void thrower(int depth, double x) {
    std::vector<int> unwound(3);
    if (!depth) throw Failure{x * 2};
    thrower(depth - 1, x);
    std::puts("not reached");
}
double total(std::initializer_list<double> values) {
    double sum = 0;
    for (double v : values) sum += v;
    return sum;
}
template <typename T, typename... R> T sum_of(T x, R... r) {
    if constexpr (sizeof...(r) == 0) return x; else return x + sum_of(r...);
}
"""


# What needs compiled parts of the library, which the bundled compiler builds first: 50 CPU seconds.
LIBRARY = ("exception through frames", "rethrown exception", "vector that grows", "deque", "unordered_map", "shared_ptr", "local static", "precompiled sort", "number in a string", "number from a stream")  # fmt: skip
KINDS = {"headers": [name for name in CASES if name not in LIBRARY], "library": list(CASES)}
NO_LIBRARY = """
#include <cstdlib>
void *operator new(std::size_t n) { return std::malloc(n); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
extern "C" void __cxa_pure_virtual() { std::abort(); }
"""


@cache
def recorded(kind: str) -> Recorded:
    """One program with all cases of a kind: case k writes out[k]."""
    is_plain = kind == "headers"
    bodies = [CASES[name].partition(" // ")[0] for name in KINDS[kind]]
    functions = [f"__attribute__((noinline)) double case_{k}() {{ {b} }}" for k, b in enumerate(bodies)]
    calls = "\n".join(f"  out[{k}] = case_{k}();" for k in range(len(bodies)))
    show = f'  for (int k = 0; k < {len(bodies)}; k++) std::printf("%g\\n", out[k]);'
    main = f"double out[{len(bodies)}];\nint main() {{\n{calls}\n{show}\n}}\n"
    begin = NO_LIBRARY + PRELUDE.replace("throw Failure{x * 2}", "return") if is_plain else PRELUDE
    flags = ("-std=c++20", "-w", *(("-fno-exceptions", "-fno-rtti") if is_plain else ()))
    return record_source("\n".join([begin, *functions, main]), suffix=".cpp", flags=flags, has_cpp_library=not is_plain)  # fmt: skip


@cache
def origins(kind: str) -> Callable[[int], set[int]]:
    """Elements of ``in`` that out[k] was computed from, through every value in between."""
    graph = recorded(kind).graph
    rows: dict[int, list[int]] = {}
    for row, sink in enumerate(graph.rows.row_sink):
        rows.setdefault(int(sink), []).append(row)
    vertex = {
        int(f) // 8: v
        for v, (o, f) in enumerate(zip(graph.home_object, graph.home_offset, strict=True))
        if _is(graph, int(o), "out")
    }

    def find(k: int) -> set[int]:
        found: set[int] = set()
        seen: set[int] = set()
        pending = [vertex[k]]
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            if _is(graph, int(graph.home_object[at]), "in"):
                found.add(int(graph.home_offset[at]) // 8)
            pending += [s for row in rows.get(at, []) for s in _data_sources(graph, row)]
        return found

    return find


def _is(graph: ValueGraph, number: int, name: str) -> bool:
    return graph.objects[number].kind is HomeKind.GLOBAL and graph.objects[number].name == name


def _data_sources(graph: ValueGraph, row: int) -> list[int]:
    first, last = graph.rows.source_ptr[graph.rows.term_ptr[row : row + 2]]
    roles = graph.rows.source_role[first:last]
    return [int(s) for s in graph.rows.source[first:last][roles == SourceRole.DATA]]


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in KINDS.items() for name in names])
def test_a_number_is_followed_through(kind: str, name: str) -> None:
    elements = CASES[name].partition(" // ")[2].split()
    assert origins(kind)(KINDS[kind].index(name)) == set(map(int, elements))


@pytest.mark.parametrize("kind", KINDS)
def test_the_cases_compute_the_same_numbers(kind: str) -> None:
    done = recorded(kind)
    assert done.traced.stdout == done.plain.stdout
    assert done.plain.stdout.split()[:4] == [b"16", b"16", b"9", b"5"]
