"""A plan in the console: what it says before and after, in charts that know no zero."""

from pathlib import Path
from typing import Any

import pytest

from ropewalk.errors import UsageError
from ropewalk.federation import Federation, load
from ropewalk.web.plans import (
    AFTER,
    FLOOR,
    MOST_BROKERS,
    Broker,
    Moved,
    concerned,
    load_options,
    plan_in,
    risk_options,
    shown,
)

EXAMPLES = Path(__file__).parents[2] / "examples" / "placement"


@pytest.fixture(scope="module")
def trading() -> Federation:
    return load(EXAMPLES / "federation.yaml")


def standing(risk: Any, load: Any = 0.4) -> dict[str, Any]:
    return {"items": 2, "risk": risk, "load": load, "limit": 0.8}


def plan(**others: Any) -> dict[str, Any]:
    return {
        "brokers": {
            "lon-1": {"today": standing(0.099, 0.6), "after": standing("4e-05")},
            "lon-2": {"after": standing(0)},
        },
        "outcome": {"least_margin": {"today": 1.2, "after": 4.1}, "proven_best": "true"},
        "items": {"orders/fx": "lon-2"},
        "moves": [
            {"item": "orders/fx", "from": "lon-1", "to": "lon-2", "risk_less": -0.02,
             "least_margin": "2.9", "on_the_way": "true"},
        ],
        **others,
    }  # fmt: skip


def test_a_plan_is_told_before_and_after_with_reasons(trading: Federation) -> None:
    told = shown(plan(), trading)
    assert told.words[0] == (
        "Highest risk of an overload: 9.9 % (lon-1) today, 0.004 % (lon-1) after."
    )
    assert told.brokers[0] == Broker("lon-1", (2, 2), (0.099, 4e-05), (0.6 / 0.8, 0.5))
    assert told.brokers[1].risk == (None, 0.0)
    [move] = told.moves
    assert move.reason == (
        "the two brokers' risk: 2 % more; least margin then 2.9;"
        " put aside for now, so that nobody is worse off"
    )
    assert told.notes == ()


def test_what_the_federation_does_not_have_is_told(trading: Federation) -> None:
    strange = plan(items={"orders/fx": "lon-2", "<b>": "lon-1"})
    assert shown(strange, trading).notes == ("not in this federation: <b>",)
    broken = plan(broken=[{"rule": "limit", "reason": "lon-1 is above its limit"}])
    assert "A rule is broken: lon-1 is above its limit" in shown(broken, trading).words


def test_a_move_concerns_both_brokers_and_the_items_clients(trading: Federation) -> None:
    assert concerned(trading, Moved("prices/equity/paris", "lon-1", "slo-2", "")) == {
        "lon-1": "before",
        "slo-2": "after",
        "lon-2": "witness",
        "slo-1": "witness",
    }
    grouped = concerned(trading, Moved("energy", "slo-1", "lon-2", ""))
    assert sorted(name for name, look in grouped.items() if look == "witness") == ["lon-1", "slo-2"]
    assert concerned(trading, Moved("unknown", "lon-2", "slo-2", "")) == {
        "lon-2": "before",
        "slo-2": "after",
    }


def test_zero_has_a_place_on_a_scale_of_powers_and_unknown_has_no_bar(trading: Federation) -> None:
    options = risk_options(shown(plan(), trading).brokers)
    assert options["yAxis"]["data"] == ["lon-2", "lon-1"]  # from below
    today, after = options["series"]
    assert (today["data"], after["data"]) == ([None, 0.099], [FLOOR, 4e-05])
    assert after["itemStyle"]["color"] == AFTER
    assert load_options(shown(plan(), trading).brokers)["series"][0]["data"] == [None, 75.0]


def test_of_many_brokers_those_with_the_highest_risk_are_drawn(trading: Federation) -> None:
    many = {f"b{i}": {"after": standing(i / 100)} for i in range(60)}
    options = risk_options(shown(plan(brokers=many), trading).brokers)
    assert options["yAxis"]["data"][-1] == "b59"
    assert len(options["series"][1]["data"]) == MOST_BROKERS


@pytest.mark.parametrize("text", ["", "plan: 7", "plan: [", "plan: ropewalk plan 1\nitems: {a: b}"])
def test_what_is_no_plan_is_refused(tmp_path: Path, trading: Federation, text: str) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"plan\.yaml"):
        plan_in(file, trading)
