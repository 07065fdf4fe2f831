"""What calibration found, by broker, and as it is put into a federation file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Performance
from ropewalk.federation.saving import write_text
from ropewalk.pipeline.calibrate.fit import COSTS, Fit

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 4
"""Significant digits that are written: no calibration is better."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """One broker's costs; `performance` is None where its figures do not tell, see `fit.notes`."""

    broker: str
    fit: Fit

    @property
    def performance(self) -> Performance | None:
        """The costs as the federation file has them."""
        return _performance(self.fit.costs)

    @property
    def low(self) -> Performance | None:
        """The lower ends of 95 % intervals, each of its own."""
        return _performance(self.fit.low)

    @property
    def high(self) -> Performance | None:
        """The upper ends."""
        return _performance(self.fit.high)

    def capacity_msgs_s(
        self, *, filters: float | None = None, replication: float | None = None
    ) -> float | None:
        """Messages a second that it keeps up with; by default at what was seen on average."""
        if self.performance is None:
            return None
        return self.performance.capacity_msgs_s(
            filters=self.fit.filters if filters is None else filters,
            replication=self.fit.replication if replication is None else replication,
        )

    def row(self) -> dict[str, Any]:
        """A record, as `--json` prints it."""
        capacity = self.capacity_msgs_s()
        service = self.fit.service_us
        return {
            "broker": self.broker,
            "windows": self.fit.windows,
            "unusable": self.fit.unusable,
            "outliers": self.fit.outliers,
            "capacity": _rounded(self.performance),
            "low": _rounded(self.low),
            "high": _rounded(self.high),
            "filters": _digits(self.fit.filters),
            "replication": _digits(self.fit.replication),
            "service_us": None if service is None else [_digits(one) for one in service],
            "capacity_msgs_s": None if capacity is None else round(capacity, 1),
            "unseparated": list(self.fit.unseparated),
            "notes": list(self.fit.notes),
        }


@dataclass(frozen=True, slots=True)
class Calibrations:
    """All brokers' costs, by name."""

    brokers: Sequence[Calibration]

    def __getitem__(self, broker: str) -> Calibration:
        for one in self.brokers:
            if one.broker == broker:
                return one
        raise UsageError(f"there is no broker {broker!r} among those calibrated")

    @property
    def summary(self) -> dict[str, Any]:
        """All of it, as `--json` prints it."""
        told = [one for one in self.brokers if one.performance is not None]
        return {
            "brokers": len(self.brokers),
            "calibrated": len(told),
            "in_part": sum(bool(one.fit.unseparated) for one in told),
            "windows": sum(one.fit.windows for one in self.brokers),
            "outliers": sum(one.fit.outliers for one in self.brokers),
            "results": [one.row() for one in self.brokers],
        }

    def frame(self) -> "pd.DataFrame":
        """A row per broker."""
        import pandas as pd

        return pd.json_normalize([one.row() for one in self.brokers], max_level=1)

    def capacities(self) -> dict[str, Any]:
        """What a federation file takes; brokers without a result are left out."""
        told = {one.broker: _rounded(one.performance) for one in self.brokers if one.performance}
        return {"brokers": {name: {"capacity": costs} for name, costs in told.items()}}


def write_capacities(found: Calibrations, path: str | Path) -> None:
    """Write the part of a federation file that holds capacities: FILE.yaml or FILE.json.

    What could not be told stands in comments of the YAML. Raises UsageError for other names.
    """
    import yaml

    path = Path(path)
    if path.suffix == ".json":
        write_text(path, json.dumps(found.capacities(), indent=1, ensure_ascii=False) + "\n")
    elif path.suffix in (".yaml", ".yml"):
        notes = (f"# {one.broker}: {note}\n" for one in found.brokers for note in one.fit.notes)
        text = yaml.safe_dump(
            found.capacities(),
            default_flow_style=None,
            sort_keys=False,
            allow_unicode=True,
            width=1000,
        )
        write_text(path, "".join(notes) + text)
    else:
        raise UsageError(f"{path}: write to FILE.yaml or FILE.json")


def read_capacities(path: str | Path) -> dict[str, Performance]:
    """Costs of brokers by name, from a file as `write_capacities` makes it.

    Raises UsageError for what cannot be read; the message names the broker and the cost.
    """
    import yaml

    path = Path(path)
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise UsageError(f"{path}: no YAML that can be read: calibrate again") from None
    brokers = found.get("brokers") if isinstance(found, dict) else None
    if not isinstance(brokers, dict):
        raise UsageError(f"{path}: holds no capacities: `ropewalk pipeline calibrate` writes them")
    return {str(name): _read_costs(path, name, one) for name, one in brokers.items()}


def _read_costs(path: Path, name: object, one: object) -> Performance:
    costs = one.get("capacity") if isinstance(one, dict) else None
    if not isinstance(costs, dict) or set(costs) != set(COSTS):
        raise UsageError(f"{path}: broker {name}: `capacity` needs {', '.join(COSTS)}")
    for cost, value in costs.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value < float("inf"):
            raise UsageError(
                f"{path}: broker {name}: {cost} is {value!r}: write a number, 0 or more"
            )
    return Performance(**{cost: float(value) for cost, value in costs.items()})


def named(fits: Iterable[tuple[str, Fit]], names: Mapping[int, str] | None) -> Calibrations:
    """Results by broker; ids of a trace by their names where these are given."""
    by_id = {str(number): name for number, name in (names or {}).items()}
    found = [Calibration(by_id.get(broker, broker), one) for broker, one in fits]
    return Calibrations(sorted(found, key=lambda one: one.broker))


def _performance(costs: tuple[float, float, float] | None) -> Performance | None:
    return None if costs is None else Performance(**dict(zip(COSTS, costs, strict=True)))


def _rounded(one: Performance | None) -> dict[str, float] | None:
    return None if one is None else {name: _digits(cost) for name, cost in asdict(one).items()}


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
