"""Waits: held requests one after the other, exact over cuts and restarts."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from . import api
from ._explain import explanation_lines
from ._match import Match, SplitMatch, describe, meets, split_match
from ._message import Message
from ._transport import Transport, pause_before, path_of
from .errors import ApiError, ConnectionFailedError, Seconds, WaitTimeoutError

MAX_HOLD = 25
"""Seconds. Proxies cut requests that are held longer: several in a row wait for the rest."""
GRACE = 5.0
"""Seconds for the way there and back of a held request, and for the last look after the deadline."""
READ = 30.0
"""Seconds to read a large message."""
DAY = 86_400.0
"""Seconds of a whole wait, the most that the API takes."""
CLOSE = 0.05
"""A hold that ends this close to the deadline is not worth another request."""


@dataclass(frozen=True)
class WaitFor:
    inbox_id: str
    name: str
    """For people: the address where it is known, else the id."""
    console_url: str
    labels: dict[str, str]
    count: int
    match: Match
    timeout: Seconds
    since: str | None
    last: Message | None
    """The message that the wait before returned, where this one begins after it."""


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
        asked = {**body, "timeoutSeconds": seconds}
        # Servers that name failed waits also know this field: they explain the whole wait, not its last request.
        if last and "waitId" in last:
            asked["waitedSeconds"] = min(time.monotonic() - begun, DAY)
        try:
            result: dict[str, Any] = transport.request(
                "POST", path, body=asked, timeout=seconds + GRACE, retries=0
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
        is_stopping = result.get("explanation", {}).get("reason") == "server_stopping"
        # By what was asked for, not by the clock: tests that freeze time still get their answer.
        end = end if is_stopping else min(end, time.monotonic() + left - seconds)
        if result["matched"] or (not is_stopping and left - seconds < CLOSE):
            return result, True
        last = result
        failures = failures + 1 if is_stopping else 0
        if is_stopping:
            time.sleep(min(0.1 * 2**failures, 1.0))


def _in_full(transport: Transport, fields: dict[str, Any]) -> Message:
    """A message of the result of a wait; it is read on its own where it was too large for that."""
    if fields.get("truncated"):
        path = path_of("v1", "inboxes", fields["inboxId"], "messages", fields["id"])
        fields = transport.request("GET", path, timeout=READ)
    return Message.of(transport, fields)


def wait_for_messages(transport: Transport, wanted: WaitFor) -> list[Message]:
    """The messages, oldest first. Raises WaitTimeoutError."""
    split = split_match(wanted.match)
    end = time.monotonic() + wanted.timeout
    found: list[Message] = []
    rejected: list[api.SeenMessage] = []
    position = wanted.since
    while True:
        # A condition that is checked here needs one message at a time, each after the one before.
        body: dict[str, Any] = {"match": split.on_server, "count": 1 if split.local else wanted.count}
        if position is not None:
            body["since"] = position
        result, is_final = hold(transport, wanted.inbox_id, body, end)
        for fields in result["messages"]:
            message = _in_full(transport, fields)
            failed = split.failures(message)
            if failed:
                rejected.insert(0, api.SeenMessage(message, failed))
            else:
                found.append(message)
        if len(found) >= wanted.count:
            return found
        if not result["matched"]:
            explanation = _explained(api.WaitExplanation.from_json(result["explanation"]), rejected)
            wait_id = result.get("waitId")
            text = _text(wanted, split, explanation, len(found), is_final, wait_id)
            raise WaitTimeoutError(
                text, wanted.inbox_id, wanted.timeout, explanation, is_final, wait_id
            )
        position = result["cursor"]


def _explained(explanation: api.WaitExplanation, rejected: list[api.SeenMessage]) -> api.WaitExplanation:
    """Together with the messages that only failed conditions that are checked here."""
    if not rejected:
        return explanation
    conditions = dict.fromkeys(failed.condition for one in rejected for failed in one.failed)
    noun = "A message" if len(rejected) == 1 else f"{len(rejected)} messages"
    return replace(
        explanation,
        summary=f"{noun} arrived, but did not meet what the client checks itself: {', '.join(conditions)}.",
        seen_count=explanation.seen_count + len(rejected),
        seen=rejected + explanation.seen,
    )


def _text(
    wanted: WaitFor,
    split: SplitMatch,
    explanation: api.WaitExplanation,
    found: int,
    is_final: bool,
    wait_id: str | None,
) -> str:
    """One sentence that says why, what was waited for, and the explanation as a table."""
    noun = "a mail" if wanted.count == 1 else f"{wanted.count} mails"
    came = f", and {found} came" if found else ""
    lines = [
        f"Waited {round(wanted.timeout, 1):g} s for {noun}{describe(wanted.match)} to {wanted.name}{came}.",
        *([_since_line(wanted)] if wanted.since else []),
        *explanation_lines(explanation),
    ]
    if not is_final:
        lines.append("The server could not be reached at the end: this is what it said before.")
    lines.append(f"Look: {wanted.console_url}/why{_query(wanted, split, wait_id)}")
    return explanation.summary + "".join(f"\n  {line}" for line in lines)


def _since_line(wanted: WaitFor) -> str:
    """Where the wait began: a message that matches and came before is a common surprise."""
    last = wanted.last
    if last and meets(last, wanted.match):
        # Two waits for the code and the link of one mail: the second begins behind it.
        return (
            f"{json.dumps(last.subject) if last.subject else 'A message without a subject'} matches, but the wait before returned it. Take both from one mail: "
            "mail = inbox.wait_for_message(…), then mail.code() and mail.link()."
        )
    position = "the message that the wait before returned" if last else wanted.since
    return f'It began after {position}: pass since="start" to include what came before.'


def _query(wanted: WaitFor, split: SplitMatch, wait_id: str | None) -> str:
    """The wait as parameters of the console, with its id and without what only the client checks.

    A label finds what is kept of the inbox when it has ended.
    """
    query: dict[str, str] = {"wait": wait_id} if wait_id else {}
    for name, value in split.on_server.items():
        # A link has conditions of its own: link.kind=reset.
        is_link = isinstance(value, dict)
        parts = {f"{name}.{part}": one for part, one in value.items()} if is_link else {name: value}
        for key, one in parts.items():
            query[key] = one if isinstance(one, str) else json.dumps(one)
    if wanted.since is not None:
        query["since"] = wanted.since
    if wanted.count != 1:
        query["count"] = str(wanted.count)
    for name in sorted(wanted.labels, key=lambda label: label != "run")[:1]:
        query[f"label.{name}"] = wanted.labels[name]
    return f"?{urlencode(query)}" if query else ""
