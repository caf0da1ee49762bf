"""Which tests run when: `fast`, the default, `extended`. What is `slow` says so where it stands.

The default run holds every promise (`docs/explanation/promises.md`) with a case or more, in eight minutes on
two cores. Further cases, other languages, sanitizers, more random programs, and simulators are `extended`:
``python -m pytest -n 2 -m "not slow"``. Paths are below ``tests/``; a name stands for all that begin with it.
"""

from __future__ import annotations

# Nothing is compiled or recorded, no loop is compiled for long: less than a minute in all.
FAST = (
    *("unit/cli/", "unit/comparison/", "unit/counting/", "unit/export/", "unit/ir/", "unit/laws/"),
    *("unit/machine/", "unit/report/", "unit/roofline/", "unit/simulation/", "unit/trace/"),
    *("unit/validation/", "unit/frontend/drivers/", "unit/test_theory.py", "test_architecture.py"),
    "documentation/test_pages.py",
)
EXTENDED = (
    "documentation/test_tutorials.py::test_tutorial_prints_what_it_says[check-mpi",
    "documentation/test_tutorials.py::test_tutorial_prints_what_it_says[learned",
    "documentation/test_tutorials.py::test_tutorial_prints_what_it_says[parallel",
    "documentation/test_tutorials.py::test_tutorial_prints_what_it_says[sweep",
    "documentation/test_examples.py::test_notebook_runs[first",
    "documentation/test_examples.py::test_notebook_runs[sweep",
    "e2e/test_allocations.py::test_a_campaign",
    "e2e/test_cli.py::test_cxx",
    "e2e/test_cplusplus.py::test_a_number_is_followed_through[library",
    "e2e/test_cplusplus.py::test_a_program_with_the_whole_language",
    "e2e/test_cplusplus.py::test_the_cases_compute_the_same_numbers[library",
    "e2e/test_driver_commands.py::test_objects_of_one_command",
    "e2e/test_driver_commands.py::test_openmp_header",
    "e2e/test_drivers.py::test_cmake",
    "e2e/test_drivers.py::test_fortran_and_cxx",
    "e2e/test_drivers.py::test_intrinsics",
    "e2e/test_drivers.py::test_foreign_object",
    "e2e/test_drivers.py::test_one_command",
    "e2e/test_drivers.py::test_the_users_own_compiler",
    "e2e/test_drivers.py::test_wrapper",
    "e2e/test_extrapolation.py::test_the_guide",
    *(
        f"e2e/test_fortran.py::test_{name}"
        for name in ("a_masked", "copies", "modules", "overlapping", "pointers")
    ),
    *(
        f"e2e/test_fortran.py::test_{name}"
        for name in ("random", "rearrangements", "reductions_along", "matmul")
    ),
    "e2e/test_fem2d.py::test_an_analysis_leaves",
    "e2e/test_library_model.py::test_precompiled",
    "e2e/test_machine.py::test_rank_0",
    "e2e/test_machine.py::test_throughput",
    "e2e/test_objects.py::test_members",
    "e2e/test_rust.py::test_output",
    "e2e/test_simulate.py::test_a_platform_file",
    "e2e/test_simulate.py::test_what_is_missing",
    "e2e/test_sparse_programs.py::test_rows",
    "e2e/test_sweep.py::test_failed_points",
    "e2e/test_validation.py::test_a_case_that_fails",
    "e2e/test_validation.py::test_the_command_writes",
    "fuzz/test_cpp.py::",
    "property/test_flows.py::test_chains_of_loops_with_previews",
    "property/test_programs.py::test_programs",
    "property/test_renamed_rounds.py::test_columns",
    "property/test_renamed_rounds.py::test_rounds",
    "property/test_renamed_rounds.py::test_renamings",
)
# Workloads in C++: their tests in e2e/ are extended as well; the sample of C++ is `e2e/test_cplusplus.py`.
CPLUSPLUS = ("hydro3d", "pagerank", "small_world")
# Of the cases of these tests, the default run has one in so many, the first included.
SAMPLED = {
    "e2e/test_allocations.py::test_flows": 5,
    "e2e/test_analysis.py::test_banded": 2,
    "e2e/test_analysis.py::test_dense": 2,
    "e2e/test_analysis.py::test_heat2d": 2,
    "e2e/test_analysis.py::test_kmeans": 2,
    "e2e/test_analysis.py::test_matmul": 2,
    "e2e/test_analysis.py::test_random": 2,
    "e2e/test_analysis.py::test_same_input": 3,
    "e2e/test_analysis_irregular.py::": 2,
    "e2e/test_analysis_workspaces.py::": 2,
    "e2e/test_cli.py::test_export": 3,
    "e2e/test_cli.py::test_ir_gives": 3,
    "e2e/test_cli.py::test_own_compiler": 3,
    "e2e/test_corpus.py::test_instrumented": 3,
    "e2e/test_corpus.py::test_ir": 5,
    "e2e/test_count.py::test_every_family": 3,
    "e2e/test_count.py::": 2,
    "e2e/test_decisions.py::test_a_tolerance": 5,
    "e2e/test_divisions.py::test_named": 3,
    "e2e/test_driver_commands.py::": 4,
    "e2e/test_failures.py::test_bad_files": 3,
    "e2e/test_failures.py::test_nothing_to_divide": 4,
    "e2e/test_failures.py::test_endings": 2,
    "e2e/test_failures.py::test_programs_that_do_not": 2,
    "e2e/test_failures.py::test_full_disk_while_recording": 2,
    "e2e/test_first_runs.py::": 3,
    "e2e/test_fortran.py::": 4,
    "e2e/test_fortran_programs.py::": 5,
    "e2e/test_fused_reductions.py::": 3,
    "e2e/test_integers.py::test_initial": 2,
    "e2e/test_integers.py::test_integers": 4,
    "e2e/test_kernels.py::test_kernels_of_each_kind": 3,
    "e2e/test_kernels.py::test_one_more": 2,
    "e2e/test_mpi_bytes.py::": 2,
    "e2e/test_mpi_counterparts.py::test_prints": 4,
    "e2e/test_profile.py::test_misses": 3,
    "e2e/test_scratch.py::test_scratch": 5,
    "e2e/test_selection_volume.py::": 3,
    "e2e/test_tasks.py::": 5,
    "e2e/test_temporaries.py::": 3,
    "e2e/test_transparency.py::": 2,
    "e2e/test_validation.py::": 3,
    "e2e/test_workloads_irregular.py::": 2,
    "fuzz/": 5,
    "property/test_entering_values.py::": 4,
    "property/test_mechanisms.py::": 4,
    "property/test_renamed_rounds.py::": 5,
    "shim/test_sanitizers.py::test_hooks": 9,
    "unit/extrapolation/test_models.py::": 3,
    "unit/instrument/test_recorded_selections.py::": 3,
    "unit/instrument/test_several_values.py::": 3,
    "unit/instrument/operations/test_work.py::": 3,
}
