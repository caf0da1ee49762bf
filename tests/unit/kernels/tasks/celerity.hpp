// What declarations of a port use of Celerity's interface, to compile them without Celerity. As there, a slice needs
// its dimensions in the text, and a mapper must give a region of the buffer for chunks of some kernel.
#pragma once

namespace celerity {
using size_t = decltype(sizeof 0); // no headers: they cost a minute where the library of C++ is compiled first
template <int Dims> struct point {
  size_t at[Dims] = {};
  point() = default;
  template <class... T> requires(sizeof...(T) == Dims) point(T... each) : at{static_cast<size_t>(each)...} {}
  size_t &operator[](int d) { return at[d]; }
  size_t operator[](int d) const { return at[d]; }
};
template <int Dims> struct id : point<Dims> { using point<Dims>::point; };
template <int Dims> struct range : point<Dims> { using point<Dims>::point; };
template <int Dims> struct item {};
template <int Dims> struct subrange {
  id<Dims> offset;
  celerity::range<Dims> range;
};
template <int Dims> struct chunk : subrange<Dims> {};

namespace access {
struct one_to_one {
  template <int Dims> subrange<Dims> operator()(const chunk<Dims> &own) const { return own; }
};
struct all {
  template <int Kernel, int Dims> subrange<Dims> operator()(const chunk<Kernel> &, const range<Dims> &) const { return {}; }
};
template <int Dims> struct fixed {
  fixed(const subrange<Dims> &);
  template <int Kernel> subrange<Dims> operator()(const chunk<Kernel> &) const { return {}; }
};
template <int Dims> struct slice {
  explicit slice(size_t);
  subrange<Dims> operator()(const chunk<Dims> &, const range<Dims> &) const { return {}; }
};
template <int Dims> struct neighborhood {
  template <class... T> requires(sizeof...(T) == Dims) explicit neighborhood(T...);
  subrange<Dims> operator()(const chunk<Dims> &own) const { return own; }
};
template <class... T> neighborhood(T...) -> neighborhood<sizeof...(T)>;
} // namespace access

inline constexpr struct read_only_tag { static constexpr bool overwrites = false; } read_only;
inline constexpr struct write_only_tag { static constexpr bool overwrites = true; } write_only;
inline constexpr struct read_write_tag { static constexpr bool overwrites = false; } read_write;
inline constexpr struct no_init_tag {} no_init;

template <class T, int Dims> struct buffer {};
struct handler {
  template <int Dims, class Body> void parallel_for(range<Dims>, Body body) { body(item<Dims>{}); }
  template <int Dims, class Body> void parallel_for(range<Dims>, id<Dims>, Body body) { body(item<Dims>{}); }
};
struct queue {
  template <class Group> void submit(Group group) { handler own; group(own); }
};

template <class Mapper, int Kernel, int Dims>
concept maps = requires(const Mapper &mapper, chunk<Kernel> own) { subrange<Dims>(mapper(own)); } ||
               requires(const Mapper &mapper, chunk<Kernel> own, range<Dims> size) { subrange<Dims>(mapper(own, size)); };
template <class T, int Dims> struct accessor {
  template <class Mapper, class Mode, class... Init>
    requires(maps<Mapper, 1, Dims> || maps<Mapper, 2, Dims> || maps<Mapper, 3, Dims>)
  accessor(buffer<T, Dims> &, handler &, Mapper, Mode, Init... init) {
    static_assert(Mode::overwrites || sizeof...(init) == 0, "only what is overwritten needs no values");
  }
};
} // namespace celerity
