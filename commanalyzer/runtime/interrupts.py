"""Holds interrupts back for a moment, so that nothing is started that nobody would end."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Interrupts that arrive inside take effect at the end.

    Only signals with a Python handler are held back, and only in the main thread: elsewhere Python delivers
    none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    previous = {n: signal.getsignal(n) for n in _NUMBERS if callable(signal.getsignal(n))}
    for number in previous:
        signal.signal(number, lambda received, _: arrived.append(received))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        for received in arrived:
            signal.raise_signal(received)
