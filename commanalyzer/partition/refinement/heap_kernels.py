"""A compiled queue of vertices, the largest key first: a binary heap in which keys can be changed.

Arrays::

    heap[i]   vertices; keys of heap[2 i + 1] and heap[2 i + 2] are at most that of heap[i]
    at[v]     place of vertex v in the heap, -1 if it is not there
    key[v]    its key
"""

from __future__ import annotations

from typing import Any

from commanalyzer.foundation.compiled import compiled_inline


@compiled_inline
def _swap(heap: Any, at: Any, i: Any, j: Any) -> None:
    heap[i], heap[j] = heap[j], heap[i]
    at[heap[i]] = i
    at[heap[j]] = j


@compiled_inline
def _sift_up(heap: Any, at: Any, key: Any, i: Any) -> None:
    while i > 0:
        parent = (i - 1) // 2
        if key[heap[parent]] >= key[heap[i]]:
            return
        _swap(heap, at, i, parent)
        i = parent


@compiled_inline
def _sift_down(heap: Any, at: Any, key: Any, size: Any, i: Any) -> None:
    while True:
        child = 2 * i + 1
        if child >= size:
            return
        if child + 1 < size and key[heap[child + 1]] > key[heap[child]]:
            child += 1
        if key[heap[i]] >= key[heap[child]]:
            return
        _swap(heap, at, i, child)
        i = child


@compiled_inline
def put(heap: Any, at: Any, key: Any, size: Any, v: Any, gain: Any) -> Any:
    """Insert ``v`` or change its key; return the new size."""
    if at[v] < 0:
        heap[size] = v
        at[v] = size
        key[v] = gain
        _sift_up(heap, at, key, size)
        return size + 1
    old = key[v]
    key[v] = gain
    if gain > old:
        _sift_up(heap, at, key, at[v])
    else:
        _sift_down(heap, at, key, size, at[v])
    return size


@compiled_inline
def take(heap: Any, at: Any, key: Any, size: Any) -> Any:
    """Remove and return the vertex with the largest key."""
    v = heap[0]
    _swap(heap, at, 0, size - 1)
    at[v] = -1
    _sift_down(heap, at, key, size - 1, 0)
    return v
