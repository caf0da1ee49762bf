import subprocess
from pathlib import Path

import pytest

from commanalyzer.scaling.sweep.executors import BATCH_SYSTEMS, batch_script

# Runs at once, under the name of what submits: an array's tasks, one after the other, or a single job.
SUBMIT = """#!/bin/bash
echo "$*" >>"$CALLS"
script="${@: -1}"; [ -f "$script" ] || script="$CALLS.script"; [ -f "$script" ] || cat >"$script"
range=$(echo "$*" | sed -n 's/.*[=[ ]1-\\([0-9:]*\\).*/\\1/p')
[ "$range" != 2:2 ] || range=1
for task in $([ -z "$range" ] && echo "none" || seq $range); do
    [ $task != none ] || task=$NONE
    env $JOB=7 $TASK=$task bash "$script" >>"$CALLS.out"
done
[ -z "$range" ] || echo "$SAID"
"""


@pytest.mark.parametrize("indices", [(0, 2, 9), (4,)])
@pytest.mark.parametrize(
    ("system", "command", "none", "said", "after"),
    [
        ("slurm", "sbatch", "", "7;cluster", "--dependency=afterany:7"),
        ("pbs", "qsub", "", "7[].host", "-W depend=afterany:7[].host"),
        ("lsf", "bsub", "0", "Job <7> is submitted to default queue <q>.", "-w ended(7)"),
    ],
)
def test_all_points_are_analysed_then_gathered(
    system: str, command: str, none: str, said: str, after: str, indices: tuple[int, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    (tmp_path / command).write_text(SUBMIT)
    (tmp_path / command).chmod(0o755)
    script, arguments = folder / "job's.sh", ["a b.c", "--args", "{n} 'x' $HOME"]
    text = batch_script(
        system, script=script, indices=indices, tool=("printf", "%s|"), arguments=arguments,
        directory=folder / "out", folder=folder, options=("-q", "fast"),
    )  # fmt: skip
    script.write_text(text)
    start, *_, job, task, _, _ = BATCH_SYSTEMS[system]
    environment = {"JOB": job, "TASK": task, "NONE": none, "SAID": said}
    environment |= {"CALLS": str(tmp_path / "calls"), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(["bash", str(script)], env=environment, check=True)
    tasks = (["sweep", "--task", str(index), *arguments] for index in indices)
    expected = [*tasks, ["sweep", "--gather", str(folder / "out")]]
    assert (tmp_path / "calls.out").read_text() == "".join("|".join(words) + "|" for words in expected)
    assert (tmp_path / "calls").read_text().splitlines()[1].startswith(after)
    lines = text.splitlines()
    last = max(i for i, line in enumerate(lines) if line.startswith(start))
    assert f"{start}-q fast" == lines[last] and all(line.startswith("#") for line in lines[:last])
