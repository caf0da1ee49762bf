"""Which tests run when: `fast`, the default, `extended`. What is `slow` says so where it stands.

The default run holds every promise (`docs/explanation/promises.md`) with a case or more, in eight minutes on
two cores. Further cases, other languages, sanitizers, more random programs, and simulators are `extended`:
``python -m pytest -n 2 -m "not slow"``. Paths are below ``tests/``; a name stands for all that begin with it.
"""

# Nothing is compiled or recorded, no loop is compiled for long: less than a minute in all.
FAST = (
    *(
        "unit/cli/",
        "unit/result/comparison/",
        "unit/checking/counting/",
        "unit/result/export/",
        "unit/program/ir/",
        "unit/scaling/laws/",
    ),
    *(
        "unit/machine/",
        "unit/report/",
        "unit/machine/roofline/",
        "unit/machine/simulation/",
        "unit/recording/trace/",
    ),
    *(
        "unit/bench/",
        "unit/program/frontend/drivers/",
        "unit/test_theory.py",
        "test_architecture.py",
    ),
    "documentation/test_pages.py",
)
# Programs in C++, with a library that takes 50 CPU seconds to build: their tests in e2e/ are extended, too.
# The sample of C++ does without: `e2e/test_cplusplus.py`.
CPLUSPLUS = (".cpp", "hydro3d", "pagerank", "small_world")
# A name alone is extended; of `name/4`, the default run has one case in four, the first included; the first
# name that fits counts, `*` fits all.
FURTHER = {
    "documentation/test_examples.py": "notebook_runs[first notebook_runs[sweep",
    "documentation/test_tutorials.py": (
        "page_prints_what_it_says[check-mpi page_prints_what_it_says[learned "
        "page_prints_what_it_says[makefile page_prints_what_it_says[parallel "
        "page_prints_what_it_says[sweep- page_prints_what_it_says[task-"
    ),
    "e2e/test_allocations.py": "a_campaign the_fastest flows/5",
    "e2e/test_analysis.py": (
        "matmul random_spmv stencil3d arrays_made/4 best/4 dense/4 graph_size/2 spmv_broadcasts/4 "
        "heat2d/4 kmeans/4 products/2 random/4 same_input/3 tables/2 work_of/8"
    ),
    "e2e/test_analysis_irregular.py": "*",
    "e2e/test_analysis_workspaces.py": "adi pic directions the_factors/3",
    "e2e/test_case_variants.py": "*/8",
    "e2e/test_cli.py": "cxx ir_gives/6 own_compiler/3",
    "e2e/test_corpus.py": "instrumented/5 ir/5",
    "e2e/test_count.py": "a_counted_result every_family/10 */8",
    "e2e/test_cplusplus.py": (
        "a_number_is_followed_through[library a_program_with_the_whole_language "
        "the_cases_compute_the_same_numbers[library a_number_is_followed/4"
    ),
    "e2e/test_decision_programs.py": "*/3",
    "e2e/test_decisions.py": "a_flag/2 a_tolerance/20 comparisons/2",
    "e2e/test_divisions.py": "named/3",
    "e2e/test_driver_commands.py": "objects_of_one_command openmp_header */4",
    "e2e/test_drivers.py": (
        "cmake executable_is_complete foreign_object fortran_and_cxx intrinsics one_command "
        "the_users_own_compiler without_ir wrapper"
    ),
    "e2e/test_exact.py": "a_norm/2 a_sum_that/4 every_version/3 narrow_brackets sweeps/4",
    "e2e/test_extrapolation.py": "the_guide",
    "e2e/test_failures.py": (
        "bad_files/9 endings/8 full_disk_while_recording/2 nothing_to_divide/8 programs_that_do_not/8"
    ),
    "e2e/test_first_runs.py": "*/5",
    "e2e/test_fit.py": "laws_of_results",
    "e2e/test_fortran.py": ("copies modules overlapping points pointers random */4"),
    "e2e/test_fortran_programs.py": "*/5",
    "e2e/test_fused_reductions.py": "*/8",
    "e2e/test_growth.py": "every_step/3",
    "e2e/test_integers.py": "initial_values */4",
    "e2e/test_kernels.py": "kernels_of_each_kind/5 one_more/3",
    "e2e/test_least_with_place.py": "*/6",
    "e2e/test_machine.py": "rank_0 throughput two_ranks",
    "e2e/test_marked_regions.py": "forces/2 only_what/2 scope_ends values/3 what_the_region/3",
    "e2e/test_mpi_bytes.py": "*/8",
    "e2e/test_mpi_counterparts.py": "prints/8",
    "e2e/test_objects.py": "a_division arrays_of_a_structure/2 members what_moves",
    "e2e/test_profile.py": "what_belongs misses/3",
    "e2e/test_report.py": "the_report_names",
    "e2e/test_rust.py": "output",
    "e2e/test_scratch.py": (
        "a_number/3 a_vector an_array_that_is_rewritten/2 iterations/2 levels/2 scratch/13 "
        "sums_of_constants/2 work_of_loops/2"
    ),
    "e2e/test_selection_volume.py": "*/3",
    "e2e/test_simulate.py": "a_platform_file a_prediction what_is_missing",
    "e2e/test_sparse_programs.py": "rows",
    "e2e/test_sweep.py": "failed_points",
    "e2e/test_tasks.py": "*/8",
    "e2e/test_temporaries.py": "*/3",
    "e2e/test_transparency.py": "*/2",
    "e2e/test_accuracy.py": "a_case_that_fails the_command_writes */3",
    "e2e/test_workloads_irregular.py": "*/2",
    "e2e/trust/test_behind_the_back.py": "*/5",
    "fuzz/test_files.py": "*/5",
    "fuzz/test_programs.py": "cpp csmiths/3",
    "property/test_flows.py": "chains_of_chosen_loops_equal_the_interpreters[previews chains_of_chosen/2",
    "property/test_laws.py": "a_unit_changes",
    "property/test_mechanisms.py": "*/4",
    "property/test_rounds.py": "*/5",
    "shim/test_driver.py": "repeated_chains",
    "shim/test_sanitizers.py": "hooks/9",
    "unit/communication/test_passes.py": "more_parts",
    "unit/kernels/composition/test_design.py": "the_slower_stages",
    "unit/profiles/extrapolation/test_models.py": "*/3",
    "unit/recording/instrument/test_work.py": "*/3",
    "unit/recording/instrument/test_recorded_selections.py": "*/3",
    "unit/recording/instrument/test_several_values.py": "*/3",
    "unit/division/libraries/test_concurrency.py": "calls",
    "unit/graph/contraction/test_workspaces.py": "long_chains",
}
_NAMES = [
    (file if name == "*" else f"{file}::test_{name}", every)
    for file, names in FURTHER.items()
    for name, _, every in (entry.partition("/") for entry in names.split())
]
EXTENDED = tuple(name for name, every in _NAMES if not every)
SAMPLED = {name: int(every) for name, every in _NAMES if every}
