"""A federation from whatever describes it: its own file or folder, or brokers' own files."""

from os import PathLike
from pathlib import Path

from ropewalk.federation.facts import Federation
from ropewalk.federation.loading import MAX_YAML_MB, load


def opened(path: str | PathLike[str], *, max_mb: float = MAX_YAML_MB) -> Federation:
    """What a path describes; raises FederationError or ConfigurationError with every fault."""
    from ropewalk.federation.readers.reading import is_native, read_native

    if is_native(Path(path)):
        return read_native([Path(path)]).federation
    return load(Path(path), max_mb=max_mb)
