"""``commanalyzer count``: an MPI command in, counted bytes per pair of ranks out."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import WithProgramArguments, program_arguments
from commanalyzer.cli.parameters.output import Outputs, emit, output_options


class _WithCommand(WithProgramArguments):
    """The command after ``--`` is the launcher with the program."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Mention the MPI command."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] -- mpiexec -n RANKS PROGRAM [ARGUMENTS...]")


@click.command(cls=_WithCommand)
@click.option("-o", "--output", type=options.FILE, help="Save the result (*.cmz).")
@click.option(
    "--region", default="", metavar="NAME", help="Mark or function that the result's matrix covers."
)
@click.option("--mpicc", default="", help="Compiler wrapper of the program's MPI, if not beside mpiexec.")
@click.option("--timeout", "timeout_s", type=options.seconds, help="Limit of the run: 60, 10min.")
@click.option("--profile", type=options.FILE, help="Save the ranks' communication (*.pisa).")
@click.option("--all", "every", is_flag=True, help="Show every kind of call.")
@output_options("Only the table of regions.")
def command(output: Path | None, profile: Path | None, every: bool, out: Outputs, **raw: options.Raw) -> None:
    """Count the bytes and messages that an MPI program's ranks send to each other.

    The command after -- is run once, unchanged, with a counting library in every rank. Collectives are
    charged with the least volume that an implementation needs.
    """
    out.check(output, profile)
    from commanalyzer.checking.counting.launch import CountRequest, count

    command = program_arguments()
    request = CountRequest(command, output_to_stderr=out.is_document, **raw)  # options are its fields
    result = count(request)
    emit(result, output, out, every=every)
    if profile is not None:
        from commanalyzer.profiles.document import write_profile
        from commanalyzer.profiles.ranks import counted_profile

        write_profile(counted_profile(result, {}), profile, force=out.force)
