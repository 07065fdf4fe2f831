"""The way to a neighbour's NATS server: words go in there, and nothing else.

Every word has a reply subject. If no agent listens at the neighbour's server, that server says so
at once ("no responders", 503): a dead agent beside a living server closes no connection. So a lane
is open when its first word, an empty one, has found somebody.
"""

from collections.abc import Sequence

from ropewalk.agent.brokers.contract import Access, Hears
from ropewalk.agent.brokers.nats.codec import Message, status_of
from ropewalk.agent.brokers.nats.connection import Connection, RefusedError, connect
from ropewalk.agent.brokers.nats.interest import subject_of
from ropewalk.agent.brokers.retry import Keeper

NO_RESPONDERS = 503
CONNECT_S, AGAIN_S = 0.3, 0.25
NOBODY = "its agent does not listen"


class NatsLane:
    """A connection to a neighbour's server; keeps `contract.Lane`."""

    def __init__(self, access: Access, hears: Hears, *, client: str) -> None:
        self._access, self._hears, self._client = access, hears, client
        back = subject_of("back", client)
        self._subscribe = f"SUB {back} 1\r\n".encode()
        self._publish = f"PUB {subject_of(access.name)} {back} ".encode()
        self._connection: Connection | None = None
        self._silent = False
        """The server says that nobody listens there."""
        self._told = ""
        self.keeper = Keeper(self._open, self._failed, failures=(RefusedError,), most_s=AGAIN_S)
        self.dropped = 0

    def start(self) -> None:
        """Begin to connect."""
        self.keeper.start()

    def send(self, words: Sequence[bytes]) -> None:
        """Put words into the neighbour's server; the core sends again what matters."""
        connection = self._connection
        if connection is None or connection.behind:
            self.dropped += len(words)
            return
        head = self._publish
        for word in words:
            connection.write(b"%b%d\r\n%b\r\n" % (head, len(word), word))

    def abort(self) -> None:
        """Drop the connection with all that it holds, and connect anew."""
        if self._connection is not None:
            self._connection.abort()

    async def close(self) -> None:
        """Disconnect for good."""
        await self.keeper.stop()
        if self._connection is not None:
            await self._connection.close()

    async def _open(self) -> None:
        made = await connect(
            self._access, self._make, name=f"ropewalk {self._client}", limit_s=self._limit_s
        )
        self._silent = False
        made.write(self._subscribe + b"%b0\r\n\r\n" % self._publish)
        await made.ping()
        if self._silent:
            made.abort()
            raise RefusedError(NOBODY)
        self._connection, self._told = made, ""
        self._hears.opened(self._access.name)

    @property
    def _limit_s(self) -> float:
        """TLS takes longer, and a server that shakes hands first is asked twice."""
        return CONNECT_S if self._access.tls is None else 4 * CONNECT_S

    def _make(self) -> Connection:
        def lost(why: str) -> None:
            if self._connection is made:
                self._connection = None
                self._failed(why)
                self.keeper.lost()

        made = Connection(self._read, lost)
        return made

    def _failed(self, why: str) -> None:
        if why != self._told:
            self._told = why
            self._hears.closed(self._access.name, why)

    def _read(self, messages: list[Message], lines: list[bytes]) -> None:
        del lines
        if any(status_of(headers) == NO_RESPONDERS for _, _, _, headers, _ in messages):
            self._silent = True
            if self._connection is not None:
                self._connection.fail(NOBODY)
