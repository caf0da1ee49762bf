import io
import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import networkx as nx
import pytest

from commanalyzer.cli.main import main
from commanalyzer.foundation.errors import ConfigError
from commanalyzer.kernels.tasks.celerity import celerity_text
from commanalyzer.kernels.tasks.graph import Group, TaskGraph, fold, groups_of, load_tasks, tasks_json
from commanalyzer.program.frontend.toolchain import bundled_toolchain
from commanalyzer.report.html.page import FurtherChapters, NamedResult, make_page, render_page
from commanalyzer.report.kernels.task_files import dot_text, graphml_text, save_tasks, tasks_chart
from tests.native import run
from tests.samples import sample_result
from tests.unit.kernels.tasks.test_find import GATHER, HEAD, STEPS, SWEEPS, tasks_of

SCHEMA = Path(__file__).resolve().parents[4] / "docs" / "reference" / "tasks-1.schema.json"

MATRICES = """
void product(int n, const float *a, const float *x, float *y) {
  for (int j = 0; j < n; j++) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += a[i * n + j] * x[i];
    y[j] = sum;
  }
}
int main(void) {
  int n = 6;
  float *a = malloc(4 * n * n), *x = malloc(4 * n), *y = malloc(4 * n);
  for (int i = 0; i < n; i++) { x[i] = i; }
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i * n + j] = i - j;
  product(n, a, x, y);
  printf("%g\\n", y[2]);
}
"""

SWAPPED = """
void smooth(int n, const double *old, double *own) {
  for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)
    own[i * n + j] = old[(i - 1) * n + j] + old[(i + 1) * n + j] + old[i * n + j - 1] + old[i * n + j + 1];
}
void square(int n, const double *a, double *y) {
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
    double sum = 0;
    for (int k = 0; k < n; k++) sum += a[i * n + k] * a[k * n + j];
    y[i * n + j] = sum;
  }
}
int main(void) {
  int n = 8;
  double *x = malloc(8 * n * n), *new = malloc(8 * n * n), *this = malloc(8 * n * n);
  for (int i = 0; i < n * n; i++) { x[i] = i; new[i] = i; }
  for (int t = 0; t < 3; t++) { smooth(n, x, new); double *other = x; x = new; new = other; }
  square(n, x, this);
  printf("%g\\n", this[20]);
}
"""


@pytest.fixture(scope="module")
def graph() -> TaskGraph:
    return tasks_of(STEPS, "5")


def test_document_is_read_back_and_fits_its_schema(graph: TaskGraph, tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(tasks_json(graph))
    assert load_tasks(path) == graph
    jsonschema.validate(json.loads(path.read_text()), json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"commanalyzer.tasks/1"', '"commanalyzer.tasks/2"'),
        ('"neighborhood(1)"', '"diagonal"'),
        ('"mode": "read"', '"mode": "guess"'),
        ('"edges"', '"arcs"'),
        ('"source": 0', '"source": 99'),
        ("{", ""),
    ],
)
def test_documents_of_others_are_refused(graph: TaskGraph, tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(tasks_json(graph).replace(old, new, 1))
    with pytest.raises(ConfigError, match=r"expected a task graph of schema commanalyzer.tasks/1"):
        load_tasks(path)


def test_a_missing_document_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected a task graph of .*, found: No such file"):
        load_tasks(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        ("abc", [Group(0, 1, 1), Group(1, 1, 1), Group(2, 1, 1)]),
        ("xababab", [Group(0, 1, 1), Group(1, 2, 3)]),
        ("aaaa", [Group(0, 1, 4)]),
        ("abaab", [Group(0, 1, 1), Group(1, 1, 1), Group(2, 1, 2), Group(4, 1, 1)]),
        ("", []),
    ],
)
def test_repetitions_are_folded(names: str, groups: list[Group]) -> None:
    assert list(groups_of(tuple(names))) == groups


def test_folding_keeps_bytes(graph: TaskGraph) -> None:
    folded = fold(graph)
    assert [task.repeats for task in folded.tasks] == [1, 5, 5, 1]
    assert sum(e.bytes for e in folded.edges) == sum(e.bytes for e in graph.edges)
    for k in range(len(graph.nodes)):
        assert sum(e.moved_bytes[k] for e in folded.edges) == sum(e.moved_bytes[k] for e in graph.edges)


def test_graphml_holds_every_task_and_edge(graph: TaskGraph) -> None:
    found = nx.read_graphml(io.BytesIO(graphml_text(graph).encode()), node_type=int, force_multigraph=True)
    assert [found.nodes[n]["name"] for n in sorted(found)] == [task.name for task in graph.tasks]
    assert sorted(d["moved_bytes_4"] for _, _, d in found.edges(data=True)) == sorted(
        e.moved_bytes[1] for e in graph.edges
    )


def test_dot_shows_steps_once(graph: TaskGraph) -> None:
    text = dot_text(graph)
    assert text.count("->") == len(fold(graph).edges)
    assert 'label="x5"' in text and text.count('"smooth"') == 1


def test_declarations_name_mappers_modes_and_offsets(graph: TaskGraph) -> None:
    text = celerity_text(graph.kernels)
    assert (
        "celerity::accessor a_acc(a_buf, cgh, celerity::access::neighborhood(1), celerity::read_only);"
        in text
    )
    assert (
        "b_acc(b_buf, cgh, celerity::access::one_to_one{}, celerity::write_only, celerity::no_init);" in text
    )
    assert "celerity::range<1>(16), celerity::id<1>(1)" in text


@pytest.mark.parametrize("text", [STEPS, SWEEPS, GATHER, MATRICES, SWAPPED])
def test_declarations_compile(text: str, tmp_path: Path) -> None:
    graph = tasks_of(text, *(["5"] if text is STEPS else []))
    written = celerity_text(graph.kernels, graph.tasks)
    buffers = re.findall(r"^// (\w+): (celerity::buffer<)T(, \d>)", written, re.MULTILINE)
    declared = "".join(f"{kind}double{dimensions} {name};\n" for name, kind, dimensions in buffers)
    body = f"{declared}void port(celerity::queue queue) {{\n{written}}}\n"
    (tmp_path / "port.cpp").write_text(f'#include "{Path(__file__).with_name("celerity.hpp")}"\n{body}')
    command = (*bundled_toolchain().cc, "-x", "c++", "-std=c++20", "-c")
    done = run(*command, "-o", tmp_path / "port.o", tmp_path / "port.cpp")
    assert done.status == 0, done.stderr
    assert len(buffers) == len({a.buffer for task in graph.tasks if task.range for a in task.accesses})


def test_identifiers_are_different_and_none_is_reserved(graph: TaskGraph) -> None:
    names = ("s.u", "memory (t.cpp:4)", "memory (t.cpp:4)#2", "m%u", "a__b", "u_2")
    first = graph.kernels[0]
    accesses = tuple(replace(first.accesses[0], buffer=name) for name in names)
    described = celerity_text([replace(first, accesses=accesses)]).partition("\n\n")[0].splitlines()
    found = {line.rpartition(": ")[2]: line.split()[1].rstrip(":") for line in described}
    assert [found[name] for name in names] == [
        *("u_buf", "memory_buf", "memory_2_buf", "u_2_buf", "a_b_buf", "u_2_2_buf"),
    ]


def test_repeated_launches_declare_all_their_buffers() -> None:
    graph = tasks_of(SWAPPED)
    text = celerity_text(graph.kernels, graph.tasks)
    first, second = (part for part in text.split("\n\n") if part.startswith("// smooth"))
    assert ", 2 of 3 launches" in first and ", 1 of 3 launches" in second
    for part, source, target in ((first, "x", "new"), (second, "new", "x")):
        reads, writes = re.findall(r"accessor \w+\((\w+)_buf, .*celerity::(\w+)_only", part)
        assert (reads, writes) == ((source, "read"), (target, "write"))
    assert "slice<2>(1)" in text and "slice<2>(0)" in text
    assert "// x_acc: one-to-one of 64 elements in a row, the buffer has 2 dimensions" in text


def test_declarations_say_what_a_port_must_not_forget() -> None:
    assert "no parallel_for until the loop is changed" in celerity_text(tasks_of(SWEEPS).kernels)
    assert "add celerity::reduction" in celerity_text(tasks_of(SWEEPS).kernels)
    assert "// x_acc: irregular, the elements depend on data; all is safe" in celerity_text(
        tasks_of(GATHER).kernels
    )


def test_columns_of_a_line_of_items_are_a_function_of_the_chunk() -> None:
    text = celerity_text(tasks_of(MATRICES).kernels)
    assert "// a_acc: slice(0), for a range of another dimension" in text
    assert "celerity::subrange<2> { return {{0, chunk.offset[0]}, {6, chunk.range[0]}}; }" in text


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_pictures_are_written(graph: TaskGraph, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"tasks.{suffix}"
    save_tasks(graph, path)
    assert path.stat().st_size > 1000
    assert sum(tasks_chart(graph).numbers()["flow (bytes)"]) == sum(e.bytes for e in graph.edges)  # type: ignore[arg-type]


def test_report_has_a_chapter_of_tasks(graph: TaskGraph) -> None:
    page = make_page([NamedResult("sample", sample_result())], further=FurtherChapters(tasks=graph))
    text = render_page(page)
    assert "Task graph" in text and "neighborhood(1)" in text and "smooth x5" in text


def test_command_shows_tables_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "steps.c"
    source.write_text(HEAD + STEPS)
    assert main(["tasks", str(source), "--nodes", "2", "--", "2"]) == 0
    shown = capsys.readouterr().out
    assert "neighborhood(1)" in shown and "moved on 2 nodes" in shown
    assert main(["tasks", str(source), "--region", "absent"]) == 1
    assert "absent" in capsys.readouterr().err
    source.write_text(HEAD + 'int main(void) { puts("nothing"); }')
    assert main(["tasks", str(source)]) == 1
    assert "expected a loop whose iterations could be work items" in capsys.readouterr().err
