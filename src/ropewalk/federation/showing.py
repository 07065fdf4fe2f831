"""A value of the file in a message: short, on one line, and never a secret."""

import re
from typing import Any

MOST = 60
"""A value longer than this is cut."""

_SECRET = re.compile(r"(auth|cred|key|pass|pwd|secret|token|user)\w*['\"]?\s*[=:]", re.IGNORECASE)


def may_hold_secret(text: str) -> bool:
    """Whether a text looks as if it held a user, token or password.

    >>> may_hold_secret("nats://u:pw@host"), may_hold_secret("token=x"), may_hold_secret("auth-gw")
    (True, True, False)
    """
    return "://" in text or ("@" in text and ":" in text) or _SECRET.search(text) is not None


def shown(value: Any) -> str:
    """A value as a message shows it.

    >>> shown("lon-gw"), shown(None), shown([{"password": "x"}]), shown("token=x")
    ("'lon-gw'", 'empty', 'a list', 'a text that is not shown here')
    """
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        return "a list"
    text = repr(value)
    if may_hold_secret(text):
        return "a list that is not shown here" if isinstance(value, list) else _HIDDEN
    return text if len(text) <= MOST else f"{text[: MOST - 3]}..."


_HIDDEN = "a text that is not shown here"


def label(name: str) -> str:
    """A name as a message speaks of it, without quotes; what may be a secret is left out."""
    text = repr(name)[1:-1]
    return "..." if may_hold_secret(text) else text if len(text) <= MOST else f"{text[:MOST]}..."
