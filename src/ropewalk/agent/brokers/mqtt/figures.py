"""A Mosquitto's figures about itself, as it publishes them below `$SYS`."""

from time import monotonic_ns

SYS_TOPICS = {
    "$SYS/broker/publish/messages/received": "messages_in",
    "$SYS/broker/publish/messages/sent": "messages_out",
    "$SYS/broker/bytes/received": "bytes_in",
    "$SYS/broker/bytes/sent": "bytes_out",
    "$SYS/broker/subscriptions/count": "subscriptions",
    "$SYS/broker/store/messages/bytes": "store_bytes",
    "$SYS/broker/heap/current": "memory_bytes",
}
"""Where each figure is, with its name in the contract."""


class Figures:
    """The last value of each figure."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def note(self, topic: str, payload: bytes) -> None:
        """Keep a figure; what is not one is left."""
        name = SYS_TOPICS.get(topic)
        if name is None:
            return
        try:
            self.values[name] = float(payload)
            self.values["read_ns"] = monotonic_ns()
        except ValueError:
            return
