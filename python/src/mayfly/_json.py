"""Typed results out of the API's JSON."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import datetime, timezone
from typing import Any, ClassVar, TypedDict, TypeVar

R = TypeVar("R", bound="Result")
INNER = re.compile(r"(?:list\[)?([A-Za-z]+)")


def time_of(text: str) -> datetime:
    """A time of the API, which ends with Z."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def camel(name: str) -> str:
    """The name of a field in the API: `received_at` as `receivedAt`, `from_` as `from`."""
    return re.sub("_([a-z])", lambda found: found[1].upper(), name).rstrip("_")


class Filters(TypedDict, total=False):
    """Which messages a list shows. A string must be contained, and case is ignored."""

    from_: str
    to: str
    rcpt_to: str
    subject: str
    text: str
    has_attachments: bool


def given(**values: Any) -> dict[str, Any]:
    """The values that are not None, with the names of the API: a body or a query."""
    return {
        camel(name): value.astimezone(timezone.utc).isoformat() if isinstance(value, datetime) else value
        for name, value in values.items()
        if value is not None
    }


class Result:
    """The base of what the API returns: frozen dataclasses with the names of the API in snake case."""

    types: ClassVar[dict[str, type[Result]]] = {}

    def __init_subclass__(cls) -> None:
        # A class with methods of its own has the name of the one that it extends.
        Result.types.setdefault(cls.__name__, cls)

    @classmethod
    def from_json(cls: type[R], data: dict[str, Any]) -> R:
        """Fields that this version does not know are left out."""
        values = {}
        for one in fields(cls):  # type: ignore[arg-type]
            if not one.name.startswith("_"):
                values[one.name] = _value(str(one.type), data.get(camel(one.name)))
        return cls(**values)


def _value(kind: str, value: Any) -> Any:
    """A value of the type that an annotation names."""
    if isinstance(value, list):
        return [_value(kind[len("list[") :], one) for one in value]
    named = INNER.match(kind)
    name = named[1] if named else ""
    if name == "datetime" and isinstance(value, str):
        return time_of(value)
    result = Result.types.get(name)
    return result.from_json(value) if result and isinstance(value, dict) else value
