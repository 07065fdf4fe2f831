"""Where a protocol's messenger sits on a topic: it stamps what leaves and judges what comes."""

from typing import Any, Protocol

from ropewalk.overlay.words import Letter


class Messenger(Protocol):
    """Monitors one topic's conversation at one agent (Hallé & Villemaire)."""

    def stamp(self, payload: bytes, producer: str) -> tuple[Any, str | None]:
        """What a publication carries; or why it must not be published."""

    def arrived(self, letter: Letter) -> list[Letter]:
        """What may be delivered now that this letter is here, in order; the rest it keeps."""
