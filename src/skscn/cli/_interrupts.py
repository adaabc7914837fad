"""Ctrl-C: who hears of it, and when."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_interrupt(handler: Callable[..., None]) -> Iterator[None]:
    """Call this at Ctrl-C; only the main thread can say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def later() -> Iterator[None]:
    """Let Ctrl-C wait until the end: extension modules that are imported half turn it into errors of all kinds."""
    pressed: list[bool] = []
    with on_interrupt(lambda *_: pressed.append(True)):
        yield
    if pressed:
        raise KeyboardInterrupt
