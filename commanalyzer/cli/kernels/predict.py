"""``commanalyzer predict``: speed-up curves of unseen kernels by a trained model."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.output import Outputs, output_options


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
@click.option(
    "--tasks", type=options.FILE, help="Task graph (of tasks --json): also the application of these tasks."
)
@click.option("--overheads", type=options.FILE, help="Overheads of range mappers, for Eq. 3.")
@click.option("--machine", default="", metavar="NAME|FILE", help="Machine, for what moving data takes.")
@output_options("Do not say which file was written.")
def command(
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
