"""The explanation of a wait as lines of a table."""

from __future__ import annotations

import json
from typing import Any

MAX_ROWS = 10
SUBJECT_WIDTH = 40


def clock(time: str) -> str:
    """12:03:07"""
    return time[11:19]


def _quoted(text: str) -> str:
    cut = text if len(text) <= SUBJECT_WIDTH else text[: SUBJECT_WIDTH - 1] + "…"
    return json.dumps(cut, ensure_ascii=False)


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _seen_rows(seen: list[dict[str, Any]]) -> list[str]:
    rows = []
    for one in seen[:MAX_ROWS]:
        message = one["message"]
        words = [f"{f['condition']} is {_quoted(f['got'])}" for f in one["failed"]]
        if not any(f["condition"] == "subject" for f in one["failed"]):
            words.insert(0, _quoted(message["subject"]))
        sender = (message["from"] or {}).get("address", "no sender")
        rows.append((clock(message["receivedAt"]), ", ".join(words), sender))
    width = max((len(why) for _, why, _ in rows), default=0)
    return [f"  {time}  {why:<{width}}  from {sender}" for time, why, sender in rows]


def _near_miss(near: dict[str, Any]) -> str:
    at = clock(near["at"])
    if near["outcome"] == "refused":
        times = plural(near["times"], "time")
        return f"Near miss: {near['address']} was refused {times} ({at}): no inbox has that address."
    taker = near["inboxId"] or "another inbox or the sink"
    return f"Near miss: {near['address']} got {plural(near['times'], 'mail')} ({at}): {taker} took it."


def _other_mail(other: dict[str, Any]) -> str:
    at = clock(other["at"])
    if other["reason"] == "refused":
        return f"Other mail: {other['address']} was refused ({at}): no inbox has that address."
    matches = " and meets all conditions" if other["reason"] == "meets-conditions" else ""
    return f"Other mail: {at}  for {other['address']} is in {other['inboxId']}{matches}."


def _refusal(one: dict[str, Any]) -> str:
    """The reply, or what a fault rule did."""
    fault = one.get("fault")
    if not fault:
        return str(one["reply"]) or "connection ended in the middle of the message"
    deeds = [
        one["reply"],
        "connection closed" if fault["disconnect"] else "",
        f"delayed by {fault['delayMs']} ms" if fault["delayMs"] else "",
    ]
    return f"fault rule {fault['rule']} at {fault['at']}: {', '.join(filter(None, deeds))}"


def explanation_lines(explanation: dict[str, Any]) -> list[str]:
    """Times are UTC."""
    count = explanation["seenCount"]
    head = "No other mail came." if count == 0 else f"{plural(count, 'other mail')} came (times in UTC):"
    return [
        head,
        *_seen_rows(explanation["seen"]),
        *(
            f"Refused: {clock(one['at'])}  {_refusal(one)}  from {one['mailFrom'] or '<>'}"
            for one in explanation["refused"][:MAX_ROWS]
        ),
        *(_near_miss(near) for near in explanation["nearMisses"][:MAX_ROWS]),
        *(_other_mail(other) for other in explanation.get("otherMail", [])),
        *(
            f"TLS failed: {clock(one['at'])}  {one['reason']}  from {one['remoteAddress']}"
            for one in explanation["failedHandshakes"][:MAX_ROWS]
        ),
    ]
