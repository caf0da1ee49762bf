/* The part of the Fortran models that is not instrumented: numbers without sources, addresses of elements, and
 * where the elements of transformed arrays come from.
 *
 * For the latter the runtime answers itself: it transforms an array of the same shape that holds element
 * numbers.
 */
#include "fortran.h"
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define DEFINE_NUMBER(NAME, TYPE)                                                                              \
  HIDDEN TYPE ca_number_##NAME(const void *at) { return *(const TYPE *)at; }                                   \
  HIDDEN TYPE ca_with_sources_##NAME(TYPE number, TYPE sources) {                                              \
    (void)sources;                                                                                             \
    return number;                                                                                             \
  }
DEFINE_NUMBER(i4, int32_t)
DEFINE_NUMBER(i8, int64_t)
DEFINE_NUMBER(r4, float)
DEFINE_NUMBER(r8, double)
HIDDEN int32_t ca_located_i4(int32_t number, double found) {
  (void)found;
  return number;
}
HIDDEN int64_t ca_located_i8(int64_t number, double found) {
  (void)found;
  return number;
}

HIDDEN void ca_copy_sources(void *to, const void *from, uint64_t bytes) {
  (void)to;
  (void)from;
  (void)bytes;
}

HIDDEN void ca_from_outside(void *at, uint64_t bytes) {
  (void)at;
  (void)bytes;
}

HIDDEN void ca_plain_free(void *block) { free(block); }
HIDDEN uint64_t ca_block_bytes(const void *block) { return malloc_usable_size((void *)block); }

/* Moves an array of `bytes` bytes out of the runtime's block. The targets of pointers may carry a footer by
 * which deallocation recognises them: the complement of their address. */
HIDDEN void ca_adopt(void *owned, void *block, uint64_t bytes) {
  uint64_t usable = malloc_usable_size(block), footer = (bytes + 7) & ~7ull, mark;
  memcpy(owned, block, usable);
  if (footer + sizeof mark <= usable) {
    memcpy(&mark, (char *)block + footer, sizeof mark);
    if (mark == ~(uint64_t)block) {
      mark = ~(uint64_t)owned;
      memcpy((char *)owned + footer, &mark, sizeof mark);
    }
  }
  free(block);
}

/* The lowest address of an array and the one behind it. */
static void span_of(const struct descriptor *array, const char *span[2]) {
  span[0] = array->base;
  span[1] = span[0] + array->element_bytes;
  for (int d = 0; d < array->rank; d++) {
    int64_t reach = (array->dimensions[d].extent - 1) * array->dimensions[d].stride;
    span[reach > 0] += reach;
  }
}

/* Whether an assignment may change what is assigned: elements lie in between, or the memory of components is
 * replaced, of which it may be part. */
HIDDEN bool ca_may_overlap(const struct descriptor *to, const struct descriptor *from) {
  if (!ca_elements(to) || !ca_elements(from))
    return false;
  if (from->type == TYPE_DERIVED)
    return true;
  const char *target[2], *source[2];
  span_of(to, target);
  span_of(from, source);
  return target[0] < source[1] && source[0] < target[1];
}

/* Shapes are asked for here, so that they select no values. Dimensions count from 1; -1 for one that is not
 * there. */
HIDDEN bool ca_is_array(const struct descriptor *array) { return array && array->rank > 0; }
HIDDEN int ca_type(const struct descriptor *array) { return array->type; }
HIDDEN bool ca_is_type(const struct descriptor *array, int type) { return array->type == type; }
HIDDEN int64_t ca_extent(const struct descriptor *array, int dimension) {
  return dimension <= array->rank ? array->dimensions[dimension - 1].extent : -1;
}
HIDDEN int64_t ca_stride(const struct descriptor *array, int dimension) {
  return array->dimensions[dimension - 1].stride;
}

HIDDEN int64_t ca_elements(const struct descriptor *array) {
  int64_t count = 1;
  for (int d = 0; d < array->rank; d++)
    count *= array->dimensions[d].extent;
  return array->base ? count : 0;
}

HIDDEN void *ca_element(const struct descriptor *array, int64_t index) {
  char *at = array->base;
  for (int d = 0; d < array->rank; d++) {
    at += index % array->dimensions[d].extent * array->dimensions[d].stride;
    index /= array->dimensions[d].extent;
  }
  return at;
}

/* First element of a line along `dimension` (from 1). */
HIDDEN void *ca_line(const struct descriptor *array, int64_t line, int dimension) {
  char *at = array->base;
  for (int d = 0; d < array->rank; d++) {
    if (d == dimension - 1)
      continue;
    at += line % array->dimensions[d].extent * array->dimensions[d].stride;
    line /= array->dimensions[d].extent;
  }
  return at;
}

/* Element of a matrix or (j = 0) vector. */
HIDDEN void *ca_index(const struct descriptor *array, int64_t i, int64_t j) {
  char *at = (char *)array->base + i * array->dimensions[0].stride;
  return array->rank > 1 ? at + j * array->dimensions[1].stride : at;
}

/* ---- components of derived types ---- */

static void push(struct walk *walk, char *to, const char *from, const struct derived_type *type) {
  if (walk->count == walk->room) {
    walk->room = 2 * walk->room + 16;
    walk->pairs = realloc(walk->pairs, (size_t)walk->room * sizeof *walk->pairs);
    if (!walk->pairs)
      abort();
  }
  walk->pairs[walk->count++] = (struct pair){to, from, type, 0};
}

/* The dynamic type of an array, or nothing. It stands behind the dimensions. */
static const struct derived_type *type_of(const struct descriptor *array) {
  if (array->type != TYPE_DERIVED || !(array->extra & HAS_ADDENDUM))
    return 0;
  return *(const struct derived_type *const *)&array->dimensions[array->rank];
}

static void push_elements(struct walk *walk, const struct descriptor *to, const struct descriptor *from) {
  const struct derived_type *type = type_of(to);
  int64_t count = ca_elements(to);
  if (!type || !from->base || (from->rank && ca_elements(from) != count))
    return;
  for (int64_t i = 0; i < count; i++)
    push(walk, ca_element(to, i), ca_element(from, from->rank ? i : 0), type);
}

HIDDEN void ca_walk_begin(struct walk *walk, const struct descriptor *to, const struct descriptor *from) {
  *walk = (struct walk){0};
  push_elements(walk, to, from);
}

/* Derived types inside; an array of them has constant bounds. */
static void push_inside(struct walk *walk, const struct pair *pair, const struct component *component) {
  const struct derived_type *type = component->type.base;
  const struct bound *bounds = component->bounds.base;
  int64_t count = 1;
  for (int d = 0; d < component->rank; d++)
    count *= bounds[2 * d + 1].value - bounds[2 * d].value + 1;
  for (int64_t i = 0; i < count; i++) {
    uint64_t at = component->offset + (uint64_t)i * type->bytes;
    push(walk, pair->to + at, pair->from + at, type);
  }
}

HIDDEN bool ca_walk_next(struct walk *walk) {
  if (walk->array) /* its block is where it stays only now */
    push_elements(walk, walk->array, walk->origin);
  walk->array = 0;
  while (walk->count) {
    struct pair *top = &walk->pairs[walk->count - 1];
    if (top->next == top->type->of_components.extent) {
      walk->count--;
      continue;
    }
    struct pair pair = *top;
    const struct component *component = (const struct component *)pair.type->components.base + top->next++;
    if (component->genre == GENRE_DATA && component->type.base)
      push_inside(walk, &pair, component);
    if (component->genre != GENRE_ALLOCATABLE)
      continue;
    walk->array = (struct descriptor *)(pair.to + component->offset);
    walk->origin = (const struct descriptor *)(pair.from + component->offset);
    if (walk->array->base && walk->origin->base && walk->array->base != walk->origin->base)
      return true;
    walk->array = 0;
  }
  free(walk->pairs);
  return false;
}

/* ---- element numbers in place of elements ---- */

enum { ALLOCATABLE = 2 };

struct numbered {
  struct descriptor array;
  const struct descriptor *original;
  int64_t first; /* number of its first element */
};

static struct numbered numbered(const struct descriptor *original, int64_t first) {
  struct numbered result = {.original = original, .first = first};
  if (!original)
    return result;
  size_t header = offsetof(struct descriptor, dimensions);
  memcpy(&result.array, original, header + (size_t)original->rank * sizeof(struct dimension));
  int64_t count = ca_elements(original), bytes = sizeof(int64_t);
  int64_t *numbers = malloc((size_t)(count ? count : 1) * sizeof *numbers);
  if (!numbers)
    abort();
  for (int64_t i = 0; i < count; i++)
    numbers[i] = first + i;
  result.array.base = numbers;
  result.array.element_bytes = sizeof(int64_t);
  result.array.type = TYPE_INTEGER_8;
  result.array.attribute = 0;
  result.array.extra = 0;
  for (int d = 0; d < original->rank; d++) {
    result.array.dimensions[d].stride = bytes;
    bytes *= original->dimensions[d].extent;
  }
  return result;
}

static const struct descriptor *given(const struct numbered *array) {
  return array->original ? &array->array : 0;
}

static void *origin(int64_t number, const struct numbered *array) {
  if (!array->original || number < array->first || number >= array->first + ca_elements(array->original))
    return 0;
  return ca_element(array->original, number - array->first);
}

static struct descriptor empty_result(void) {
  return (struct descriptor){
      .element_bytes = sizeof(int64_t), .version = 20180515, .type = TYPE_INTEGER_8, .attribute = ALLOCATABLE};
}

static struct origins finish(struct descriptor *result, struct numbered *first, struct numbered *second) {
  int64_t count = ca_elements(result);
  void **address = malloc((size_t)(count ? count : 1) * sizeof *address);
  if (!address)
    abort();
  for (int64_t i = 0; i < count; i++) {
    int64_t number = *(int64_t *)ca_element(result, i);
    address[i] = origin(number, first);
    if (!address[i] && second)
      address[i] = origin(number, second);
  }
  free(result->base);
  free(first->array.base);
  if (second)
    free(second->array.base);
  return (struct origins){address, count};
}

void _FortranATranspose(struct descriptor *, const struct descriptor *, const char *, int);
void _FortranAReshape(struct descriptor *, const struct descriptor *, const struct descriptor *,
                      const struct descriptor *, const struct descriptor *, const char *, int);
void _FortranASpread(struct descriptor *, const struct descriptor *, int, int64_t, const char *, int);
void _FortranACshift(struct descriptor *, const struct descriptor *, const struct descriptor *, int,
                     const char *, int);
void _FortranACshiftVector(struct descriptor *, const struct descriptor *, int64_t, const char *, int);
void _FortranAEoshift(struct descriptor *, const struct descriptor *, const struct descriptor *,
                      const struct descriptor *, int, const char *, int);
void _FortranAEoshiftVector(struct descriptor *, const struct descriptor *, int64_t, const struct descriptor *,
                            const char *, int);
void _FortranAPack(struct descriptor *, const struct descriptor *, const struct descriptor *,
                   const struct descriptor *, const char *, int);
void _FortranAUnpack(struct descriptor *, const struct descriptor *, const struct descriptor *,
                     const struct descriptor *, const char *, int);

HIDDEN struct origins ca_origins_transpose(const struct descriptor *source, const char *file, int line) {
  struct descriptor result = empty_result();
  struct numbered from = numbered(source, 1);
  _FortranATranspose(&result, &from.array, file, line);
  return finish(&result, &from, 0);
}

HIDDEN struct origins ca_origins_reshape(const struct descriptor *source, const struct descriptor *shape,
                                         const struct descriptor *pad, const struct descriptor *order,
                                         const char *file, int line) {
  struct descriptor result = empty_result();
  struct numbered from = numbered(source, 1);
  struct numbered fill = numbered(pad, 1 + ca_elements(source));
  _FortranAReshape(&result, &from.array, shape, given(&fill), order, file, line);
  return finish(&result, &from, &fill);
}

HIDDEN struct origins ca_origins_spread(const struct descriptor *source, int dimension, int64_t copies,
                                        const char *file, int line) {
  struct descriptor result = empty_result();
  struct numbered from = numbered(source, 1);
  _FortranASpread(&result, &from.array, dimension, copies, file, line);
  return finish(&result, &from, 0);
}

HIDDEN struct origins ca_origins_cshift(const struct descriptor *source, const struct descriptor *shift,
                                        int dimension, const char *file, int line) {
  struct descriptor result = empty_result();
  struct numbered from = numbered(source, 1);
  _FortranACshift(&result, &from.array, shift, dimension, file, line);
  return finish(&result, &from, 0);
}

HIDDEN struct origins ca_origins_cshift_vector(const struct descriptor *source, int64_t shift, const char *file,
                                               int line) {
  struct descriptor result = empty_result();
  struct numbered from = numbered(source, 1);
  _FortranACshiftVector(&result, &from.array, shift, file, line);
  return finish(&result, &from, 0);
}

HIDDEN struct origins ca_origins_eoshift(const struct descriptor *source, const struct descriptor *shift,
                                         int dimension, const char *file, int line) {
  struct descriptor result = empty_result();
  struct numbered from = numbered(source, 1);
  _FortranAEoshift(&result, &from.array, shift, 0, dimension, file, line);
  return finish(&result, &from, 0);
}

HIDDEN struct origins ca_origins_eoshift_vector(const struct descriptor *source, int64_t shift,
                                                const char *file, int line) {
  struct descriptor result = empty_result();
  struct numbered from = numbered(source, 1);
  _FortranAEoshiftVector(&result, &from.array, shift, 0, file, line);
  return finish(&result, &from, 0);
}

HIDDEN struct origins ca_origins_pack(const struct descriptor *source, const struct descriptor *mask,
                                      const struct descriptor *vector, const char *file, int line) {
  struct descriptor result = empty_result();
  struct numbered from = numbered(source, 1);
  struct numbered rest = numbered(vector, 1 + ca_elements(source));
  _FortranAPack(&result, &from.array, mask, given(&rest), file, line);
  return finish(&result, &from, &rest);
}

HIDDEN struct origins ca_origins_unpack(const struct descriptor *vector, const struct descriptor *mask,
                                        const struct descriptor *field, const char *file, int line) {
  struct descriptor result = empty_result();
  struct numbered from = numbered(vector, 1);
  struct numbered rest = numbered(field, 1 + ca_elements(vector));
  _FortranAUnpack(&result, &from.array, mask, &rest.array, file, line);
  return finish(&result, &from, &rest);
}
