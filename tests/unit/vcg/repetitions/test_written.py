"""The table in which rows are looked up while they are written."""

from __future__ import annotations

import numpy as np

from commanalyzer.vcg.repetitions.written import Draft, empty_table
from commanalyzer.vcg.repetitions.written_kernels import first_place, write_head


def test_rows_are_one_if_all_of_their_hash_is_the_same() -> None:
    """Also where the part of it that the table has, and where that is looked for, are the same."""
    one, other = (1 << 40) + 1, (1 << 40) + (1 << 20) + 1
    rows = [one, other, 2, other, one, 0, -1, 0, -1]
    none, listed = np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
    columns = (none, none, np.zeros(0, np.int32), np.zeros((0, 4), np.int64), none, listed)
    draft, table = Draft.of(columns, len(rows), 0, 0, 0), empty_table(len(rows))
    for name, hash_ in enumerate(rows):
        at = first_place(table, hash_, name, 1, draft.kept, draft.out, draft.ends)
        if at == draft.ends[0]:
            write_head(hash_, 7, (hash_, 1), name, draft.out, draft.ends)
    written = draft.written()
    heads, cells, *_ = written.columns
    assert heads.tolist() == [[hash_, 7] for hash_ in dict.fromkeys(rows)]
    assert cells.tolist() == [[hash_, rows.count(hash_)] for hash_ in dict.fromkeys(rows)]
    assert written.names.tolist() == [0, 1, 2, 5, 6]
    assert written.kept.tolist() == [0, 1, 2, 1, 0, 5, 6, 5, 6]
