"""Conditions of messages, split into what the server checks and what is left."""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

from . import api
from ._json import camel
from ._message import Message, Text, is_in


class Match(TypedDict, total=False):
    """All conditions must be met. A string must be contained, and case is ignored."""

    subject: Text
    from_: Text
    to: Text
    rcpt_to: str
    text: Text
    has_attachments: bool
    code: bool
    link: bool | dict[str, Any]
    where: Callable[[Message], bool]


# "pattern" is of wait_for_code: a code of a format of one's own.
KNOWN = {*Match.__annotations__, "pattern"}


def _people(people: list[api.MailAddress]) -> str:
    return ", ".join(f"{person.name} <{person.address}>" for person in people)


def _field(message: Message, name: str) -> str:
    if name == "subject":
        return message.subject
    if name == "from_":
        return _people([message.from_] if message.from_ else [])
    if name == "to":
        return _people(message.to + message.cc)
    if name == "rcpt_to":
        return ", ".join(message.envelope.rcpt_to)
    return message.text or message.html_text or ""


def _is_met(where: Callable[[Message], Any], message: Message) -> bool:
    met = where(message)
    if inspect.isawaitable(met):
        if inspect.iscoroutine(met):
            met.close()
        # It would always be met.
        raise TypeError('The function "where" returned a coroutine. It must return True or False at once.')
    return bool(met)


def _got(name: str, wanted: Any, message: Message) -> str | None:
    """What a message has instead of what a condition demands; None where it meets the condition."""
    if name == "where":
        is_met, got = _is_met(wanted, message), "false"
    elif name == "pattern":
        is_met, got = message.find(wanted) is not None, f"no code like /{wanted.pattern}/"
    elif name == "code":
        is_met, got = bool(message.codes) == wanted, message.codes[0].value if message.codes else "no code"
    elif name == "has_attachments":
        is_met, got = message.has_attachments == wanted, str(message.has_attachments).lower()
    elif name == "link":
        links = message.links_like(**(wanted if isinstance(wanted, dict) else {}))
        got = " ".join(link.href for link in message.links) or "no link"
        is_met = bool(links) == (wanted is not False)
    else:
        got = _field(message, name)
        is_met = is_in(got, wanted)
    return None if is_met else got


def _is_local(name: str, value: Any) -> bool:
    """Whether a condition, or a part of it, is an expression or a function: the server knows neither."""
    parts = value.values() if isinstance(value, dict) else [value]
    return name == "where" or any(isinstance(part, re.Pattern) for part in parts)


def _shown(value: Any) -> str:
    return f"/{value.pattern}/" if isinstance(value, re.Pattern) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class SplitMatch:
    on_server: dict[str, Any]
    local: dict[str, Any]

    def failures(self, message: Message) -> list[api.FailedCondition]:
        """The local conditions that a message failed, as the server tells them."""
        failed = []
        for name, wanted in self.local.items():
            got = _got(name, wanted, message)
            if got is not None:
                condition: Any = "code" if name == "pattern" else camel(name)
                failed.append(api.FailedCondition(condition, str(wanted), got))
        return failed


def _given(match: Match) -> dict[str, Any]:
    conditions: dict[str, Any] = {**match}
    return {name: value for name, value in conditions.items() if value is not None}


def meets(message: Message, match: Match) -> bool:
    """Whether a message meets all conditions. The server also ignores kinds of spaces and quotation marks."""
    return all(_got(name, value, message) is None for name, value in _given(match).items())


def _unknown(name: str) -> str:
    known = sorted([*KNOWN, "timeout", "since"])
    similar = difflib.get_close_matches(re.sub("([A-Z])", r"_\1", name).lower(), known, 1)
    meant = f' Did you mean "{similar[0]}"?' if similar else ""
    return f'"{name}" is not an argument of a wait.{meant} Arguments are: {", ".join(known)}.'


def split_match(match: Match) -> SplitMatch:
    on_server: dict[str, Any] = {}
    local: dict[str, Any] = {}
    for name, value in _given(match).items():
        if name not in KNOWN:
            raise TypeError(_unknown(name))
        if not _is_local(name, value):
            on_server[camel(name)] = value
            continue
        local[name] = value
        # The server can at least leave out mails without any link.
        if name == "link":
            on_server["link"] = True
    return SplitMatch(on_server, local)


def describe(match: Match) -> str:
    """A match in words, such as ` with subject "reset" and a code`."""
    words = []
    for name, value in _given(match).items():
        if isinstance(value, bool):
            words.append(f"{'a' if value else 'no'} {'attachment' if name == 'has_attachments' else name}")
        elif name == "where":
            words.append('the given "where"')
        elif name == "pattern":
            words.append(f"a code like {_shown(value)}")
        elif isinstance(value, dict):
            words += [f"{name} {part} {_shown(wanted)}" for part, wanted in value.items()]
        else:
            words.append(f"{camel(name)} {_shown(value)}")
    return f" with {' and '.join(words)}" if words else ""
