"""Ctrl-C, and other signals that ask a program to end: what happens then."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

# What systemd, a shutdown or a closed terminal send; Windows has no SIGHUP.
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def on_interrupt(handler: Callable[..., Any], number: int = signal.SIGINT) -> Iterator[None]:
    """Call a function at Ctrl-C or another signal; only the main thread can do that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextmanager
def later() -> Iterator[None]:
    """Let Ctrl-C wait until the end: extension modules that are imported half turn it into errors of all kinds."""
    pressed: list[bool] = []
    with on_interrupt(lambda *_: pressed.append(True)):
        yield
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def _on_all(handler: Callable[..., Any]) -> Iterator[None]:
    """Call a function at any signal that asks the program to end; those that nohup has made ignored stay so."""
    with ExitStack() as stack:
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                stack.enter_context(on_interrupt(handler, number))
        yield


@contextmanager
def ignore_signals() -> Iterator[None]:
    """Ignore all signals that ask the program to end, which it is about to do."""
    with _on_all(lambda *_: None):
        yield


@contextmanager
def end_at_signals() -> Iterator[None]:
    """End what is inside at Ctrl-C, SIGTERM or SIGHUP, and go on after it."""
    with suppress(KeyboardInterrupt), _on_all(signal.default_int_handler):
        yield
