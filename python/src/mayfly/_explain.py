"""The explanation of a wait as lines of a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from . import api

MAX_ROWS = 10
SUBJECT_WIDTH = 40


def clock(time: datetime) -> str:
    """12:03:07"""
    return time.strftime("%H:%M:%S")


def _quoted(text: str) -> str:
    cut = text if len(text) <= SUBJECT_WIDTH else text[: SUBJECT_WIDTH - 1] + "…"
    return json.dumps(cut, ensure_ascii=False)


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def mail_lines(messages: Sequence[api.MessageSummary]) -> str:
    """Messages as lines of a table, times in UTC."""
    rows = []
    for mail in messages[-MAX_ROWS:]:
        sender = mail.from_.address if mail.from_ else "no sender"
        code = f"  code {mail.codes[0].value}" if mail.codes else ""
        rows.append(f"  {clock(mail.received_at)}  {_quoted(mail.subject)}  from {sender}{code}")
    return "\n".join(rows)


def repeats(mail: api.Message, before: Sequence[api.Message]) -> str:
    """A sentence about a message that is the same as one before; "" where it is another one."""
    if mail.rfc_message_id is not None and any(one.rfc_message_id == mail.rfc_message_id for one in before):
        return (
            " The last one has the Message-ID of one before: "
            "it was delivered twice, such as by a retry of the sender."
        )
    said = (mail.subject, mail.text, mail.html_text)
    if any((one.subject, one.text, one.html_text) == said for one in before):
        return " The last one says the same as one before, with another Message-ID: the application sent it twice."
    return ""


def _seen_rows(seen: list[api.SeenMessage]) -> list[str]:
    rows = []
    for one in seen[:MAX_ROWS]:
        words = [f"{failed.condition} is {_quoted(failed.got)}" for failed in one.failed]
        if not any(failed.condition == "subject" for failed in one.failed):
            words.insert(0, _quoted(one.message.subject))
        sender = one.message.from_.address if one.message.from_ else "no sender"
        rows.append((clock(one.message.received_at), ", ".join(words), sender))
    width = max((len(why) for _, why, _ in rows), default=0)
    return [f"  {time}  {why:<{width}}  from {sender}" for time, why, sender in rows]


def _near_miss(near: api.NearMiss) -> str:
    at = clock(near.at)
    if near.outcome == "refused":
        times = plural(near.times, "time")
        return f"Near miss: {near.address} was refused {times} ({at}): no inbox had that address."
    taker = near.inbox_id or "another inbox or the sink"
    return f"Near miss: {near.address} got {plural(near.times, 'mail')} ({at}): {taker} took it."


def _other_mail(other: api.OtherMail) -> str:
    at = clock(other.at)
    if other.reason == "refused":
        return f"Other mail: {other.address} was refused ({at}): no inbox had that address."
    matches = " and meets all conditions" if other.reason == "meets-conditions" else ""
    return f"Other mail: {at}  for {other.address} is in {other.inbox_id}{matches}."


def _refusal(one: api.RefusedMail) -> str:
    """The reply, or what a fault rule did."""
    fault = one.fault
    if not fault:
        return one.reply or "connection ended in the middle of the message"
    deeds = [
        one.reply,
        "connection closed" if fault.disconnect else "",
        f"delayed by {fault.delay_ms} ms" if fault.delay_ms else "",
    ]
    return f"fault rule {fault.rule} at {fault.at}: {', '.join(filter(None, deeds))}"


def explanation_lines(explanation: api.WaitExplanation) -> list[str]:
    """Times are UTC."""
    count = explanation.seen_count
    return [
        *([f"{plural(count, 'other mail')} came (times in UTC):"] if count else []),
        *_seen_rows(explanation.seen),
        *(
            f"Refused: {clock(one.at)}  {_refusal(one)}  from {one.mail_from or '<>'}"
            for one in explanation.refused[:MAX_ROWS]
        ),
        *(_near_miss(near) for near in explanation.near_misses[:MAX_ROWS]),
        *(_other_mail(other) for other in explanation.other_mail or []),
        *(
            f"TLS failed: {clock(one.at)}  {one.reason}  from {one.remote_address}"
            for one in explanation.failed_handshakes[:MAX_ROWS]
        ),
    ]
