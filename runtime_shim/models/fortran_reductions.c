/* Reductions, searches and matrix products of flang's runtime, as code that is instrumented with the program; see
 * fortran.c. The runtime's numbers get the sources that a plain loop has.
 */
#include "fortran.h"

double sqrt(double);
typedef float _Complex complex4;
typedef double _Complex complex8;
#pragma STDC CX_LIMITED_RANGE ON

/* ---- reductions to one number ---- */

#define COMBINE_Sum(A, B) ((A) + (B))
#define COMBINE_Product(A, B) ((A) * (B))
#define COMBINE_Maxval(A, B) ((A) < (B) ? (B) : (A))
#define COMBINE_Minval(A, B) ((B) < (A) ? (B) : (A))
#define ALL_KINDS(MACRO, NAME, START)                                                                          \
  MACRO(NAME, Real4, float, r4, START)                                                                         \
  MACRO(NAME, Real8, double, r8, START)                                                                        \
  MACRO(NAME, Integer4, int32_t, i4, START)                                                                    \
  MACRO(NAME, Integer8, int64_t, i8, START)

#define MODEL_REDUCTION(NAME, KIND, TYPE, SUFFIX, START)                                                       \
  TYPE _FortranA##NAME##KIND(Array, const char *, int, int, Array);                                            \
  MODEL TYPE ca_model__FortranA##NAME##KIND(Array array, const char *file, int line, int dimension,            \
                                            Array mask) {                                                      \
    TYPE sources = START;                                                                                      \
    int64_t count = ca_elements(array);                                                                        \
    if (ca_is_array(mask)) {                                                                                   \
      for (int64_t i = 0; i < count; i++)                                                                      \
        if (is_true(ca_element(mask, i)))                                                                      \
          sources = COMBINE_##NAME(sources, *(TYPE *)ca_element(array, i));                                    \
    } else {                                                                                                   \
      for (int64_t i = 0; i < count; i++)                                                                      \
        sources = COMBINE_##NAME(sources, *(TYPE *)ca_element(array, i));                                      \
    }                                                                                                          \
    return ca_with_sources_##SUFFIX(_FortranA##NAME##KIND(array, file, line, dimension, mask), sources);       \
  }
ALL_KINDS(MODEL_REDUCTION, Sum, 0)
ALL_KINDS(MODEL_REDUCTION, Product, 1)
ALL_KINDS(MODEL_REDUCTION, Maxval, 0)
ALL_KINDS(MODEL_REDUCTION, Minval, 0)

#define COMBINE_IAll(A, B) ((A) & (B))
#define COMBINE_IAny(A, B) ((A) | (B))
#define COMBINE_IParity(A, B) ((A) ^ (B))
#define MODEL_BITS(NAME, START)                                                                                \
  MODEL_REDUCTION(NAME, 4, int32_t, i4, START)                                                                 \
  MODEL_REDUCTION(NAME, 8, int64_t, i8, START)
MODEL_BITS(IAll, -1)
MODEL_BITS(IAny, 0)
MODEL_BITS(IParity, 0)

#define MODEL_COMPLEX(NAME, KIND, TYPE, NUMBER, SUFFIX, START)                                                 \
  void _FortranACpp##NAME##KIND(TYPE *, Array, const char *, int, int, Array);                                 \
  MODEL void ca_model__FortranACpp##NAME##KIND(TYPE *result, Array array, const char *file, int line,          \
                                               int dimension, Array mask) {                                    \
    TYPE sources = START;                                                                                      \
    int64_t count = ca_elements(array);                                                                        \
    bool is_masked = ca_is_array(mask);                                                                        \
    for (int64_t i = 0; i < count; i++)                                                                        \
      if (!is_masked || is_true(ca_element(mask, i)))                                                          \
        sources = COMBINE_##NAME(sources, *(TYPE *)ca_element(array, i));                                      \
    _FortranACpp##NAME##KIND(result, array, file, line, dimension, mask);                                      \
    STORE_COMPLEX(result, sources, NUMBER, SUFFIX);                                                            \
  }
#define STORE_COMPLEX(TO, SOURCES, NUMBER, SUFFIX)                                                             \
  do {                                                                                                         \
    NUMBER *parts = (NUMBER *)(TO);                                                                            \
    parts[0] = ca_with_sources_##SUFFIX(ca_number_##SUFFIX(parts), __real__(SOURCES));                         \
    parts[1] = ca_with_sources_##SUFFIX(ca_number_##SUFFIX(parts + 1), __imag__(SOURCES));                     \
  } while (0)
MODEL_COMPLEX(Sum, Complex4, complex4, float, r4, 0)
MODEL_COMPLEX(Sum, Complex8, complex8, double, r8, 0)
MODEL_COMPLEX(Product, Complex4, complex4, float, r4, 1)
MODEL_COMPLEX(Product, Complex8, complex8, double, r8, 1)

/* ---- reductions of logicals ---- */

#define COMBINE_All(A, B) ((A) & (B))
#define COMBINE_Any(A, B) ((A) | (B))
#define COMBINE_Parity(A, B) ((A) ^ (B))
#define COMBINE_Count(A, B) ((A) + (B))

#define MODEL_LOGICAL(NAME, TYPE, START)                                                                       \
  TYPE _FortranA##NAME(Array, const char *, int, int);                                                         \
  MODEL TYPE ca_model__FortranA##NAME(Array mask, const char *file, int line, int dimension) {                 \
    int64_t sources = START, count = ca_elements(mask);                                                        \
    for (int64_t i = 0; i < count; i++)                                                                        \
      sources = COMBINE_##NAME(sources, is_true(ca_element(mask, i)));                                         \
    return (TYPE)ca_with_sources_i8(_FortranA##NAME(mask, file, line, dimension), sources);                    \
  }
MODEL_LOGICAL(All, bool, 1)
MODEL_LOGICAL(Any, bool, 0)
MODEL_LOGICAL(Parity, bool, 0)
MODEL_LOGICAL(Count, int64_t, 0)

#define LOGICAL_LINES(NAME, START)                                                                             \
  own_block(result);                                                                                           \
  int64_t count = ca_elements(result), length = ca_extent(mask, dimension);                                    \
  int64_t stride = ca_stride(mask, dimension);                                                                 \
  for (int64_t k = 0; k < count; k++) {                                                                        \
    int64_t sources = START;                                                                                   \
    char *at = ca_line(mask, k, dimension);                                                                    \
    for (int64_t i = 0; i < length; i++)                                                                       \
      sources = COMBINE_##NAME(sources, is_true(at + i * stride));                                             \
    if (result->element_bytes == sizeof(int64_t)) {                                                            \
      int64_t *to = ca_element(result, k);                                                                     \
      *to = ca_with_sources_i8(ca_number_i8(to), sources);                                                     \
    } else if (result->element_bytes == sizeof(int32_t)) {                                                     \
      int32_t *to = ca_element(result, k);                                                                     \
      *to = ca_with_sources_i4(ca_number_i4(to), (int32_t)sources);                                            \
    }                                                                                                          \
  }

#define MODEL_LOGICAL_LINES(NAME, START)                                                                       \
  void _FortranA##NAME##Dim(Result, Array, int, const char *, int);                                            \
  MODEL void ca_model__FortranA##NAME##Dim(Result result, Array mask, int dimension, const char *file,         \
                                           int line) {                                                         \
    _FortranA##NAME##Dim(result, mask, dimension, file, line);                                                 \
    LOGICAL_LINES(NAME, START)                                                                                 \
  }
MODEL_LOGICAL_LINES(All, 1)
MODEL_LOGICAL_LINES(Any, 0)
MODEL_LOGICAL_LINES(Parity, 0)

void _FortranACountDim(Result, Array, int, int, const char *, int);
MODEL void ca_model__FortranACountDim(Result result, Array mask, int dimension, int kind, const char *file,
                                      int line) {
  _FortranACountDim(result, mask, dimension, kind, file, line);
  LOGICAL_LINES(Count, 0)
}

/* ---- reductions along one dimension ---- */

/* The type is looked at outside, so that it selects no value. */
#define REDUCE_LINES(NAME, TYPE, SUFFIX, START)                                                                \
  for (int64_t k = 0; k < count; k++) {                                                                        \
    TYPE sources = START;                                                                                      \
    char *at = ca_line(array, k, dimension), *selects = is_masked ? ca_line(mask, k, dimension) : 0;           \
    for (int64_t i = 0; i < length; i++)                                                                       \
      if (!is_masked || is_true(selects + i * mask_stride))                                                    \
        sources = COMBINE_##NAME(sources, *(TYPE *)(at + i * stride));                                         \
    TYPE *to = ca_element(result, k);                                                                          \
    *to = ca_with_sources_##SUFFIX(ca_number_##SUFFIX(to), sources);                                           \
  }

#define LINES_OF_INTEGERS(NAME, START)                                                                         \
  case TYPE_INTEGER_4:                                                                                         \
    REDUCE_LINES(NAME, int32_t, i4, START) break;                                                              \
  case TYPE_INTEGER_8:                                                                                         \
    REDUCE_LINES(NAME, int64_t, i8, START) break;
#define LINES_OF_NUMBERS(NAME, START)                                                                          \
  LINES_OF_INTEGERS(NAME, START)                                                                               \
  case TYPE_REAL_4:                                                                                            \
    REDUCE_LINES(NAME, float, r4, START) break;                                                                \
  case TYPE_REAL_8:                                                                                            \
    REDUCE_LINES(NAME, double, r8, START) break;

#define MODEL_LINES(NAME, START, LINES)                                                                        \
  void _FortranA##NAME##Dim(Result, Array, int, const char *, int, Array);                                     \
  MODEL void ca_model__FortranA##NAME##Dim(Result result, Array array, int dimension, const char *file,        \
                                           int line, Array mask) {                                             \
    _FortranA##NAME##Dim(result, array, dimension, file, line, mask);                                          \
    own_block(result);                                                                                         \
    bool is_masked = ca_is_array(mask);                                                                        \
    int64_t count = ca_elements(result), length = ca_extent(array, dimension);                                 \
    int64_t stride = ca_stride(array, dimension);                                                              \
    int64_t mask_stride = is_masked ? ca_stride(mask, dimension) : 0;                                          \
    switch (ca_type(array)) { LINES(NAME, START) }                                                             \
  }
MODEL_LINES(Sum, 0, LINES_OF_NUMBERS)
MODEL_LINES(Product, 1, LINES_OF_NUMBERS)
MODEL_LINES(Maxval, 0, LINES_OF_NUMBERS)
MODEL_LINES(Minval, 0, LINES_OF_NUMBERS)
MODEL_LINES(IAll, -1, LINES_OF_INTEGERS)
MODEL_LINES(IAny, 0, LINES_OF_INTEGERS)
MODEL_LINES(IParity, 0, LINES_OF_INTEGERS)

#define NORM_LINES(TYPE, SUFFIX)                                                                               \
  for (int64_t k = 0; k < count; k++) {                                                                        \
    TYPE sources = 0, *to = ca_element(result, k);                                                             \
    char *at = ca_line(array, k, dimension);                                                                   \
    for (int64_t i = 0; i < length; i++)                                                                       \
      sources += *(TYPE *)(at + i * stride) * *(TYPE *)(at + i * stride);                                      \
    *to = ca_with_sources_##SUFFIX(ca_number_##SUFFIX(to), (TYPE)sqrt(sources));                               \
  }

void _FortranANorm2Dim(Result, Array, int, const char *, int);
MODEL void ca_model__FortranANorm2Dim(Result result, Array array, int dimension, const char *file, int line) {
  _FortranANorm2Dim(result, array, dimension, file, line);
  own_block(result);
  int64_t count = ca_elements(result), length = ca_extent(array, dimension);
  int64_t stride = ca_stride(array, dimension);
  if (ca_is_type(array, TYPE_REAL_4)) {
    NORM_LINES(float, r4)
  } else if (ca_is_type(array, TYPE_REAL_8)) {
    NORM_LINES(double, r8)
  }
}

/* ---- places of elements: they have all that was compared as sources ---- */

HELPER void locate(struct descriptor *result, int64_t index, double found) {
  if (result->element_bytes == sizeof(int64_t)) {
    int64_t *to = ca_element(result, index);
    *to = ca_located_i8(ca_number_i8(to), found);
  } else if (result->element_bytes == sizeof(int32_t)) {
    int32_t *to = ca_element(result, index);
    *to = ca_located_i4(ca_number_i4(to), found);
  }
}

/* The type is looked at outside, so that it selects no value. */
HELPER double number_at(int type, const void *at) {
  switch (type) {
  case TYPE_INTEGER_4: return *(const int32_t *)at;
  case TYPE_INTEGER_8: return (double)*(const int64_t *)at;
  case TYPE_REAL_4: return *(const float *)at;
  case TYPE_REAL_8: return *(const double *)at;
  default: return 0;
  }
}

#define COMBINE_Maxloc COMBINE_Maxval
#define COMBINE_Minloc COMBINE_Minval
#define COMBINE_Findloc COMBINE_Sum
#define FIND(NAME, START)                                                                                      \
  double found = START;                                                                                        \
  int64_t count = ca_elements(array);                                                                          \
  bool is_masked = ca_is_array(mask);                                                                          \
  for (int64_t i = 0; i < count; i++)                                                                          \
    if (!is_masked || is_true(ca_element(mask, i)))                                                            \
      found = COMBINE_##NAME(found, number_at(ca_type(array), ca_element(array, i)));                          \
  int64_t places = ca_elements(result);                                                                        \
  for (int64_t k = 0; k < places; k++)                                                                         \
    locate(result, k, found);
#define FIND_LINES(NAME, START)                                                                                \
  int64_t count = ca_elements(result), length = ca_extent(array, dimension);                                   \
  int64_t stride = ca_stride(array, dimension);                                                                \
  bool is_masked = ca_is_array(mask);                                                                          \
  int64_t mask_stride = is_masked ? ca_stride(mask, dimension) : 0;                                            \
  for (int64_t k = 0; k < count; k++) {                                                                        \
    double found = START;                                                                                      \
    char *at = ca_line(array, k, dimension), *selects = is_masked ? ca_line(mask, k, dimension) : 0;           \
    for (int64_t i = 0; i < length; i++)                                                                       \
      if (!is_masked || is_true(selects + i * mask_stride))                                                    \
        found = COMBINE_##NAME(found, number_at(ca_type(array), at + i * stride));                             \
    locate(result, k, found);                                                                                  \
  }

#define MODEL_PLACE(NAME, KIND, TYPE, SUFFIX, START)                                                           \
  void _FortranA##NAME##KIND(Result, Array, int, const char *, int, Array, bool);                              \
  MODEL void ca_model__FortranA##NAME##KIND(Result result, Array array, int kind, const char *file, int line,  \
                                            Array mask, bool back) {                                           \
    _FortranA##NAME##KIND(result, array, kind, file, line, mask, back);                                        \
    own_block(result);                                                                                         \
    FIND(NAME, START)                                                                                          \
  }
ALL_KINDS(MODEL_PLACE, Maxloc, 0)
ALL_KINDS(MODEL_PLACE, Minloc, 0)

#define MODEL_PLACES(NAME)                                                                                     \
  void _FortranA##NAME##Dim(Result, Array, int, int, const char *, int, Array, bool);                          \
  MODEL void ca_model__FortranA##NAME##Dim(Result result, Array array, int kind, int dimension,                \
                                           const char *file, int line, Array mask, bool back) {                \
    _FortranA##NAME##Dim(result, array, kind, dimension, file, line, mask, back);                              \
    own_block(result);                                                                                         \
    FIND_LINES(NAME, 0)                                                                                        \
  }
MODEL_PLACES(Maxloc)
MODEL_PLACES(Minloc)

void _FortranAFindloc(Result, Array, Array, int, const char *, int, Array, bool);
MODEL void ca_model__FortranAFindloc(Result result, Array array, Array target, int kind, const char *file,
                                     int line, Array mask, bool back) {
  _FortranAFindloc(result, array, target, kind, file, line, mask, back);
  own_block(result);
  double wanted = number_at(ca_type(target), ca_element(target, 0));
  FIND(Findloc, wanted)
}

void _FortranAFindlocDim(Result, Array, Array, int, int, const char *, int, Array, bool);
MODEL void ca_model__FortranAFindlocDim(Result result, Array array, Array target, int kind, int dimension,
                                        const char *file, int line, Array mask, bool back) {
  _FortranAFindlocDim(result, array, target, kind, dimension, file, line, mask, back);
  own_block(result);
  double wanted = number_at(ca_type(target), ca_element(target, 0));
  FIND_LINES(Findloc, wanted)
}

/* ---- products of arrays; their types may differ ---- */

#define MODEL_DOT(NAME, KIND, TYPE, SUFFIX, START)                                                             \
  TYPE _FortranA##NAME##KIND(Array, Array, const char *, int);                                                 \
  MODEL TYPE ca_model__FortranA##NAME##KIND(Array x, Array y, const char *file, int line) {                    \
    TYPE sources = START;                                                                                      \
    int64_t count = ca_elements(x);                                                                            \
    if (ca_type(x) == ca_type(y)) {                                                                            \
      for (int64_t i = 0; i < count; i++)                                                                      \
        sources += *(TYPE *)ca_element(x, i) * *(TYPE *)ca_element(y, i);                                      \
    } else {                                                                                                   \
      for (int64_t i = 0; i < count; i++)                                                                      \
        sources += (TYPE)(number_at(ca_type(x), ca_element(x, i)) * number_at(ca_type(y), ca_element(y, i)));  \
    }                                                                                                          \
    return ca_with_sources_##SUFFIX(_FortranA##NAME##KIND(x, y, file, line), sources);                         \
  }
ALL_KINDS(MODEL_DOT, DotProduct, 0)

#define MODEL_COMPLEX_DOT(KIND, TYPE, NUMBER, SUFFIX)                                                          \
  void _FortranACppDotProduct##KIND(TYPE *, Array, Array, const char *, int);                                  \
  MODEL void ca_model__FortranACppDotProduct##KIND(TYPE *result, Array x, Array y, const char *file,           \
                                                   int line) {                                                 \
    TYPE sources = 0;                                                                                          \
    int64_t count = ca_elements(x);                                                                            \
    for (int64_t i = 0; i < count; i++)                                                                        \
      sources += ~*(TYPE *)ca_element(x, i) * *(TYPE *)ca_element(y, i);                                       \
    _FortranACppDotProduct##KIND(result, x, y, file, line);                                                    \
    STORE_COMPLEX(result, sources, NUMBER, SUFFIX);                                                            \
  }
MODEL_COMPLEX_DOT(Complex4, complex4, float, r4)
MODEL_COMPLEX_DOT(Complex8, complex8, double, r8)

#define MODEL_NORM(KIND, TYPE, SUFFIX)                                                                         \
  TYPE _FortranANorm2_##KIND(Array, const char *, int, int);                                                   \
  MODEL TYPE ca_model__FortranANorm2_##KIND(Array array, const char *file, int line, int dimension) {          \
    TYPE sources = 0;                                                                                          \
    int64_t count = ca_elements(array);                                                                        \
    for (int64_t i = 0; i < count; i++)                                                                        \
      sources += *(TYPE *)ca_element(array, i) * *(TYPE *)ca_element(array, i);                                \
    sources = (TYPE)sqrt(sources);                                                                             \
    return ca_with_sources_##SUFFIX(_FortranANorm2_##KIND(array, file, line, dimension), sources);             \
  }
MODEL_NORM(4, float, r4)
MODEL_NORM(8, double, r8)

/* ---- matrix products ---- */

#define MODEL_MATMUL(NAME, IS_TRANSPOSED, XKIND, X, YKIND, Y, TYPE, STORE)                                     \
  void _FortranA##NAME##XKIND##YKIND(Result, Array, Array, const char *, int);                                 \
  MODEL void ca_model__FortranA##NAME##XKIND##YKIND(Result result, Array x, Array y, const char *file,         \
                                                    int line) {                                                \
    _FortranA##NAME##XKIND##YKIND(result, x, y, file, line);                                                   \
    own_block(result);                                                                                         \
    bool is_vector = ca_extent(x, 2) < 0;                                                                      \
    int64_t columns = ca_extent(y, 2) < 0 ? 1 : ca_extent(y, 2), length = ca_extent(y, 1);                     \
    int64_t rows = is_vector ? 1 : ca_extent(x, IS_TRANSPOSED + 1);                                            \
    for (int64_t j = 0; j < columns; j++)                                                                      \
      for (int64_t i = 0; i < rows; i++) {                                                                     \
        TYPE sources = 0;                                                                                      \
        for (int64_t k = 0; k < length; k++)                                                                   \
          sources += *(X *)(is_vector       ? ca_index(x, k, 0)                                                \
                            : IS_TRANSPOSED ? ca_index(x, k, i)                                                \
                                            : ca_index(x, i, k)) *                                             \
                     *(Y *)ca_index(y, k, j);                                                                  \
        TYPE *to = is_vector ? ca_index(result, j, 0) : ca_index(result, i, j);                                \
        STORE(to, sources);                                                                                    \
      }                                                                                                        \
  }
#define STORE_r4(TO, SOURCES) *(TO) = ca_with_sources_r4(ca_number_r4(TO), SOURCES)
#define STORE_r8(TO, SOURCES) *(TO) = ca_with_sources_r8(ca_number_r8(TO), SOURCES)
#define STORE_i4(TO, SOURCES) *(TO) = ca_with_sources_i4(ca_number_i4(TO), SOURCES)
#define STORE_i8(TO, SOURCES) *(TO) = ca_with_sources_i8(ca_number_i8(TO), SOURCES)
#define STORE_c4(TO, SOURCES) STORE_COMPLEX(TO, SOURCES, float, r4)
#define STORE_c8(TO, SOURCES) STORE_COMPLEX(TO, SOURCES, double, r8)

#define PAIR(N, T, X4, X8, XT4, XT8, Y4, Y8, YT4, YT8, TYPE4, TYPE8, STORE4, STORE8)                           \
  MODEL_MATMUL(N, T, X4, XT4, Y4, YT4, TYPE4, STORE4)                                                          \
  MODEL_MATMUL(N, T, X4, XT4, Y8, YT8, TYPE8, STORE8)                                                          \
  MODEL_MATMUL(N, T, X8, XT8, Y4, YT4, TYPE8, STORE8)                                                          \
  MODEL_MATMUL(N, T, X8, XT8, Y8, YT8, TYPE8, STORE8)
/* An integer takes the kind of what it is multiplied with. */
#define WITH_INTEGERS(N, T, X4, X8, XT4, XT8, STORE4, STORE8)                                                  \
  MODEL_MATMUL(N, T, X4, XT4, Integer4, int32_t, XT4, STORE4)                                                  \
  MODEL_MATMUL(N, T, X4, XT4, Integer8, int64_t, XT4, STORE4)                                                  \
  MODEL_MATMUL(N, T, X8, XT8, Integer4, int32_t, XT8, STORE8)                                                  \
  MODEL_MATMUL(N, T, X8, XT8, Integer8, int64_t, XT8, STORE8)                                                  \
  MODEL_MATMUL(N, T, Integer4, int32_t, X4, XT4, XT4, STORE4)                                                  \
  MODEL_MATMUL(N, T, Integer8, int64_t, X4, XT4, XT4, STORE4)                                                  \
  MODEL_MATMUL(N, T, Integer4, int32_t, X8, XT8, XT8, STORE8)                                                  \
  MODEL_MATMUL(N, T, Integer8, int64_t, X8, XT8, XT8, STORE8)
#define INTEGER Integer4, Integer8, int32_t, int64_t
#define REAL Real4, Real8, float, double
#define COMPLEX Complex4, Complex8, complex4, complex8
#define EXPANDED(MACRO, ...) MACRO(__VA_ARGS__)
#define MODEL_MATMULS(N, T)                                                                                    \
  EXPANDED(PAIR, N, T, INTEGER, INTEGER, int32_t, int64_t, STORE_i4, STORE_i8)                                 \
  EXPANDED(PAIR, N, T, REAL, REAL, float, double, STORE_r4, STORE_r8)                                          \
  EXPANDED(PAIR, N, T, COMPLEX, COMPLEX, complex4, complex8, STORE_c4, STORE_c8)                               \
  EXPANDED(PAIR, N, T, REAL, COMPLEX, complex4, complex8, STORE_c4, STORE_c8)                                  \
  EXPANDED(PAIR, N, T, COMPLEX, REAL, complex4, complex8, STORE_c4, STORE_c8)                                  \
  EXPANDED(WITH_INTEGERS, N, T, REAL, STORE_r4, STORE_r8)                                                      \
  EXPANDED(WITH_INTEGERS, N, T, COMPLEX, STORE_c4, STORE_c8)
MODEL_MATMULS(Matmul, 0)
MODEL_MATMULS(MatmulTranspose, 1)
