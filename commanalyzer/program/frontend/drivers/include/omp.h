/* OpenMP run-time functions of a program that runs sequentially: one thread, number 0.
 *
 * Used when OpenMP pragmas are compiled as sequential code, in any version of C and C++: no other header is
 * included, and no keyword is used that C89 does not reserve. */
#ifndef COMMANALYZER_OMP_H
#define COMMANALYZER_OMP_H

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CA_OMP
#define CA_OMP static __inline__ __attribute__((unused))
#endif

typedef int omp_lock_t;
typedef int omp_nest_lock_t;
typedef enum omp_lock_hint_t { omp_lock_hint_none = 0 } omp_lock_hint_t;
typedef omp_lock_hint_t omp_sync_hint_t;
typedef enum omp_sched_t {
  omp_sched_static = 1,
  omp_sched_dynamic = 2,
  omp_sched_guided = 3,
  omp_sched_auto = 4
} omp_sched_t;
typedef enum omp_proc_bind_t {
  omp_proc_bind_false = 0,
  omp_proc_bind_true = 1,
  omp_proc_bind_master = 2,
  omp_proc_bind_close = 3,
  omp_proc_bind_spread = 4
} omp_proc_bind_t;

/* clang-format off */
CA_OMP int omp_get_num_threads(void) { return 1; }
CA_OMP int omp_get_max_threads(void) { return 1; }
CA_OMP int omp_get_thread_num(void) { return 0; }
CA_OMP int omp_get_num_procs(void) { return 1; }
CA_OMP int omp_get_thread_limit(void) { return 1; }
CA_OMP int omp_in_parallel(void) { return 0; }
CA_OMP int omp_in_final(void) { return 1; }
CA_OMP int omp_get_dynamic(void) { return 0; }
CA_OMP int omp_get_nested(void) { return 0; }
CA_OMP int omp_get_cancellation(void) { return 0; }
CA_OMP int omp_get_level(void) { return 0; }
CA_OMP int omp_get_active_level(void) { return 0; }
CA_OMP int omp_get_max_active_levels(void) { return 1; }
CA_OMP int omp_get_ancestor_thread_num(int level) { return level == 0 ? 0 : -1; }
CA_OMP int omp_get_team_size(int level) { return level == 0 ? 1 : -1; }
CA_OMP int omp_get_num_teams(void) { return 1; }
CA_OMP int omp_get_team_num(void) { return 0; }
CA_OMP int omp_get_num_devices(void) { return 0; }
CA_OMP int omp_get_default_device(void) { return 0; }
CA_OMP int omp_get_initial_device(void) { return 0; }
CA_OMP int omp_is_initial_device(void) { return 1; }
CA_OMP int omp_get_num_places(void) { return 0; }
CA_OMP int omp_get_place_num(void) { return -1; }
CA_OMP omp_proc_bind_t omp_get_proc_bind(void) { return omp_proc_bind_false; }
CA_OMP void omp_set_num_threads(int count) { (void)count; }
CA_OMP void omp_set_dynamic(int on) { (void)on; }
CA_OMP void omp_set_nested(int on) { (void)on; }
CA_OMP void omp_set_max_active_levels(int levels) { (void)levels; }
CA_OMP void omp_set_default_device(int device) { (void)device; }
CA_OMP void omp_set_schedule(omp_sched_t kind, int chunk) { (void)kind; (void)chunk; }
CA_OMP void omp_get_schedule(omp_sched_t *kind, int *chunk) { *kind = omp_sched_static; *chunk = 0; }

CA_OMP void omp_init_lock(omp_lock_t *lock) { *lock = 0; }
CA_OMP void omp_init_lock_with_hint(omp_lock_t *lock, omp_lock_hint_t hint) { (void)hint; *lock = 0; }
CA_OMP void omp_destroy_lock(omp_lock_t *lock) { (void)lock; }
CA_OMP void omp_set_lock(omp_lock_t *lock) { *lock = 1; }
CA_OMP void omp_unset_lock(omp_lock_t *lock) { *lock = 0; }
CA_OMP int omp_test_lock(omp_lock_t *lock) { return *lock ? 0 : (*lock = 1); }
CA_OMP void omp_init_nest_lock(omp_nest_lock_t *lock) { *lock = 0; }
CA_OMP void omp_destroy_nest_lock(omp_nest_lock_t *lock) { (void)lock; }
CA_OMP void omp_set_nest_lock(omp_nest_lock_t *lock) { ++*lock; }
CA_OMP void omp_unset_nest_lock(omp_nest_lock_t *lock) { --*lock; }
CA_OMP int omp_test_nest_lock(omp_nest_lock_t *lock) { return ++*lock; }
/* clang-format on */

/* Under a name of our own: C89 and C99 have no clock_gettime, and later ones declare it with a type of theirs. */
int ca_omp_clock(int clock, long *seconds_and_nanoseconds) __asm__("clock_gettime");
CA_OMP double omp_get_wtime(void) {
  long now[2];
  ca_omp_clock(0, now);
  return (double)now[0] + 1e-9 * (double)now[1];
}

CA_OMP double omp_get_wtick(void) { return 1e-9; }

#undef CA_OMP
#ifdef __cplusplus
}
#endif
#endif
