/* Marks of the region to analyse, for C and C++ sources.
 *
 *     #include "commanalyzer.h"
 *
 *     COMMANALYZER_BEGIN("sweep");
 *     ...
 *     COMMANALYZER_END("sweep");
 *
 * and `commanalyzer analyze --region sweep ...` counts what happens between the two: calls included, recursion
 * and nesting allowed, any number of marks with one name. The name is a string literal. In C++,
 * COMMANALYZER_SCOPE("sweep"); marks the rest of its block, however that is left.
 *
 * Without CommAnalyzer the macros expand to nothing. Copy this file into the project, or build with
 * -I"$(commanalyzer --include-dir)"; CommAnalyzer itself finds it without help.
 *
 * A mark is a call of an external function whose symbol carries the name; the recorder never calls it.
 */
#ifndef COMMANALYZER_H
#define COMMANALYZER_H

#define COMMANALYZER_PASTE_2(a, b) a##b
#define COMMANALYZER_PASTE(a, b) COMMANALYZER_PASTE_2(a, b)

#define COMMANALYZER_SCOPE_OF(name, scope)                                                                     \
  struct scope {                                                                                               \
    scope() { COMMANALYZER_BEGIN(name); }                                                                      \
    ~scope() { COMMANALYZER_END(name); }                                                                       \
  } COMMANALYZER_PASTE(scope, _)

#ifdef __COMMANALYZER__

#define COMMANALYZER_CALL(symbol, function)                                                                    \
  do {                                                                                                         \
    COMMANALYZER_DECLARE(symbol, function);                                                                    \
    function();                                                                                                \
  } while (0)
#ifdef __cplusplus
#define COMMANALYZER_DECLARE(symbol, function) extern void function() noexcept __asm__(symbol)
#else
#define COMMANALYZER_DECLARE(symbol, function)                                                                 \
  extern void function(void) __asm__(symbol) __attribute__((__nothrow__))
#endif

#define COMMANALYZER_BEGIN(name)                                                                               \
  COMMANALYZER_CALL("commanalyzer.begin." name, COMMANALYZER_PASTE(commanalyzer_begin_, __COUNTER__))
#define COMMANALYZER_END(name)                                                                                 \
  COMMANALYZER_CALL("commanalyzer.end." name, COMMANALYZER_PASTE(commanalyzer_end_, __COUNTER__))

#ifdef __cplusplus
#define COMMANALYZER_SCOPE(name) COMMANALYZER_SCOPE_OF(name, COMMANALYZER_PASTE(commanalyzer_, __COUNTER__))
#endif

#elif defined(MPI_VERSION) && defined(__GNUC__)

/* An MPI program (mpi.h stands before this file): `commanalyzer count` defines these functions, alone they are
 * null. */
#ifdef __cplusplus
extern "C" {
#endif
extern void commanalyzer_region_begin(const char *name) __attribute__((__weak__));
extern void commanalyzer_region_end(const char *name) __attribute__((__weak__));
#ifdef __cplusplus
}
#endif
#define COMMANALYZER_BEGIN(name) (commanalyzer_region_begin ? commanalyzer_region_begin(name) : (void)0)
#define COMMANALYZER_END(name) (commanalyzer_region_end ? commanalyzer_region_end(name) : (void)0)
#ifdef __cplusplus
#define COMMANALYZER_SCOPE(name) COMMANALYZER_SCOPE_OF(name, COMMANALYZER_PASTE(commanalyzer_, __COUNTER__))
#endif

#else

#define COMMANALYZER_BEGIN(name) ((void)0)
#define COMMANALYZER_END(name) ((void)0)
#ifdef __cplusplus
#define COMMANALYZER_SCOPE(name) ((void)0)
#endif

#endif
#endif
