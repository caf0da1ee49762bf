/* What flang's runtime does to values, as code that is instrumented with the program.
 *
 * A call of a modelled function X is renamed to ca_model_X before instrumentation. The model lets the runtime do
 * the work and repeats only what flows: the numbers and the output are those of the runtime. Models are inlined,
 * so that allocations and values belong to the line of the call.
 */
#include "fortran.h"
#include <stdlib.h>

double sqrt(double);

#define MODEL __attribute__((always_inline, used))
#define HELPER __attribute__((always_inline)) static inline
typedef struct descriptor *restrict Result;
typedef const struct descriptor *Array;

/* A logical of any kind: 1 in its lowest byte. */
HELPER bool is_true(const void *at) { return *(const unsigned char *)at & 1; }

/* ---- allocation: the block is replaced by one that belongs to this place in the program ---- */

HELPER void own_block(struct descriptor *array) {
  void *block = array->base;
  if (!block)
    return;
  void *owned = malloc(ca_block_bytes(block));
  if (!owned)
    return;
  array->base = owned;
  ca_adopt(owned, block, array->element_bytes * (uint64_t)ca_elements(array));
}

HELPER void copy_elements(struct descriptor *to, Array from) {
  int64_t count = ca_elements(to);
  uint64_t bytes = to->element_bytes < from->element_bytes ? to->element_bytes : from->element_bytes;
  for (int64_t i = 0; i < count; i++)
    ca_copy_sources(ca_element(to, i), ca_element(from, ca_is_array(from) ? i : 0), bytes);
}

#define MODEL_ALLOCATE(KIND)                                                                                   \
  int _FortranA##KIND##Allocate(struct descriptor *, bool, Array, const char *, int);                          \
  MODEL int ca_model__FortranA##KIND##Allocate(struct descriptor *array, bool has_status, Array message,       \
                                               const char *file, int line) {                                   \
    int status = _FortranA##KIND##Allocate(array, has_status, message, file, line);                            \
    if (!status)                                                                                               \
      own_block(array);                                                                                        \
    return status;                                                                                             \
  }                                                                                                            \
  int _FortranA##KIND##AllocateSource(struct descriptor *, Array, bool, Array, const char *, int);             \
  MODEL int ca_model__FortranA##KIND##AllocateSource(struct descriptor *array, Array source, bool has_status,  \
                                                     Array message, const char *file, int line) {              \
    int status = _FortranA##KIND##AllocateSource(array, source, has_status, message, file, line);              \
    if (!status) {                                                                                             \
      own_block(array);                                                                                        \
      copy_elements(array, source);                                                                            \
    }                                                                                                          \
    return status;                                                                                             \
  }
MODEL_ALLOCATE(Allocatable)
MODEL_ALLOCATE(Pointer)

/* ---- assignment: both sides may overlap, so sources are kept aside while the runtime copies ---- */

HELPER char *keep_sources(Array from) {
  int64_t count = ca_elements(from);
  uint64_t bytes = from->element_bytes;
  char *kept = malloc((uint64_t)count * bytes + 1);
  if (kept)
    for (int64_t i = 0; i < count; i++)
      ca_copy_sources(kept + (uint64_t)i * bytes, ca_element(from, i), bytes);
  return kept;
}

HELPER void release_sources(struct descriptor *to, char *kept, uint64_t bytes, bool is_array) {
  int64_t count = ca_elements(to);
  uint64_t shared = to->element_bytes < bytes ? to->element_bytes : bytes;
  if (kept)
    for (int64_t i = 0; i < count; i++)
      ca_copy_sources(ca_element(to, i), kept + (is_array ? (uint64_t)i * bytes : 0), shared);
  free(kept);
}

#define MODEL_ASSIGN(NAME)                                                                                     \
  void _FortranA##NAME(struct descriptor *, Array, const char *, int);                                         \
  MODEL void ca_model__FortranA##NAME(struct descriptor *to, Array from, const char *file, int line) {         \
    char *kept = keep_sources(from);                                                                           \
    uint64_t bytes = from->element_bytes;                                                                      \
    bool is_array = ca_is_array(from);                                                                            \
    void *before = to->base;                                                                                   \
    _FortranA##NAME(to, from, file, line);                                                                     \
    if (to->base && to->base != before)                                                                        \
      own_block(to);                                                                                           \
    release_sources(to, kept, bytes, is_array);                                                                \
  }
MODEL_ASSIGN(Assign)
MODEL_ASSIGN(AssignTemporary)
MODEL_ASSIGN(CopyInAssign)

void _FortranACopyOutAssign(struct descriptor *, struct descriptor *, const char *, int);
MODEL void ca_model__FortranACopyOutAssign(struct descriptor *to, struct descriptor *temporary,
                                           const char *file, int line) {
  if (to)
    copy_elements(to, temporary);
  _FortranACopyOutAssign(to, temporary, file, line);
}

/* ---- array constructors ---- */

struct constructor {
  struct descriptor *to;
  int64_t next;
};

/* The array may have moved to a larger block. */
HELPER void follow_growth(struct constructor *vector, void *before, int64_t count) {
  if (before && vector->to->base != before)
    ca_copy_sources(vector->to->base, before, (uint64_t)count * vector->to->element_bytes);
}

void _FortranAPushArrayConstructorSimpleScalar(struct constructor *, void *);
MODEL void ca_model__FortranAPushArrayConstructorSimpleScalar(struct constructor *vector, void *from) {
  void *before = vector->to->base;
  int64_t count = vector->next;
  _FortranAPushArrayConstructorSimpleScalar(vector, from);
  follow_growth(vector, before, count);
  uint64_t bytes = vector->to->element_bytes;
  ca_copy_sources((char *)vector->to->base + (uint64_t)count * bytes, from, bytes);
}

void _FortranAPushArrayConstructorValue(struct constructor *, Array);
MODEL void ca_model__FortranAPushArrayConstructorValue(struct constructor *vector, Array from) {
  void *before = vector->to->base;
  int64_t count = vector->next, added = ca_elements(from);
  _FortranAPushArrayConstructorValue(vector, from);
  follow_growth(vector, before, count);
  uint64_t bytes = vector->to->element_bytes;
  for (int64_t i = 0; i < added; i++)
    ca_copy_sources((char *)vector->to->base + (uint64_t)(count + i) * bytes, ca_element(from, i), bytes);
}

/* ---- input ---- */

HELPER void all_from_outside(Array array) {
  int64_t count = ca_elements(array);
  for (int64_t i = 0; i < count; i++)
    ca_from_outside(ca_element(array, i), array->element_bytes);
}

void _FortranARandomNumber(Array, const char *, int);
MODEL void ca_model__FortranARandomNumber(Array array, const char *file, int line) {
  _FortranARandomNumber(array, file, line);
  all_from_outside(array);
}

bool _FortranAioInputDescriptor(void *, Array);
MODEL bool ca_model__FortranAioInputDescriptor(void *unit, Array array) {
  bool is_read = _FortranAioInputDescriptor(unit, array);
  all_from_outside(array);
  return is_read;
}

/* ---- rearrangements: the runtime tells where each element came from ---- */

HELPER void rearranged(Result result, struct origins from) {
  for (int64_t i = 0; i < from.count; i++)
    if (from.address[i])
      ca_copy_sources(ca_element(result, i), from.address[i], result->element_bytes);
  ca_plain_free(from.address);
}

/* `FIND` looks at the arguments before the runtime replaces the result, which may be one of them. */
#define REARRANGE(FIND, CALL)                                                                                  \
  do {                                                                                                         \
    struct origins from = FIND;                                                                                \
    CALL;                                                                                                      \
    own_block(result);                                                                                         \
    rearranged(result, from);                                                                                  \
  } while (0)

void _FortranATranspose(Result, Array, const char *, int);
MODEL void ca_model__FortranATranspose(Result result, Array source, const char *file, int line) {
  REARRANGE(ca_origins_transpose(source, file, line), _FortranATranspose(result, source, file, line));
}

void _FortranAReshape(Result, Array, Array, Array, Array, const char *, int);
MODEL void ca_model__FortranAReshape(Result result, Array source, Array shape, Array pad, Array order,
                                     const char *file, int line) {
  REARRANGE(ca_origins_reshape(source, shape, pad, order, file, line),
            _FortranAReshape(result, source, shape, pad, order, file, line));
}

void _FortranASpread(Result, Array, int, int64_t, const char *, int);
MODEL void ca_model__FortranASpread(Result result, Array source, int dimension, int64_t copies,
                                    const char *file, int line) {
  REARRANGE(ca_origins_spread(source, dimension, copies, file, line),
            _FortranASpread(result, source, dimension, copies, file, line));
}

void _FortranACshift(Result, Array, Array, int, const char *, int);
MODEL void ca_model__FortranACshift(Result result, Array source, Array shift, int dimension, const char *file,
                                    int line) {
  REARRANGE(ca_origins_cshift(source, shift, dimension, file, line),
            _FortranACshift(result, source, shift, dimension, file, line));
}

void _FortranACshiftVector(Result, Array, int64_t, const char *, int);
MODEL void ca_model__FortranACshiftVector(Result result, Array source, int64_t shift, const char *file,
                                          int line) {
  REARRANGE(ca_origins_cshift_vector(source, shift, file, line),
            _FortranACshiftVector(result, source, shift, file, line));
}

void _FortranAEoshift(Result, Array, Array, Array, int, const char *, int);
MODEL void ca_model__FortranAEoshift(Result result, Array source, Array shift, Array boundary, int dimension,
                                     const char *file, int line) {
  REARRANGE(ca_origins_eoshift(source, shift, dimension, file, line),
            _FortranAEoshift(result, source, shift, boundary, dimension, file, line));
}

void _FortranAEoshiftVector(Result, Array, int64_t, Array, const char *, int);
MODEL void ca_model__FortranAEoshiftVector(Result result, Array source, int64_t shift, Array boundary,
                                           const char *file, int line) {
  REARRANGE(ca_origins_eoshift_vector(source, shift, file, line),
            _FortranAEoshiftVector(result, source, shift, boundary, file, line));
}

void _FortranAPack(Result, Array, Array, Array, const char *, int);
MODEL void ca_model__FortranAPack(Result result, Array source, Array mask, Array vector, const char *file,
                                  int line) {
  REARRANGE(ca_origins_pack(source, mask, vector, file, line),
            _FortranAPack(result, source, mask, vector, file, line));
}

void _FortranAUnpack(Result, Array, Array, Array, const char *, int);
MODEL void ca_model__FortranAUnpack(Result result, Array vector, Array mask, Array field, const char *file,
                                    int line) {
  REARRANGE(ca_origins_unpack(vector, mask, field, file, line),
            _FortranAUnpack(result, vector, mask, field, file, line));
}

/* ---- reductions: the runtime's number with the sources of a plain loop ---- */

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
    if (ca_is_array(mask)) {                                                                                  \
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

/* Along one dimension; the type is looked at outside, so that it selects no value. */
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

#define MODEL_LINES(NAME, START)                                                                               \
  void _FortranA##NAME##Dim(Result, Array, int, const char *, int, Array);                                     \
  MODEL void ca_model__FortranA##NAME##Dim(Result result, Array array, int dimension, const char *file,        \
                                           int line, Array mask) {                                             \
    _FortranA##NAME##Dim(result, array, dimension, file, line, mask);                                          \
    own_block(result);                                                                                         \
    bool is_masked = ca_is_array(mask);                                                                       \
    int64_t count = ca_elements(result), length = ca_extent(array, dimension);                     \
    int64_t stride = ca_stride(array, dimension);                                                  \
    int64_t mask_stride = is_masked ? ca_stride(mask, dimension) : 0;                              \
    switch (ca_type(array)) {                                                                                     \
    case TYPE_REAL_4: REDUCE_LINES(NAME, float, r4, START) break;                                              \
    case TYPE_REAL_8: REDUCE_LINES(NAME, double, r8, START) break;                                             \
    case TYPE_INTEGER_4: REDUCE_LINES(NAME, int32_t, i4, START) break;                                         \
    case TYPE_INTEGER_8: REDUCE_LINES(NAME, int64_t, i8, START) break;                                         \
    }                                                                                                          \
  }
MODEL_LINES(Sum, 0)
MODEL_LINES(Product, 1)
MODEL_LINES(Maxval, 0)
MODEL_LINES(Minval, 0)

#define MODEL_DOT(NAME, KIND, TYPE, SUFFIX, START)                                                             \
  TYPE _FortranA##NAME##KIND(Array, Array, const char *, int);                                                 \
  MODEL TYPE ca_model__FortranA##NAME##KIND(Array x, Array y, const char *file, int line) {                    \
    TYPE sources = START;                                                                                      \
    int64_t count = ca_elements(x);                                                                            \
    for (int64_t i = 0; i < count; i++)                                                                        \
      sources += *(TYPE *)ca_element(x, i) * *(TYPE *)ca_element(y, i);                                        \
    return ca_with_sources_##SUFFIX(_FortranA##NAME##KIND(x, y, file, line), sources);                         \
  }
ALL_KINDS(MODEL_DOT, DotProduct, 0)

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

int64_t _FortranACount(Array, const char *, int, int);
MODEL int64_t ca_model__FortranACount(Array mask, const char *file, int line, int dimension) {
  int64_t sources = 0, count = ca_elements(mask);
  for (int64_t i = 0; i < count; i++)
    sources += is_true(ca_element(mask, i));
  return ca_with_sources_i8(_FortranACount(mask, file, line, dimension), sources);
}

/* ---- matrix products ---- */

#define MODEL_MATMUL(NAME, IS_TRANSPOSED, XKIND, X, YKIND, Y, TYPE, SUFFIX)                                    \
  void _FortranA##NAME##XKIND##YKIND(Result, Array, Array, const char *, int);                                 \
  MODEL void ca_model__FortranA##NAME##XKIND##YKIND(Result result, Array x, Array y, const char *file,         \
                                                    int line) {                                                \
    _FortranA##NAME##XKIND##YKIND(result, x, y, file, line);                                                   \
    own_block(result);                                                                                         \
    bool is_vector = ca_extent(x, 2) < 0;                                                                             \
    int64_t columns = ca_extent(y, 2) < 0 ? 1 : ca_extent(y, 2), length = ca_extent(y, 1);             \
    int64_t rows = is_vector ? 1 : ca_extent(x, IS_TRANSPOSED + 1);                                        \
    for (int64_t j = 0; j < columns; j++)                                                                      \
      for (int64_t i = 0; i < rows; i++) {                                                                     \
        TYPE sources = 0;                                                                                      \
        for (int64_t k = 0; k < length; k++)                                                                   \
          sources += *(X *)(is_vector       ? ca_index(x, k, 0)                                                \
                            : IS_TRANSPOSED ? ca_index(x, k, i)                                                \
                                            : ca_index(x, i, k)) *                                             \
                     *(Y *)ca_index(y, k, j);                                                                  \
        TYPE *to = is_vector ? ca_index(result, j, 0) : ca_index(result, i, j);                                \
        *to = ca_with_sources_##SUFFIX(ca_number_##SUFFIX(to), sources);                                       \
      }                                                                                                        \
  }
#define MODEL_MATMULS(NAME, IS_TRANSPOSED)                                                                     \
  MODEL_MATMUL(NAME, IS_TRANSPOSED, Real4, float, Real4, float, float, r4)                                     \
  MODEL_MATMUL(NAME, IS_TRANSPOSED, Real4, float, Real8, double, double, r8)                                   \
  MODEL_MATMUL(NAME, IS_TRANSPOSED, Real8, double, Real4, float, double, r8)                                   \
  MODEL_MATMUL(NAME, IS_TRANSPOSED, Real8, double, Real8, double, double, r8)                                  \
  MODEL_MATMUL(NAME, IS_TRANSPOSED, Integer4, int32_t, Integer4, int32_t, int32_t, i4)                         \
  MODEL_MATMUL(NAME, IS_TRANSPOSED, Integer4, int32_t, Integer8, int64_t, int64_t, i8)                         \
  MODEL_MATMUL(NAME, IS_TRANSPOSED, Integer8, int64_t, Integer4, int32_t, int64_t, i8)                         \
  MODEL_MATMUL(NAME, IS_TRANSPOSED, Integer8, int64_t, Integer8, int64_t, int64_t, i8)
MODEL_MATMULS(Matmul, 0)
MODEL_MATMULS(MatmulTranspose, 1)
