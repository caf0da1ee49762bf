"""Programs and designs: ``features``, ``patterns``, ``tasks``, ``learn``, ``predict``, ``compose``, ..."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import WithProgramArguments, interpreted_options
from commanalyzer.cli.parameters.output import Outputs, output_options, together
from commanalyzer.foundation.files import write_text
from commanalyzer.request import AnalysisRequest

if TYPE_CHECKING:
    from rich.console import Console

    from commanalyzer.kernels.composition.measurement import BlockRequest
    from commanalyzer.kernels.learning.training import TrainingOptions


@click.command(cls=WithProgramArguments)
@options.flag("--run", help="Also interpret the program: measured mix and run-time features.")
@interpreted_options
@output_options("Do not say which file was written.")
def features_command(request: AnalysisRequest, run: bool, out: Outputs) -> None:
    """Count the instructions of every kernel of SOURCES by kind, as learn and predict need them.

    A kernel is a nest of loops over work items. Arguments after -- imply --run; the program is interpreted
    then: use a small problem.
    """
    out.check()
    from commanalyzer.kernels.features.kernels import find_kernels, run_kernels
    from commanalyzer.recording.record import compile_request
    from commanalyzer.report.kernels.text import features_json, show_features

    _, module = compile_request(request)
    if run or request.arguments or request.stdin is not None:
        given = b"" if request.stdin is None else request.stdin.read_bytes()
        found = run_kernels(module, request.arguments, given)
    else:
        found = find_kernels(module)
    out.emit(lambda: features_json(found), lambda console: show_features(found, console))


@click.command(cls=WithProgramArguments)
@interpreted_options
@output_options("Only the patterns, without reasons.")
def patterns_command(request: AnalysisRequest, out: Outputs) -> None:
    """Find the parallel pattern of every loop of SOURCES, or the flows that forbid one.

    The program is interpreted: use a small problem. What is said holds for the flows of that run.
    """
    out.check()
    from commanalyzer.kernels.patterns.find import find_patterns
    from commanalyzer.recording.record import compile_request
    from commanalyzer.report.kernels.text import patterns_json, show_patterns

    _, module = compile_request(request)
    given = b"" if request.stdin is None else request.stdin.read_bytes()
    found = find_patterns(module, request.arguments, given)
    out.present(found, patterns_json, show_patterns)


@click.command(cls=WithProgramArguments)
@click.option(
    "--nodes", type=options.nodes, default=(2, 4), help="Node counts for which moved bytes are counted: 2,4."
)
@click.option(
    "--region",
    "regions",
    multiple=True,
    metavar="NAME",
    help="Executions of this function or marked region are the tasks, not kernel loops; repeatable.",
)
@options.flag("--celerity", help="Print accessor declarations for a port to SYCL/Celerity (> FILE).")
@options.file("--dot", help="Write the graph with repetitions folded, for Graphviz.")
@options.file("--graphml", help="Write the whole graph as GraphML.")
@options.file("--picture", help="Draw the graph with repetitions folded: *.svg, *.pdf or *.png.")
@interpreted_options
@output_options("Only the kernels and their range mappers.")
def tasks_command(
    request: AnalysisRequest,
    nodes: tuple[int, ...],
    celerity: bool,
    dot: Path | None,
    graphml: Path | None,
    picture: Path | None,
    out: Outputs,
) -> None:
    """Find the kernels of SOURCES, what flows between their executions, and the range mapper of every access.

    A saved result (*.cmz) stands for its sources and arguments. The program is interpreted: use a small
    problem, -- ARGUMENTS. What is said holds for the accesses of that run.
    """
    out.check(dot, graphml, picture)
    from commanalyzer.kernels.tasks.celerity import celerity_text
    from commanalyzer.kernels.tasks.find import find_tasks
    from commanalyzer.kernels.tasks.graph import tasks_json
    from commanalyzer.recording.record import compile_request
    from commanalyzer.report.kernels.task_files import dot_text, graphml_text, save_tasks
    from commanalyzer.report.kernels.text import show_tasks

    _, module = compile_request(request)
    given = b"" if request.stdin is None else request.stdin.read_bytes()
    regions = frozenset(request.regions)
    graph = find_tasks(module, request.arguments, given, nodes=nodes, regions=regions)
    for path, make in ((dot, dot_text), (graphml, graphml_text)):
        if path is not None:
            write_text(path, make(graph), force=out.force)
    if picture is not None:
        save_tasks(graph, picture, force=out.force)

    def show(console: Console) -> None:
        if celerity:
            sys.stdout.write(celerity_text(graph.kernels, graph.tasks))
        else:
            show_tasks(graph, console, quiet=out.quiet)

    # Declarations are for a file: no names of files among them.
    saying = replace(out, quiet=out.quiet or celerity)
    saying.emit(lambda: tasks_json(graph), show, (dot, graphml, picture))


_KINDS = ("forest", "neighbours", "svr")
_TARGETS = ("speedup", "efficiency", "residual")
_SETS = ("all", "static", "runtime")


@click.command()
@click.argument("table", type=options.FILE)
@options.file("-o", "--output", required=True, help="Model to write (*.npz).")
@click.option("--machine", default="", help="Only runs of this machine, where the table has several.")
@options.with_default("--model", "kind", type=click.Choice(_KINDS), default="forest")
@options.with_default(
    "--target",
    type=click.Choice(_TARGETS),
    default="efficiency",
    help="What is learned: the speed-up, the efficiency, or what physics (a column) leaves over.",
)
@options.with_default("--features", type=click.Choice(_SETS), default="all")
@click.option(
    "--pca", "components", type=click.IntRange(0), default=0, help="Principal components; the paper takes 6."
)
@options.flag(
    "--no-search",
    "search",
    callback=lambda _context, _option, is_left_out: not is_left_out,
    help="Take the default parameters, no grid search.",
)
@options.flag("--insight", help="Also distances of kernels, ranked features, ablation.")
@output_options("Only say nothing but errors.")
@together(how="commanalyzer.kernels.learning.training:TrainingOptions")
def learn_command(
    table: Path, output: Path, machine: str, insight: bool, out: Outputs, how: TrainingOptions
) -> None:
    """Train a model on TABLE (CSV or JSON Lines): per run a kernel, its features and the speed-up or time.

    Every kernel is left out once, which tells how far predictions of unseen kernels are off.
    """
    out.check(output)
    from commanalyzer.kernels.learning.model import save_model
    from commanalyzer.kernels.learning.runs import read_runs
    from commanalyzer.kernels.learning.training import train
    from commanalyzer.report.kernels.learning_text import model_json, show_insight, show_model

    runs = read_runs(table, machine)
    model = train(runs, how, machine)
    found = None
    if insight:
        from commanalyzer.kernels.learning.training import find_insight

        found = find_insight(runs, how)
    save_model(model, output, force=out.force)

    def show(console: Console) -> None:
        if not out.quiet:
            show_model(model, console)
            if found is not None:
                show_insight(found, console)

    out.emit(lambda: model_json(model, found), show, (output,))


@click.command()
@click.argument("model", type=options.FILE)
@click.argument("inputs", type=options.FILE, metavar="FEATURES|TABLE")
@click.option(
    "--devices", type=options.nodes, default=(1, 2, 4, 8, 16, 32, 64), help="Numbers: 2,4,8 or 1-64:x2."
)
@click.option(
    "--items", type=float, default=0.0, help="Work items of the largest kernel; its buffers grow alike."
)
@click.option("--kernel", "names", multiple=True, help="Only this kernel and its tasks; repeatable.")
@options.file("--tasks", help="Task graph (of tasks --json): also the application of these tasks.")
@options.file("--overheads", help="Overheads of range mappers, for Eq. 3.")
@click.option("--machine", default="", metavar="NAME|FILE", help="Machine, for what moving data takes.")
@output_options("Do not say which file was written.")
def predict_command(
    model: Path,
    inputs: Path,
    devices: tuple[int, ...],
    items: float,
    names: tuple[str, ...],
    tasks: Path | None,
    overheads: Path | None,
    machine: str,
    out: Outputs,
) -> None:
    """Predict speed-ups of the kernels of FEATURES (of features --run --json) or the runs of TABLE.

    Each comes with its uncertainty, and a remark where the model was not trained for it.
    """
    out.check()
    if (overheads is not None or machine) and tasks is None:
        raise click.UsageError("--overheads and --machine are for the application of --tasks")
    if items < 0:
        raise click.BadParameter(f"expected 0 or more, found {items:g}", param_hint="--items")
    from commanalyzer.kernels.learning.inputs import predict_application, read_inputs
    from commanalyzer.kernels.learning.model import load_model
    from commanalyzer.kernels.learning.range_benchmark import load_overheads
    from commanalyzer.kernels.tasks.graph import load_tasks
    from commanalyzer.machine.machine_file import load_machine
    from commanalyzer.report.kernels.learning_text import prediction_json, show_prediction

    trained = load_model(model)
    runs = read_inputs(inputs, devices, items, names)
    found = trained.predict(runs)
    application = None
    if tasks is not None:
        application = predict_application(
            load_tasks(tasks),
            runs,
            found.speedups,
            None if overheads is None else load_overheads(overheads),
            load_machine(machine) if machine else None,
            names,
        )
    out.emit(
        lambda: prediction_json(found, application),
        lambda console: show_prediction(found, application, console),
    )


@click.command("measure-block")
@click.argument("sources", nargs=-1, type=options.FILE, metavar="[SOURCE...]")
@click.option("--function", default="", help="Function to time: void NAME(int *data, size_t n).")
@options.with_default("--element", default="int", help="Type of its data: int, double, ...")
@click.option("--command", default="", help="Time a command instead: './filter {n}'.")
@options.with_default(
    "--sizes",
    type=options.nodes,
    metavar="SIZES",
    default="1024..262144x2",
    help="Sizes n: 1024..262144x2 (doubling), 1024-262144:1024 or a list.",
)
@options.with_default("--repetitions", type=click.IntRange(2), default=256, help="Samples of every size.")
@options.with_default("--cflags", "flags", type=options.flags, default="-O2", help="Flags of the compiler.")
@options.with_default(
    "--timeout", "timeout_s", type=options.seconds, default="10min", help="Limit of it all."
)
@options.file("-o", "--output", help="Save times and law (JSON), for compose.")
@output_options("Only the law.")
@together(asked="commanalyzer.kernels.composition.measurement:BlockRequest")
def measure_block_command(output: Path | None, out: Outputs, asked: BlockRequest) -> None:
    """Measure the run time of a function of the SOURCEs, or of a command, and fit a law to it.

    Every call sees fresh data of a fixed random sequence. Measure on an idle machine.
    """
    out.check(output)
    from commanalyzer.kernels.composition.measurement import block_json, measure_block, save_block
    from commanalyzer.report.kernels.composition_text import show_block

    block = measure_block(asked)
    if output is not None:
        save_block(block, output, force=out.force)
    out.present(block, block_json, show_block, (output,))


@click.command()
@click.argument("design", type=options.FILE)
@click.option("--system", "expression", default="", help="Another system of the blocks of DESIGN.")
@options.at_option("sizes", "Sizes: n=4096,m=64; repeatable.")
@click.option("--set", "counts", type=options.setting, multiple=True, help="Count: T=4; repeatable.")
@click.option("--cores", type=click.IntRange(1), help="Threads that may run.")
@click.option("--elements", type=click.IntRange(1), help="Elements of the stream.")
@options.file("--figure", help="Draw the system with its times (.svg, .png).")
@output_options("Only times and counts.")
def compose_command(
    design: Path,
    expression: str,
    sizes: dict[str, float],
    counts: tuple[tuple[str, float], ...],
    figure: Path | None,
    out: Outputs,
    **given: options.Raw,
) -> None:
    """Predict how fast the system of DESIGN (TOML) is, what limits it, and which counts are best.

    Counts that are given neither in the design nor with --set are found: those that make the system fastest
    on the cores.
    """
    out.check(figure)
    from commanalyzer.kernels.composition.answer import answer, load_design
    from commanalyzer.kernels.composition.systems import parse_system
    from commanalyzer.report.kernels.composition_text import answer_json, show_answer

    wrong = [f"{name}={value:g}" for name, value in counts if value < 1 or value != int(value)]
    if wrong:
        raise click.BadParameter(
            f"expected a whole number of 1 or more, found {wrong[0]}", param_hint="--set"
        )
    system = parse_system(expression) if expression else None
    loaded = load_design(design, system, {name: int(value) for name, value in counts})
    loaded = replace(
        loaded,
        values={**loaded.values, **sizes},
        **{name: count for name, count in given.items() if count is not None},  # cores, elements
    )
    found = answer(loaded)
    if figure is not None:
        from commanalyzer.report.kernels.composition_text import save_system

        save_system(found, figure, force=out.force)
    out.present(found, answer_json, show_answer, (figure,))
