"""Work in a process of its own: one long step of a library cannot outlive what it may take."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")

OUT_OF_TIME = "out of time"


class Child:
    """A process that sends what a function yields, one after the other, then None.

    What it raises is sent as well, and raised by who receives it.
    """

    def __init__(self, working: Callable[[], Iterator[Any]]) -> None:
        context = multiprocessing.get_context("fork")
        self.here, there = context.Pipe(duplex=False)

        def run() -> None:
            self.here.close()
            try:
                for one in working():
                    there.send(one)
                there.send(None)
            except Exception as error:  # it is raised again by who waits for it
                there.send(error)

        self._process = context.Process(target=run, daemon=True)
        self._process.start()
        there.close()

    def received(self) -> Any:
        """What came next; raises EOFError if the process broke down."""
        found = self.here.recv()
        if isinstance(found, Exception):
            raise found
        return found

    def broke_down(self) -> str:
        """How the process ended by itself."""
        self._process.join()
        return f"the checker broke down (exit {self._process.exitcode})"

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self.here.close()


@contextmanager
def children(working: Sequence[Callable[[], Iterator[Any]]]) -> Iterator[list[Child]]:
    """Processes that do not outlive the block."""
    started = list[Child]()
    try:
        for one in working:
            started.append(Child(one))
        yield started
    finally:
        for child in started:
            child.end()


def first_of(
    working: Sequence[Callable[[], T]],
    until: float,
    *,
    settles: Callable[[T], bool] = lambda _: True,
) -> T | str:
    """What one of some functions returns first, run beside each other; or why none does.

    What settles nothing is returned only if nothing else comes; what one raises is raised then.
    """

    def once(one: Callable[[], T]) -> Callable[[], Iterator[T]]:
        return lambda: iter((one(),))

    why, raised, unsettled = list[str](), list[Exception](), list[T]()
    with children([once(one) for one in working]) as started:
        left: dict[Any, Child] = {child.here: child for child in started}
        while left:
            ready = wait(list(left), timeout=max(until - monotonic(), 0))
            if not ready:
                return unsettled[0] if unsettled else OUT_OF_TIME
            for here in ready:
                child = left.pop(here)
                try:
                    found: T = child.received()
                except EOFError:
                    why.append(child.broke_down())
                    continue
                except Exception as error:
                    raised.append(error)
                    continue
                if settles(found):
                    return found
                unsettled.append(found)
    if raised:
        raise raised[0]
    return unsettled[0] if unsettled else "; ".join(why)
