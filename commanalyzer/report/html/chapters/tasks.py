"""Chapter of a task graph: the picture, kernels with their range mappers, and what is moved."""

from __future__ import annotations

from commanalyzer.foundation.quantities import format_bytes, format_count
from commanalyzer.kernels.tasks.graph import TaskGraph
from commanalyzer.report.html.blocks import Chapter, Column, Figures, Row, Section, Table, Words
from commanalyzer.report.kernels.task_files import tasks_chart
from commanalyzer.report.kernels.tasks_text import range_text


def tasks_chapter(graph: TaskGraph) -> Chapter:
    """Picture, kernels and flows of a task graph."""
    words = Words(
        (
            f"{len(graph.tasks)} executions of {len(graph.kernels)} kernels in the order of the program. On"
            f" average {graph.parallelism():.2f} of them could run at once; the critical path is marked.",
        )
    )
    sections = (
        Section("tasks-graph", "Task graph", (words, Figures((tasks_chart(graph),)))),
        Section("tasks-kernels", "Kernels and range mappers", (_kernels(graph),)),
        Section("tasks-flows", "Bytes between tasks", (_moved(graph),)),
    )
    return Chapter("tasks", "Tasks", "What flows between the kernels of one run", sections)


def _kernels(graph: TaskGraph) -> Table:
    columns = (
        Column("kernel", is_number=False),
        Column("work items", is_number=False, meaning="extents of the range, of the first execution"),
        Column("access", is_number=False),
        Column("buffer", is_number=False),
        Column("range mapper", is_number=False, meaning="which elements a block of work items accesses"),
        Column("index", is_number=False, meaning="per dimension of the buffer; * for all"),
    )
    rows = [
        Row((kernel.name, range_text(kernel), a.mode, a.buffer, str(a.mapper), ", ".join(a.index)))
        for kernel in graph.kernels
        for a in kernel.accesses
    ]
    return Table("Accessors of each kernel", columns, tuple(rows))


def _moved(graph: TaskGraph) -> Table:
    columns = (
        Column("nodes"),
        Column("bytes moved", meaning="between nodes that execute blocks of each task's work items"),
        Column("flows", meaning="pairs of tasks and a buffer between which values are moved"),
    )
    rows = [
        Row(
            (
                str(p),
                format_bytes(moved),
                format_count(sum(1 for edge in graph.edges if edge.moved_bytes[k])),
            )
        )
        for k, (p, moved) in enumerate(zip(graph.nodes, graph.moved_bytes(), strict=True))
    ]
    return Table("All tasks together", columns, tuple(rows))
