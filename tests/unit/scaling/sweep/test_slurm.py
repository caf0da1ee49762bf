import subprocess
from pathlib import Path

import pytest

from commanalyzer.scaling.sweep.executors import array_ranges, slurm_script


@pytest.mark.parametrize(
    ("indices", "text"), [([0], "0"), ([0, 1, 2], "0-2"), ([1, 3, 4, 9], "1,3-4,9"), ([5, 7], "5,7")]
)
def test_ranges(indices: list[int], text: str) -> None:
    assert array_ranges(indices) == text


def test_words_with_blanks_and_quotes_reach_the_task(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    script = folder / "job's.sh"
    arguments = ["a b.c", "--args", "{n} 'x' $HOME"]
    text = slurm_script(
        script=script, indices=[0, 2], tool=("printf", "%s|"), arguments=arguments,
        directory=folder / "out", folder=folder, options=("--mem=2G",),
    )  # fmt: skip
    script.write_text(text)
    environment = {"SLURM_JOB_ID": "1", "SLURM_ARRAY_TASK_ID": "2", "PATH": "/usr/bin:/bin"}
    for extra, expected in (
        ([], ["--task", "2", *arguments]),
        (["gather"], ["--gather", str(folder / "out")]),
    ):
        done = subprocess.run(
            ["bash", str(script), *extra], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == "|".join(["sweep", *expected]) + "|"
    lines = script.read_text().splitlines()
    last = max(i for i, line in enumerate(lines) if line.startswith("#SBATCH"))
    assert "#SBATCH --array=0,2" in lines and all(line.startswith("#") for line in lines[:last])
