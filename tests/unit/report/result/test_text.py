import io
from dataclasses import replace

import numpy as np

from commanalyzer.communication.matrix import Communication
from commanalyzer.graph.value_graph import HomeKind, HomeObject
from commanalyzer.machine.parameters import MachineParameters, Parameter
from commanalyzer.report.result.text import make_console, matrix_lines, object_lines, show_result
from commanalyzer.result.results import AnalysisResult
from tests.samples import sample_communication, sample_decomposition, sample_result


def _text(result: AnalysisResult, *, quiet: bool = False, every: bool = False, width: int = 110) -> str:
    stream = io.StringIO()
    show_result(result, make_console(stream, width), quiet=quiet, every=every)
    return stream.getvalue()


def test_everything_is_there() -> None:
    machine = MachineParameters("m", Parameter(1e9, "B/s", "measured"), None, Parameter(2e9, "Flop/s"))
    text = _text(sample_result(sample_decomposition(2, bound=0.875), machine=machine, warnings=("careful",)))
    for part in (
        "'größe.c' 12 'a b'",
        "sweep",
        "1 s CPU (2.0 x the plain 500 ms), peak 2 MB",
        "5 Flop, 10 loads, 5 stores, 60 instructions",
        "3 values, 2 flows in 1 chains",
        "1 source, 0 sink, 2 reduction",
        "m, bandwidth 1 GB/s (measured), 2 GFlop/s per node (given)",
        "metis cut",
        "40 B - 48 B",
        "87.5 %",
        "u (größe.c:3)",
        "warning: careful",
    ):
        assert part in text, part
    assert "no efficiency bound" not in text
    assert "\x1b" not in text


def test_every_number_of_the_table_is_the_results() -> None:
    lines = _text(sample_result(sample_decomposition(4)), quiet=True, width=200).splitlines()
    head, row = next((h, r) for h, r in zip(lines, lines[2:], strict=False) if "imbalance" in h)
    cells = [[cell.strip() for cell in line[1:-1].split(line[0])] for line in (head, row)]
    names = ["nodes", "decomposition", "bytes", "per node", "messages", "bytes/flop", "imbalance", "bracket"]
    values = ["4", "metis cut", "120 B", "30 B", "3", "24", "1.250", "120 B - 128 B"]
    assert dict(zip(*cells, strict=True)) == dict(zip(names, values, strict=True))


def test_candidates_only_on_request() -> None:
    result = sample_result(
        sample_decomposition(2), sample_decomposition(2, method="blocks 2D", best=False, pair_bytes=80)
    )
    assert " blocks 2D " not in _text(result)
    every = _text(result, every=True)
    assert "blocks 2D" in every
    assert "metis cut *" in every


def test_quiet_has_only_the_table_and_warnings() -> None:
    text = _text(sample_result(warnings=("careful",)), quiet=True)
    assert "loads" not in text
    assert "What is communicated" not in text
    assert "no efficiency bound" not in text
    assert "metis cut" in text
    assert "warning: careful" in text


def test_models_are_told_apart_only_when_there_are_two() -> None:
    both = sample_result(sample_decomposition(2), sample_decomposition(2, model="hpdc18"))
    assert "hpdc18" in _text(both, quiet=True)
    assert "volume" not in _text(sample_result(), quiet=True)


def test_what_was_not_followed_is_named_and_not_exact() -> None:
    (item,) = sample_result().decompositions
    tight = replace(item, communication=replace(item.communication, high_bytes=item.communication.low_bytes))
    for every in (False, True):
        calls = (("qsort", 3),), (("fork", 1),), ()
        text, forked, all_seen = (_text(sample_result(tight, unmodelled=c), every=every) for c in calls)
        assert "qsort (3x)" in text and "fork" not in forked and "--library-model" not in forked
        result = sample_result(tight)
        steered = _text(replace(result, recording=replace(result.recording, steering=2)), every=every)
        for shown, is_seen in ((text, False), (forked, False), (steered, False), (all_seen, True)):
            assert ("exact" in shown, "of what is seen" in shown) == (is_seen, not is_seen)


def test_width_is_respected() -> None:
    result = sample_result(sample_decomposition(2, bound=0.5), warnings=("a long remark " * 20,))
    for width in (60, 80, 140):
        assert max(map(len, _text(result, width=width).splitlines())) <= width


def test_markup_in_names_is_printed_as_it_is() -> None:
    result = replace(sample_result(), command=("[red]a.c[/red]",), warnings=("[bold]x",))
    text = _text(result)
    assert "[red]a.c[/red]" in text
    assert "[bold]x" in text


def test_no_work_and_no_decompositions() -> None:
    item = replace(sample_decomposition(2), intensity=float("inf"))
    assert "no work" in _text(sample_result(item))
    assert "no decompositions" in _text(replace(sample_result(), decompositions=()))


def test_top_objects() -> None:
    objects = tuple(HomeObject(HomeKind.GLOBAL, f"v{i % 8}") for i in range(11))  # v2 twice
    known, moved = sample_decomposition(2, pair_bytes=80), np.array([0, 10, 10, 20, 1, 2, 3, 4, 0, 0, 30])
    lines = object_lines(replace(known, object_bytes=moved), objects)
    assert [line.split()[-1] for line in lines[1:-1]] == ["v2", "v3", "v1", "v7", "v6"]
    assert lines[-1].split() == ["3", "B", "3.8", "%", "2", "other", "variables"]
    assert lines[1].split() == ["40", "B", "50.0", "%", "v2"]
    assert object_lines(replace(known, object_bytes=np.zeros(0, np.int64)), objects) == []


def _ring(p: int) -> Communication:
    matrix = np.zeros((p, p), dtype=np.int64)
    index = np.arange(p)
    matrix[index, (index + 1) % p] = 8
    matrix[0, 1] = 2000
    return sample_communication(matrix)


def test_small_matrix_in_full() -> None:
    assert matrix_lines(_ring(3)) == [
        "Sent from node (row) to node (column):",
        "         0    1    2",
        "   0     . 2 kB    .",
        "   1     .    .  8 B",
        "   2   8 B    .    .",
    ]


def test_large_matrix_is_summarised() -> None:
    lines = matrix_lines(_ring(16))
    assert lines[0] == "Who talks to whom on 16 nodes:"
    assert "2 to 2, median 2" in lines[1]
    # 2000 + 15 * 8 = 2120 bytes over 16 nodes
    assert "mean 132 B, most 2 kB (node 0)" in lines[2]
    assert "mean 132 B, most 2 kB (node 1)" in lines[3]
    assert "2 kB from node 0 to node 1" in lines[4]
    assert len(matrix_lines(_ring(16), full=True)) == 18
