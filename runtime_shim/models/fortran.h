/* Array descriptors of flang's runtime (ISO_Fortran_binding.h, 64-bit), and what the models need of both sides.
 */
#ifndef CA_FORTRAN_H
#define CA_FORTRAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct dimension {
  int64_t lower;
  int64_t extent;
  int64_t stride; /* bytes */
};

struct descriptor {
  void *base;
  uint64_t element_bytes;
  int32_t version;
  int8_t rank;
  int8_t type;
  int8_t attribute;
  int8_t extra;
  struct dimension dimensions[15]; /* as many as the rank are there */
};

enum {
  TYPE_INTEGER_4 = 9,
  TYPE_INTEGER_8 = 10,
  TYPE_REAL_4 = 27,
  TYPE_REAL_8 = 28,
  TYPE_COMPLEX_4 = 34,
  TYPE_COMPLEX_8 = 35,
  TYPE_DERIVED = 42
};

/* Where each element of a transformed array came from: addresses, 0 for none. */
struct origins {
  void **address;
  int64_t count;
};

/* flang's description of a derived type, as far as it tells where its allocatable components are. */
struct short_descriptor { /* without dimensions */
  void *base;
  uint64_t element_bytes;
  int32_t version;
  int8_t rank, type, attribute, extra;
};

enum { GENRE_DATA = 1, GENRE_ALLOCATABLE = 3, HAS_ADDENDUM = 1 };

struct bound {
  int64_t genre;
  int64_t value;
};

struct component {
  struct short_descriptor name;
  uint8_t genre, category, kind, rank;
  uint64_t offset;
  int64_t length[2];
  struct short_descriptor type; /* its base is the derived type, or nothing */
  int64_t unused[10];
  struct short_descriptor bounds; /* of struct bound, two for each dimension */
  int64_t unused_too[9];
};

struct derived_type {
  int64_t unused[11];
  uint64_t bytes;
  int64_t unused_too[17];
  struct short_descriptor components;
  struct dimension of_components;
};
_Static_assert(sizeof(struct component) == 256, "as flang 19 to 22 have it");
_Static_assert(offsetof(struct derived_type, components) == 232, "as flang 19 to 22 have it");

/* Objects whose components are still to be visited, beside those that they were copied from. */
struct pair {
  char *to;
  const char *from;
  const struct derived_type *type;
  int64_t next; /* component */
};

struct walk {
  struct pair *pairs;
  int64_t count, room;
  struct descriptor *array; /* the last component that was found, and what it was copied from */
  const struct descriptor *origin;
};

/* Defined in fortran_support.c, which is not instrumented. Instrumentation knows: `number` has no sources,
 * `with_sources` has those of its second argument, `copy_sources` replicates, `from_outside` is input. */
int32_t ca_number_i4(const void *at);
int64_t ca_number_i8(const void *at);
float ca_number_r4(const void *at);
double ca_number_r8(const void *at);
int32_t ca_with_sources_i4(int32_t number, int32_t sources);
int64_t ca_with_sources_i8(int64_t number, int64_t sources);
float ca_with_sources_r4(float number, float sources);
double ca_with_sources_r8(double number, double sources);
void ca_copy_sources(void *to, const void *from, uint64_t bytes);
void ca_from_outside(void *at, uint64_t bytes);
void ca_plain_free(void *block);
uint64_t ca_block_bytes(const void *block);
void ca_adopt(void *owned, void *block, uint64_t bytes);

bool ca_is_array(const struct descriptor *array);
bool ca_may_overlap(const struct descriptor *to, const struct descriptor *from);
int ca_type(const struct descriptor *array);
int64_t ca_extent(const struct descriptor *array, int dimension);
int64_t ca_stride(const struct descriptor *array, int dimension);
int64_t ca_elements(const struct descriptor *array);
void *ca_element(const struct descriptor *array, int64_t index);
void *ca_line(const struct descriptor *array, int64_t line, int dimension);
void *ca_index(const struct descriptor *array, int64_t i, int64_t j);

/* The number with the sources of `found`, which is of any type. */
int32_t ca_located_i4(int32_t number, double found);
int64_t ca_located_i8(int64_t number, double found);
bool ca_is_type(const struct descriptor *array, int type);

/* Walks over all allocated components of a copy: each time to the next one, false behind the last. */
void ca_walk_begin(struct walk *walk, const struct descriptor *to, const struct descriptor *from);
bool ca_walk_next(struct walk *walk);

struct origins ca_origins_transpose(const struct descriptor *source, const char *file, int line);
struct origins ca_origins_reshape(const struct descriptor *source, const struct descriptor *shape,
                                  const struct descriptor *pad, const struct descriptor *order,
                                  const char *file, int line);
struct origins ca_origins_spread(const struct descriptor *source, int dimension, int64_t copies,
                                 const char *file, int line);
struct origins ca_origins_cshift(const struct descriptor *source, const struct descriptor *shift, int dimension,
                                 const char *file, int line);
struct origins ca_origins_cshift_vector(const struct descriptor *source, int64_t shift, const char *file,
                                        int line);
struct origins ca_origins_eoshift(const struct descriptor *source, const struct descriptor *shift,
                                  int dimension, const char *file, int line);
struct origins ca_origins_eoshift_vector(const struct descriptor *source, int64_t shift, const char *file,
                                         int line);
struct origins ca_origins_pack(const struct descriptor *source, const struct descriptor *mask,
                               const struct descriptor *vector, const char *file, int line);
struct origins ca_origins_unpack(const struct descriptor *vector, const struct descriptor *mask,
                                 const struct descriptor *field, const char *file, int line);

/* ---- for the models, which are instrumented ---- */

#define MODEL __attribute__((always_inline))
#define HELPER __attribute__((always_inline)) static inline
typedef struct descriptor *restrict Result;
typedef const struct descriptor *Array;

/* A logical of any kind: 1 in its lowest byte. */
HELPER bool is_true(const void *at) { return *(const unsigned char *)at & 1; }

/* A block that the runtime allocated is replaced by one that belongs to this place in the program. */
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

#endif
