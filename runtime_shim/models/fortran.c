/* What flang's runtime does to values, as code that is instrumented with the program.
 *
 * A call of a modelled function X is renamed to ca_model_X before instrumentation. The model lets the runtime
 * do the work and repeats only what flows: the numbers and the output are those of the runtime. Models are
 * inlined, so that allocations and values belong to the line of the call.
 */
#include "fortran.h"

/* ---- allocation ---- */

HELPER void copy_elements(struct descriptor *to, Array from) {
  int64_t count = ca_elements(to);
  uint64_t bytes = to->element_bytes < from->element_bytes ? to->element_bytes : from->element_bytes;
  for (int64_t i = 0; i < count; i++)
    ca_copy_sources(ca_element(to, i), ca_element(from, ca_is_array(from) ? i : 0), bytes);
}

/* Components that the runtime allocated for a copy. */
HELPER void own_components(struct descriptor *to, Array from) {
  struct walk walk;
  ca_walk_begin(&walk, to, from);
  while (ca_walk_next(&walk)) {
    own_block(walk.array);
    copy_elements(walk.array, walk.origin);
  }
}

/* A runtime function whose parameters changed has a model for each version, from the flang in its name on; the
 * one with the parameters of the program's calls is taken. */
#define MODEL_ALLOCATE(KIND, VERSION, PARAMETERS, ARGUMENTS)                                                   \
  int allocate_##KIND##VERSION PARAMETERS __asm__("_FortranA" #KIND "Allocate");                               \
  MODEL int ca_model__FortranA##KIND##Allocate##VERSION PARAMETERS {                                           \
    int status = allocate_##KIND##VERSION ARGUMENTS;                                                           \
    if (!status)                                                                                               \
      own_block(array);                                                                                        \
    return status;                                                                                             \
  }
MODEL_ALLOCATE(Allocatable, _19,
               (struct descriptor *array, bool has_status, Array message, const char *file, int line),
               (array, has_status, message, file, line))
MODEL_ALLOCATE(Allocatable, _20,
               (struct descriptor *array, int64_t stream, bool has_status, Array message, const char *file,
                int line),
               (array, stream, has_status, message, file, line))
MODEL_ALLOCATE(Allocatable, _21,
               (struct descriptor *array, int64_t *stream, bool has_status, Array message, const char *file,
                int line),
               (array, stream, has_status, message, file, line))
MODEL_ALLOCATE(Allocatable, _22,
               (struct descriptor *array, int64_t *stream, bool has_status, Array message, const char *file,
                int line, void *copy),
               (array, stream, has_status, message, file, line, copy))
MODEL_ALLOCATE(Pointer, _19,
               (struct descriptor *array, bool has_status, Array message, const char *file, int line),
               (array, has_status, message, file, line))
MODEL_ALLOCATE(Pointer, _22,
               (struct descriptor *array, bool has_status, Array message, const char *file, int line,
                void *copy),
               (array, has_status, message, file, line, copy))

#define MODEL_ALLOCATE_SOURCE(KIND)                                                                            \
  int _FortranA##KIND##AllocateSource(struct descriptor *, Array, bool, Array, const char *, int);             \
  MODEL int ca_model__FortranA##KIND##AllocateSource(struct descriptor *array, Array source, bool has_status,  \
                                                     Array message, const char *file, int line) {              \
    int status = _FortranA##KIND##AllocateSource(array, source, has_status, message, file, line);              \
    if (!status) {                                                                                             \
      own_block(array);                                                                                        \
      copy_elements(array, source);                                                                            \
      own_components(array, source);                                                                           \
    }                                                                                                          \
    return status;                                                                                             \
  }
MODEL_ALLOCATE_SOURCE(Allocatable)
MODEL_ALLOCATE_SOURCE(Pointer)

/* ---- assignment: where both sides share memory, sources are kept aside while the runtime copies ---- */

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
    bool is_kept = ca_may_overlap(to, from);                                                                   \
    char *kept = is_kept ? keep_sources(from) : 0;                                                             \
    uint64_t bytes = from->element_bytes;                                                                      \
    bool is_array = ca_is_array(from);                                                                         \
    void *before = to->base;                                                                                   \
    _FortranA##NAME(to, from, file, line);                                                                     \
    if (to->base && to->base != before)                                                                        \
      own_block(to);                                                                                           \
    if (is_kept)                                                                                               \
      release_sources(to, kept, bytes, is_array);                                                              \
    else                                                                                                       \
      copy_elements(to, from);                                                                                 \
    own_components(to, from);                                                                                  \
  }
MODEL_ASSIGN(Assign)
MODEL_ASSIGN(AssignTemporary)
MODEL_ASSIGN(AssignPolymorphic)
MODEL_ASSIGN(AssignExplicitLengthCharacter)
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

/* ---- the same bytes as another type ---- */

HELPER void same_bytes(Result result, Array source) {
  own_block(result);
  int64_t count = ca_elements(source);
  uint64_t left = result->element_bytes * (uint64_t)ca_elements(result);
  char *to = result->base;
  for (int64_t i = 0; i < count && left; i++) {
    uint64_t bytes = source->element_bytes < left ? source->element_bytes : left;
    ca_copy_sources(to, ca_element(source, i), bytes);
    to += bytes;
    left -= bytes;
  }
}

void _FortranATransfer(Result, Array, Array, const char *, int);
MODEL void ca_model__FortranATransfer(Result result, Array source, Array mold, const char *file, int line) {
  _FortranATransfer(result, source, mold, file, line);
  same_bytes(result, source);
}

void _FortranATransferSize(Result, Array, Array, const char *, int, int64_t);
MODEL void ca_model__FortranATransferSize(Result result, Array source, Array mold, const char *file, int line,
                                          int64_t size) {
  _FortranATransferSize(result, source, mold, file, line, size);
  same_bytes(result, source);
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
