"""Kinds of values in the file's fields: names, references, numbers with their ranges, places."""

from typing import Annotated

from pydantic import ConfigDict, Field, WithJsonSchema

from ropewalk.federation.names import NAME_PATTERN

Name = Annotated[str, WithJsonSchema({"type": "string", "pattern": NAME_PATTERN})]
"""A new name; whether it is a good one is a question of sense, not of shape (see sense.py)."""
Reference = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(strict=True, ge=0, le=1)]
Risk = Annotated[float, Field(strict=True, gt=0, lt=1)]
"""A probability that is neither never nor always."""
Part = Annotated[float, Field(strict=True, gt=0, le=1)]
"""A part of a whole."""
Cost = Annotated[int, Field(strict=True, ge=1, le=2**24 - 1)]
Count = Annotated[int, Field(strict=True, ge=0, le=100)]
Many = Annotated[int, Field(strict=True, ge=0, le=10**9)]
Degrees = tuple[
    Annotated[float, Field(strict=True, ge=-90, le=90)],
    Annotated[float, Field(strict=True, ge=-180, le=180)],
]
Plane = tuple[Number, Number]

CLOSED = ConfigDict(extra="forbid", use_attribute_docstrings=True)
"""A field that the record does not have is a fault; the texts below fields describe them."""
