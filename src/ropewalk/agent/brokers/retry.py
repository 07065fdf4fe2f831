"""Keeping a connection: open it, wait until it is lost, open it again, until told to stop."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable


class Keeper:
    """Opens something again and again; `lost` is said by whoever notices that it is gone."""

    def __init__(
        self,
        open: Callable[[], Awaitable[None]],
        failed: Callable[[str], None],
        *,
        failures: tuple[type[Exception], ...],
        first_s: float = 0.05,
        most_s: float = 1.0,
    ) -> None:
        self._open, self._failed = open, failed
        self._failures: tuple[type[Exception], ...] = (OSError, *failures)  # TLS and time-outs, too
        self._first_s, self._most_s = first_s, most_s
        self._stop, self._gone = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.opened = 0
        """How often it was opened."""

    def start(self) -> None:
        """Begin to open it."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    def lost(self) -> None:
        """It is gone: open it again."""
        self._gone.set()

    @property
    def stopped(self) -> bool:
        """Whether nobody wants it any more."""
        return self._stop.is_set()

    async def stop(self) -> None:
        """Open it no more."""
        self._stop.set()
        self._gone.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        pause_s = self._first_s
        while not self._stop.is_set():
            self._gone.clear()
            try:
                await self._open()
            except self._failures as error:
                if self._stop.is_set():
                    return
                self._failed(words_of(error))
                await self._rest(pause_s)
                pause_s = min(2 * pause_s, self._most_s)
                continue
            self.opened += 1
            pause_s = self._first_s
            await self._gone.wait()
            await self._rest(pause_s)

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return


def words_of(error: BaseException) -> str:
    """What went wrong with a connection, in a few words.

    >>> words_of(TimeoutError()), words_of(ConnectionRefusedError(111, "Connection refused"))
    ('no answer in time', 'connection refused')
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}; check ca="
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or str(error)).lower().replace('_', ' ')}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
