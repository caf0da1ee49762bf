"""Columns of the table of a sweep: one line per (point, nodes, model), for the best decomposition.

In front of them stand the program parameters, by their own names. An empty cell of a number is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from commanalyzer.machine.roofline.traffic import SUMMARY

Kind = Literal["integer", "number", "text"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, type and meaning.

    Attributes:
        name: With its unit, where it has one.
        kind: ``integer`` is int64, ``number`` float64 (NaN where not known), ``text`` a string.
        meaning: One sentence.
    """

    name: str
    kind: Kind
    meaning: str


# What the bounds on a machine need of a division besides bytes and messages.
_MEANINGS = {
    "node_bytes": "The more of sent and received bytes of the busiest node",
    "node_messages": "The more of sent and received messages of that node",
    "node_rounds": "Rounds of that node that wait for each other",
    "mean_rounds": "Such rounds of the mean node",
    "handled_messages": "Most messages that a node sends and receives",
    "collective_rounds": "Rounds of collectives that wait for each other",
    "collective_partners": "Most partners in a collective",
    "collective_bytes": "Bytes of one round of collectives at one node",
}
_DIVISIONS = (("", "the best decomposition"), ("regular_", "what a programmer would write"))
COLUMNS = (
    Column("nodes", "integer", "Node count p."),
    Column("model", "text", "Communication model."),
    Column("method", "text", "What made the best decomposition."),
    Column("comm_bytes", "integer", "Bytes C sent between nodes in the whole analysed run."),
    Column("messages", "integer", "Messages if all values of a pair of nodes and a round travel together."),
    Column("intensity", "number", "I_c = C / W, bytes per operation of W."),
    Column("work_flops", "integer", "Work W: floating-point operations, and others by their weights."),
    Column("vcg_words", "integer", "Size of the value graph in the paper's unit (Table 2)."),
    Column("footprint_bytes", "number", "Memory that the analysed part reads or writes, each place once."),
    Column("vertices", "integer", "Values (homes) of the value graph."),
    Column("flows", "integer", "Sources of all distinct value-flow chains."),
    Column("imbalance", "number", "Work of the most loaded node over the mean."),
    Column("comm_bytes_low", "integer", "Lower end of the bytes where collapsed versions leave doubt."),
    Column("comm_bytes_high", "integer", "Upper end of these bytes."),
    Column("efficiency_bound", "number", "Best parallel efficiency, paper Eq. 4, where a machine is given."),
    Column("lower_bound_bytes", "number", "Provable minimum of the bytes, where one is known."),
    Column("regular_method", "text", "What a programmer would write: plain blocks, or one array by a table."),
    Column("regular_bytes", "number", "Bytes of that division."),
    Column("regular_messages", "number", "Messages of that division."),
    Column("regular_intensity", "number", "Its I_c."),
    Column("regular_imbalance", "number", "Its imbalance."),
    Column("regular_efficiency_bound", "number", "Its best parallel efficiency, where a machine is given."),
    *(
        Column(f"{which}{name}", "number", f"{_MEANINGS[name]} of {division}.")
        for which, division in _DIVISIONS
        for name in SUMMARY
    ),
    Column("native_s", "number", "CPU time of the plain program."),
    Column("record_s", "number", "CPU time of the recorded runs of the program."),
    Column("compile_s", "number", "CPU time of compiling and instrumenting; less when cached."),
    Column("graph_s", "number", "CPU time of building the value graph from the trace."),
    Column("partition_s", "number", "CPU time of finding all candidate decompositions of these nodes."),
    Column("count_s", "number", "CPU time of counting these candidates."),
    Column("peak_rss_bytes", "number", "Largest resident memory of a recorded run of the program."),
    Column("tool_rss_bytes", "integer", "Largest resident memory of the analysis around it."),
    Column("graph_bytes", "integer", "Memory of the value graph."),
    Column("result", "text", "File of the whole result, relative to the directory of the sweep."),
)
NAMES = tuple(column.name for column in COLUMNS)
FIRST = NAMES[0]
# What one recording has for all node counts alike; the rest of the numbers depends on nodes and model too.
PER_POINT = frozenset(
    [
        *("work_flops", "vcg_words", "footprint_bytes", "vertices", "flows", "native_s", "record_s"),
        *("compile_s", "graph_s", "peak_rss_bytes", "tool_rss_bytes", "graph_bytes"),
    ]
)
# Names that a program parameter cannot have: columns, and what laws and Extra-P call the node count.
RESERVED = frozenset(NAMES) | {"p"}
