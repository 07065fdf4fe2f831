"""Parameters that RabbitMQ refuses whole for one key (`rabbit_parameter_validation:proplist`).

So an upstream with `max_hops` for `max-hops` is not there at all.
"""

from difflib import get_close_matches
from typing import Any

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label

NUMBERS = {
    *("max-hops", "prefetch-count", "src-prefetch-count", "reconnect-delay", "expires"),
    "message-ttl",
}
FLAGS = {
    *("trust-user-id", "bind-nowait", "src-predeclared", "dest-predeclared"),
    *("add-forward-headers", "dest-add-forward-headers"),
    *("add-timestamp-header", "dest-add-timestamp-header"),
}
_VARIABLE = ("$", "{{", "<%")


def refused(value: View, known: str, what: str, drafts: Drafts) -> bool:
    """Tell why RabbitMQ refuses a parameter, by the keys that it knows; whether it does."""
    whys = {key: _why(key, one, known.split()) for key, one in value.value.items()}
    found = {key: why for key, why in whys.items() if why}
    for key, why in found.items():
        if _is_variable(value.value[key]) and key in NUMBERS | FLAGS:
            drafts.fault(value.place(key), "C006", f"a variable stands for {key}: fill it in")
        else:
            drafts.warn(value.place(key), "C020", f"RabbitMQ refuses {what}: {why}")
    return bool(found)


def _why(key: str, value: Any, known: list[str]) -> str:
    if key not in known:
        near = get_close_matches(key.lower().replace("_", "-"), known, 1)
        return f"it does not know {label(key)}: {f'write {near[0]}' if near else 'remove it'}"
    if value is None:
        return f"{key} is null: write a value, or remove it"
    if key in NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"{key} is no number: write a number, without quotes"
    if key in FLAGS and not isinstance(value, bool):
        return f"{key} is neither true nor false: write one of them, without quotes"
    return ""


def _is_variable(value: Any) -> bool:
    return isinstance(value, str) and any(one in value for one in _VARIABLE)
