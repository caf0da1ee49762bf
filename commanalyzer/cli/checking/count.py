"""``commanalyzer count``: an MPI command in, counted bytes per pair of ranks out."""

from __future__ import annotations

from pathlib import Path

import click

from commanalyzer.cli.parameters import options
from commanalyzer.cli.parameters.analysis_options import WithProgramArguments, program_arguments
from commanalyzer.cli.parameters.output import check_outputs, emit, force_option, json_option, quiet_option


class _WithCommand(WithProgramArguments):
    """The command after ``--`` is the launcher with the program."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Mention the MPI command."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] -- mpiexec -n RANKS PROGRAM [ARGUMENTS...]")


@click.command(cls=_WithCommand)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Save the result (*.cmz).")
@json_option
@click.option(
    "--region", default="", metavar="NAME", help="Mark or function that the result's matrix covers."
)
@click.option("--mpicc", default="", help="Compiler wrapper of the program's MPI, if not beside mpiexec.")
@click.option("--timeout", type=options.seconds, help="Limit of the run: 60, 10min.")
@click.option("--profile", type=click.Path(path_type=Path), help="Save the ranks' communication (*.pisa).")
@force_option
@click.option("--all", "every", is_flag=True, help="Show every kind of call.")
@quiet_option("Only the table of regions.")
@click.pass_context
def command(
    ctx: click.Context,
    output: Path | None,
    json_output: str | None,
    region: str,
    mpicc: str,
    timeout: float | None,
    profile: Path | None,
    force: bool,
    every: bool,
    quiet: bool,
) -> None:
    """Count the bytes and messages that an MPI program's ranks send to each other.

    The command after -- is run once, unchanged, with a counting library in every rank. Collectives are
    charged with the least volume that an implementation needs.
    """
    check_outputs(output, json_output, force)
    check_outputs(profile, None, force)
    from commanalyzer.checking.counting.launch import CountRequest, count

    result = count(
        CountRequest(
            command=program_arguments(ctx),
            region=region,
            mpicc=mpicc,
            timeout_s=timeout,
            output_to_stderr=json_output == "-",
        )
    )
    emit(result, output, json_output, force=force, every=every, quiet=quiet)
    if profile is not None:
        from commanalyzer.profiles.document import write_profile
        from commanalyzer.profiles.ranks import counted_profile

        write_profile(counted_profile(result, {}), profile, force=force)
