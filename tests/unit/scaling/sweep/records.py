from pathlib import Path

from commanalyzer.request import AnalysisRequest
from commanalyzer.scaling.sweep.points import Point, PointSpec
from commanalyzer.scaling.sweep.store import PointRecord
from commanalyzer.scaling.sweep.table import COLUMNS, Cell


def spec(index: int, n: int, directory: Path) -> PointSpec:
    """Point n at a place of a sweep."""
    point = Point((("n", str(n)),))
    return PointSpec(index, point, AnalysisRequest((Path("a.c"),), (str(n),)), f"{n:04d}-0", directory)


def line(n: Cell, nodes: Cell, **more: Cell) -> dict[str, Cell]:
    """A line of a table: 7 for every integer, 0.5 for every number."""
    fillers: dict[str, Cell] = {"integer": 7, "number": 0.5, "text": "x"}
    cells = {column.name: fillers[column.kind] for column in COLUMNS}
    return {"n": n, **cells, "nodes": nodes, "model": "volume", **more}


def record(n: int, *, graph_bytes: int = 1000, memory_bytes: int = 10**6, wall_s: float = 1.0) -> PointRecord:
    """Finished point n."""
    lines = (line(str(n), 1, graph_bytes=graph_bytes),)
    return PointRecord(f"{n:04d}-0", {"n": str(n)}, lines=lines, wall_s=wall_s, memory_bytes=memory_bytes)
