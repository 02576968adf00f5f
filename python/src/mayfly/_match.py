"""Conditions of messages, split into what the server checks and what is left."""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

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


NAMES = {"from_": "from", "rcpt_to": "rcptTo", "has_attachments": "hasAttachments"}
# "pattern" is of wait_for_code: a code of a format of one's own.
KNOWN = {*Match.__annotations__, "pattern"}


def _field(message: Message, name: str) -> str:
    if name == "subject":
        return message.subject
    if name == "from_":
        people = [message.sender] if message.sender else []
    elif name == "to":
        people = message.to + message.cc
    else:
        return message.text or message.html_text or ""
    return ", ".join(f"{person.name} <{person.address}>" for person in people)


@dataclass(frozen=True)
class SplitMatch:
    on_server: dict[str, Any]
    checks: dict[str, Any]

    def failures(self, message: Message) -> list[dict[str, str]]:
        """The conditions that a message failed, as the server tells them."""
        failed = []
        for name, wanted in self.checks.items():
            if name == "where":
                is_met, expected, got = _is_met(wanted, message), "where", "false"
            elif name == "pattern":
                is_met, expected = message.find(wanted) is not None, wanted.pattern
                name, got = "code", f"no code like /{wanted.pattern}/"
            elif name == "link":
                is_met = bool(message.links_like(**wanted))
                expected = str(wanted)
                got = " ".join(link.href for link in message.links) or "no link"
            else:
                got = _field(message, name)
                is_met, expected = is_in(got, wanted), wanted.pattern
            if not is_met:
                failed.append({"condition": NAMES.get(name, name), "expected": expected, "got": got})
        return failed


def _is_met(where: Callable[[Message], Any], message: Message) -> bool:
    met = where(message)
    if inspect.isawaitable(met):
        if inspect.iscoroutine(met):
            met.close()
        # It would always be met.
        raise TypeError('The function "where" returned a coroutine. It must return True or False at once.')
    return bool(met)


def _unknown(name: str) -> str:
    known = sorted([*KNOWN, "timeout", "since"])
    similar = difflib.get_close_matches(re.sub("([A-Z])", r"_\1", name).lower(), known, 1)
    meant = f' Did you mean "{similar[0]}"?' if similar else ""
    return f'"{name}" is not an argument of a wait.{meant} Arguments are: {", ".join(known)}.'


def split_match(match: Match) -> SplitMatch:
    on_server: dict[str, Any] = {}
    checks: dict[str, Any] = {}
    conditions: dict[str, Any] = {**match}
    for name, value in conditions.items():
        if name not in KNOWN:
            raise TypeError(_unknown(name))
        if value is None:
            continue
        if name == "where" or isinstance(value, re.Pattern):
            checks[name] = value
        elif isinstance(value, dict) and any(isinstance(one, re.Pattern) for one in value.values()):
            on_server["link"] = True
            checks["link"] = value
        else:
            on_server[NAMES.get(name, name)] = value
    return SplitMatch(on_server, checks)


def describe(match: Match) -> str:
    """A match in words, such as ` with subject "reset" and a code`."""
    words = []
    conditions: dict[str, Any] = {**match}
    for name, value in conditions.items():
        shown = NAMES.get(name, name)
        if value is None:
            continue
        if isinstance(value, bool):
            noun = "attachment" if name == "has_attachments" else shown
            words.append(f"{'a' if value else 'no'} {noun}")
        elif name == "where":
            words.append('the given "where"')
        elif name == "pattern":
            words.append(f"a code like /{value.pattern}/")
        else:
            parts = value.items() if isinstance(value, dict) else [("", value)]
            for part, wanted in parts:
                text = (
                    f"/{wanted.pattern}/" if isinstance(wanted, re.Pattern) else json.dumps(wanted)
                )
                words.append(f"{shown} {part} {text}" if part else f"{shown} {text}")
    return f" with {' and '.join(words)}" if words else ""
