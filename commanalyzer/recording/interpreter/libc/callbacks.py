"""Library functions that call functions of the program: sorting and searching."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from typing import Protocol

from commanalyzer.program.ir.constants import signed
from commanalyzer.recording.interpreter.memory import WORD_BYTES, Memory
from commanalyzer.recording.interpreter.values import Value, as_int


class Caller(Protocol):
    """What calling back needs of the machine."""

    memory: Memory

    def run_address(self, address: int, arguments: Sequence[Value]) -> Value:
        """Execute the function at an address of the program."""


def sort(host: Caller, base: int, size: int, element: int, compare: int, context: Sequence[Value]) -> None:
    """Apply ``qsort``: the elements change places and stay the values they are (stable).

    Args:
        host: The machine.
        base: Address of the array.
        size: Bytes of the array.
        element: Bytes of an element.
        compare: Address of the comparison.
        context: Further arguments of the comparison (``qsort_r``).
    """
    if element == 0 or size // element < 2:
        return
    memory = host.memory
    count = size // element
    data = memory.read(base, size)
    homes = [memory.value_at(base + offset) for offset in range(0, size, WORD_BYTES)]

    def order(i: int, j: int) -> int:
        # elements are compared where they lie, before any of them moves
        arguments = [Value(base + i * element), Value(base + j * element), *context]
        return signed(as_int(host.run_address(compare, arguments).data), 32)

    sequence = sorted(range(count), key=cmp_to_key(order))
    memory.write(base, b"".join(data[i * element : (i + 1) * element] for i in sequence))
    memory.own(base, size)
    if (base | element) % WORD_BYTES:
        return  # elements share words: nothing can be followed
    words = element // WORD_BYTES
    for to, source in enumerate(sequence):
        for k in range(words):
            memory.set_value_at(base + to * element + k * WORD_BYTES, homes[source * words + k])


def search(host: Caller, key: Value, base: int, count: int, element: int, compare: int) -> int:
    """Address of the element that ``bsearch`` finds, 0 if there is none."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        address = base + middle * element
        found = signed(as_int(host.run_address(compare, [key, Value(address)]).data), 32)
        if found == 0:
            return address
        low, high = (middle + 1, high) if found > 0 else (low, middle)
    return 0
