"""Waits: held requests one after the other, exact over cuts and restarts."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import urlencode

from ._explain import explanation_lines
from ._match import Match, describe, split_match
from ._message import Message
from ._transport import Transport, pause_before, path_of
from .errors import ApiError, ConnectionFailedError, MayflyError, WaitTimeoutError

MAX_HOLD = 25
"""Seconds. Proxies cut requests that are held longer: several in a row wait for the rest."""
GRACE = 5.0
"""Seconds for the way there and back of a held request, and for the last look after the deadline."""
DAY = 86_400.0
"""Seconds of a whole wait, the most that the API takes."""
HINT = 1.0
"""Seconds for the question whether a message came too early."""
READ = 30.0
"""Seconds to read a large message."""
CLOSE = 0.05
"""A hold that ends this close to the deadline is not worth another request."""


def hold(
    transport: Transport, inbox_id: str, body: dict[str, Any], end: float
) -> tuple[dict[str, Any], bool]:
    """The last result, and whether it is of the end: False when the server could not be reached then."""
    path = path_of("v1", "inboxes", inbox_id, "wait")
    begun = time.monotonic()
    last: dict[str, Any] | None = None
    failures = 0
    while True:
        left = max(0.0, end - time.monotonic())
        seconds = round(min(MAX_HOLD, left), 3)
        # Servers that name failed waits also know this field: they explain the whole wait, not its last request.
        waited = (
            {"waitedSeconds": min(time.monotonic() - begun, DAY)} if last and "waitId" in last else {}
        )
        try:
            result: dict[str, Any] = transport.request(
                "POST",
                path,
                body={**body, "timeoutSeconds": seconds, **waited},
                timeout=seconds + GRACE,
                retries=0,
            )
        except (ApiError, ConnectionFailedError) as error:
            transport.close()
            failures += 1
            pause = pause_before(error, failures)
            if pause is None or (pause > left and left > GRACE):
                raise
            if left == 0:
                if last is None:
                    raise
                return last, False
            time.sleep(max(0.0, min(pause, end - time.monotonic())))
            continue
        if result.get("truncated"):
            result["messages"] = _in_full(transport, inbox_id, result["messages"])
        is_stopping = result.get("explanation", {}).get("reason") == "server_stopping"
        # By what was asked for, not by the clock: tests that freeze time still get their answer.
        end = end if is_stopping else min(end, time.monotonic() + left - seconds)
        if result["matched"] or (not is_stopping and left - seconds < CLOSE):
            return result, True
        last = result
        failures = failures + 1 if is_stopping else 0
        if is_stopping:
            time.sleep(min(0.1 * 2**failures, 1.0))


def _in_full(
    transport: Transport, inbox_id: str, messages: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The same messages, with those that were too large for the result of a wait."""
    return [
        transport.request(
            "GET", path_of("v1", "inboxes", inbox_id, "messages", one["id"]), timeout=READ
        )
        if one.get("truncated")
        else one
        for one in messages
    ]


def wait_for_messages(
    transport: Transport,
    inbox_id: str,
    name: str,
    url: str,
    labels: dict[str, str],
    count: int,
    match: Match,
    timeout: float,
    since: str | None,
) -> list[dict[str, Any]]:
    """The messages as the API's JSON, oldest first. Raises WaitTimeoutError."""
    split = split_match(match)
    end = time.monotonic() + timeout
    found: list[dict[str, Any]] = []
    rejected: list[dict[str, Any]] = []
    position = since
    while True:
        # A condition that is checked here needs one message at a time, each after the one before.
        body: dict[str, Any] = {"match": split.on_server, "count": 1 if split.checks else count}
        if position is not None:
            body["since"] = position
        result, is_final = hold(transport, inbox_id, body, end)
        if result["matched"] and not split.checks:
            return list(result["messages"])
        if result["matched"]:
            for fields in result["messages"]:
                failed = split.failures(Message.from_json(fields))
                if failed:
                    rejected.insert(0, {"message": fields, "failed": failed})
                else:
                    found.append(fields)
            position = result["cursor"]
            if len(found) == count:
                return found
            continue
        explanation = dict(result["explanation"])
        explanation["seenCount"] += len(rejected)
        explanation["seen"] = rejected + explanation["seen"]
        found += result["messages"]
        lines = explanation_lines(explanation) + _earlier(transport, inbox_id, match, since)
        if not is_final:
            lines.append("The server could not be reached at the end: this is what it said before.")
        lines.append(f"Look: {url}{_query(split.on_server, count, since, labels, result.get('waitId'))}")
        noun = "No mail" if count == 1 else f"Only {len(found)} of {count} mails"
        head = f"{noun}{describe(match)} reached {name} in {round(timeout, 1):g} s."
        text = head + "".join(f"\n  {line}" for line in lines)
        raise WaitTimeoutError(text, inbox_id, timeout, explanation, is_final)


def _query(
    match: dict[str, Any],
    count: int,
    since: str | None,
    labels: dict[str, str],
    wait_id: str | None,
) -> str:
    """The wait as parameters of the console, without what only the client checks.

    A label finds what is kept of the inbox when it has ended. Old servers store no explanations.
    """
    query: dict[str, str] = {}
    for name, value in match.items():
        # A link has conditions of its own: link.kind=reset.
        is_link = isinstance(value, dict)
        parts = {f"{name}.{part}": one for part, one in value.items()} if is_link else {name: value}
        for key, wanted in parts.items():
            query[key] = wanted if isinstance(wanted, str) else json.dumps(wanted)
    if since is not None:
        query["since"] = since
    if count != 1:
        query["count"] = str(count)
    for name in sorted(labels, key=lambda label: label != "run")[:1]:
        query[f"label.{name}"] = labels[name]
    if wait_id is not None:
        query["wait"] = wait_id
    return f"?{urlencode(query)}" if query else ""


def _earlier(transport: Transport, inbox_id: str, match: Match, since: str | None) -> list[str]:
    """A message that matches, but came before the one that the inbox returned last, is a common surprise."""
    if since is None:
        return []
    split = split_match(match)
    body = {"match": split.on_server, "timeoutSeconds": 0}
    try:
        path = path_of("v1", "inboxes", inbox_id, "wait")
        result = transport.request("POST", path, body=body, timeout=HINT, retries=0)
    except MayflyError:
        return []
    # A time was read from the clock of this machine, which may be wrong.
    for fields in result["messages"][:1]:
        position = (
            "the position at which this wait began"
            if since.startswith(("cur_", "msg_"))
            else f"{since}, at which this wait began: by the clock of the server it came at {fields['receivedAt']}"
        )
        if not split.failures(Message.from_json(fields)):
            return [
                f"{json.dumps(fields['subject'])} matches, but came before {position}: "
                'pass since="start" to include it.'
            ]
    return []
