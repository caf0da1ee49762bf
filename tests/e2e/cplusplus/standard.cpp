// The standard library of C++17 and C++20, with results that depend on every part of it.
#include <algorithm>
#include <array>
#include <complex>
#include <cstdio>
#include <deque>
#include <functional>
#include <initializer_list>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <valarray>
#include <variant>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Named {
    virtual std::string name() const { return "nothing"; }
    virtual ~Named() = default;
    int tag = 7;
};
struct Circle : Shape, Named {
    explicit Circle(double radius) : radius(radius) {}
    double area() const override { return 3.0 * radius * radius; }
    std::string name() const override { return "circle" + std::to_string(tag); }
    double radius;
};
struct Square final : Shape {
    explicit Square(double side) : side(side) {}
    double area() const override { return side * side; }
    double side;
};

struct Error : std::runtime_error {
    Error(const char *what, double value) : std::runtime_error(what), value(value) {}
    double value;
};
struct Guard {
    explicit Guard(double &total) : total(total) {}
    ~Guard() { total += 0.5; }
    double &total;
};

static double fail_at(int depth, double value, double &unwound)
{
    Guard guard(unwound);
    if (depth == 0)
        throw Error("deep", value * 2.0);
    return fail_at(depth - 1, value + 1.0, unwound) + 1.0;
}

static double caught(double value)
{
    double unwound = 0.0;
    try {
        return fail_at(4, value, unwound);
    } catch (const Error &error) {
        try {
            throw;
        } catch (const std::exception &again) {
            return error.value + unwound + (again.what()[0] == 'd');
        }
    }
}

struct Counter {
    Counter() { std::puts("constructed"); }
    ~Counter() { std::puts("destroyed"); }
    int next() { return ++count; }
    int count = 40;
};
static Counter global_counter;
static Counter &local_counter()
{
    static Counter counter;
    return counter;
}
thread_local double per_thread = 1.25;

template <typename T, typename... Rest> constexpr auto sum_of(T first, Rest... rest)
{
    if constexpr (sizeof...(rest) == 0)
        return first;
    else
        return first + sum_of(rest...);
}
constexpr int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
template <typename T>
concept Number = std::is_arithmetic_v<T>;
template <Number T> T twice(T x) { return x + x; }

static double listed(std::initializer_list<double> values)
{
    double product = 1.0;
    for (double value : values)
        product *= value;
    return product;
}

static double containers()
{
    std::vector<double> vector{3.0, 1.0, 2.0};
    vector.push_back(5.0);
    vector.insert(vector.begin(), 4.0);
    std::sort(vector.begin(), vector.end(), std::greater<>());
    std::map<std::string, double> map;
    std::unordered_map<int, double> hash;
    std::set<int> set;
    std::deque<double> deque;
    std::list<double> list;
    for (std::size_t i = 0; i < vector.size(); i++) {
        map["key" + std::to_string(i)] = vector[i];
        hash[static_cast<int>(i * 17)] = vector[i] * 2.0;
        set.insert(static_cast<int>(vector[i]) % 3);
        deque.push_front(vector[i]);
        list.push_back(vector[i]);
    }
    list.sort();
    list.reverse();
    list.splice(list.begin(), std::list<double>{9.0});
    std::array<double, 3> array{1.0, 2.0, 3.0};
    std::valarray<double> valarray{1.0, 2.0, 3.0};
    valarray = valarray * 2.0 + 1.0;
    double total = map["key2"] + hash[17] + set.size() * 100.0 + deque.front() + list.back();
    return total + std::accumulate(array.begin(), array.end(), 0.0) + valarray.sum() + list.front();
}

static double algorithms()
{
    std::vector<double> x(16), y(16), z(16);
    std::iota(x.begin(), x.end(), 1.0);
    std::transform(x.begin(), x.end(), y.begin(), [k = 0.5](double v) { return k * v * v; });
    std::partial_sum(y.begin(), y.end(), z.begin());
    std::rotate(x.begin(), x.begin() + 5, x.end());
    std::nth_element(z.begin(), z.begin() + 4, z.end());
    std::stable_sort(y.begin(), y.end(), [](double a, double b) { return a > b; });
    auto [low, high] = std::minmax_element(x.begin(), x.end());
    double total = std::inner_product(x.begin(), x.end(), y.begin(), 0.0) + *low - *high + z[4];
    total += std::reduce(x.begin(), x.end()) + std::transform_reduce(x.begin(), x.end(), y.begin(), 0.0);
    auto even = x | std::views::filter([](double v) { return static_cast<int>(v) % 2 == 0; }) |
                std::views::transform([](double v) { return v * 3.0; }) | std::views::take(3);
    for (double v : even)
        total += v;
    std::span<double> middle(x.data() + 4, 4);
    return total + std::accumulate(middle.begin(), middle.end(), 0.0);
}

static double memory()
{
    auto unique = std::make_unique<double[]>(8);
    auto shared = std::make_shared<std::vector<double>>(8, 1.5);
    std::weak_ptr<std::vector<double>> weak = shared;
    alignas(Circle) unsigned char storage[sizeof(Circle)];
    auto *placed = new (storage) Circle(2.0);
    double total = placed->area() + placed->tag;
    placed->~Circle();
    struct alignas(64) Wide {
        double value[8];
    };
    Wide *wide = new Wide{{1.0, 2.0}};
    total += wide->value[1] + (reinterpret_cast<std::uintptr_t>(wide) % 64 == 0);
    delete wide;
    unique[3] = (*shared)[2];
    auto moved = std::move(unique);
    total += moved[3] + (unique == nullptr) + weak.lock()->size();
    shared.reset();
    double *array = new (std::nothrow) double[4]{1.0, 2.0};
    total += array[1] + weak.expired();
    delete[] array;
    return total;
}

static double vocabulary()
{
    std::variant<int, double, std::string> variant = 2.5;
    double total = std::visit(
        [](auto &&value) -> double {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
                return value.size();
            else
                return value * 2.0;
        },
        variant);
    variant = std::string("four");
    std::optional<double> optional;
    total += optional.value_or(1.0) + std::get<std::string>(variant).size();
    optional = total;
    auto [first, second] = std::tuple(optional.value(), 3);
    std::function<double(double)> function = [first = first, &total](double x) { return x + first + total; };
    std::function<double(double)> composed = [function](double x) { return function(function(x)); };
    try {
        total += std::get<int>(variant);
    } catch (const std::bad_variant_access &) {
        total += 1.0;
    }
    return composed(second) + total;
}

static double text()
{
    std::ostringstream out;
    out << std::setprecision(12) << std::fixed << 1.0 / 3.0 << ' ' << std::hex << 255 << std::boolalpha << true;
    std::istringstream in("12.5 7 word");
    double number = 0.0;
    int whole = 0;
    std::string word;
    in >> number >> whole >> word;
    std::string joined = word + out.str().substr(0, 4) + std::to_string(whole);
    std::cout << out.str() << '\n' << joined << ' ' << joined.find("or") << '\n';
    return number + whole + std::stod("1e-2") + joined.size();
}

int main()
{
    std::unique_ptr<Shape> shapes[] = {std::make_unique<Circle>(1.5), std::make_unique<Square>(2.0)};
    double areas = 0.0;
    for (const auto &shape : shapes)
        areas += shape->area();
    Named *named = dynamic_cast<Circle *>(shapes[0].get());
    per_thread *= areas;
    std::complex<double> z = std::pow(std::complex<double>(1.0, 2.0), 2) * std::exp(std::complex<double>(0.0, 1.0));
    std::cout << named->name() << ' ' << areas << ' ' << (dynamic_cast<Square *>(shapes[0].get()) == nullptr) << '\n';
    std::cout << caught(3.0) << ' ' << local_counter().next() + global_counter.next() << ' ' << per_thread << '\n';
    std::cout << sum_of(1, 2.5, 3u) << ' ' << factorial(6) << ' ' << twice(2.25) << ' ' << listed({1.5, 2.0, 3.0});
    std::cout << '\n' << containers() << ' ' << algorithms() << ' ' << memory() << ' ' << vocabulary() << '\n';
    std::cout << text() << ' ' << std::abs(z) << ' ' << z.real() << std::endl;
    return 0;
}
