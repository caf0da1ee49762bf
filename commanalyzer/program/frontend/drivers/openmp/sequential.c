/* The functions of include/omp.h with external names, for programs that declare them on their own, and under
 * the names that Fortran uses. Weak: a definition of the program counts. */
#define CA_OMP __attribute__((weak))
#include "../include/omp.h"
#define CA_FORTRAN __attribute__((weak))

CA_FORTRAN int omp_get_num_threads_(void) { return omp_get_num_threads(); }
CA_FORTRAN int omp_get_max_threads_(void) { return omp_get_max_threads(); }
CA_FORTRAN int omp_get_thread_num_(void) { return omp_get_thread_num(); }
CA_FORTRAN int omp_get_num_procs_(void) { return omp_get_num_procs(); }
CA_FORTRAN int omp_in_parallel_(void) { return omp_in_parallel(); }
CA_FORTRAN void omp_set_num_threads_(const int *count) { omp_set_num_threads(*count); }
CA_FORTRAN double omp_get_wtime_(void) { return omp_get_wtime(); }
CA_FORTRAN double omp_get_wtick_(void) { return omp_get_wtick(); }
