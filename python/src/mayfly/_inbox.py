"""An inbox. Each wait begins after the message that the last wait of the object returned."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from ._match import Match, describe
from ._message import Attachment, Message, MessageSummary, Text, time_of
from ._stream import follow
from ._transport import Transport, path_of, path_within
from ._wait import wait_for_messages
from .errors import ApiError, MayflyError, UnexpectedMessageError, WaitTimeoutError

DEFAULT_WAIT = 30.0
PAGE = 200

R = TypeVar("R")
if TYPE_CHECKING:
    # Known to type checkers; Python before 3.11 has not all of them in `typing`.
    from typing_extensions import ParamSpec, Unpack

    P = ParamSpec("P")


def _points_at_caller(function: Callable[P, R]) -> Callable[P, R]:
    """Errors are raised here again, so that pytest shows the line of the test and not of this library."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except MayflyError as error:
            failure = error.with_traceback(None)
        raise failure from None

    return wrapped


def _since(value: str | datetime, last: str | None) -> str | None:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat()
    return {"last": last, "start": None}.get(value, value)


class Inbox:
    """Made by Mayfly.create_inbox() and Mayfly.inbox(). Usable by one thread at a time, or several waits at once."""

    def __init__(self, transport: Transport, data: dict[str, Any]) -> None:
        self._transport = transport
        self._data = data
        self._last: str | None = None
        self.id: str = data["id"]
        self.token: str | None = data.get("token")

    @property
    def data(self) -> dict[str, Any]:
        """What the API last said about the inbox, as JSON."""
        if "address" not in self._data:
            self.refresh()
        return self._data

    @property
    def address(self) -> str:
        return str(self.data["address"])

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.data["labels"])

    @property
    def expires_at(self) -> datetime:
        return time_of(self.data["expiresAt"])

    @property
    def console_url(self) -> str:
        return f"{self._transport.settings.url}/console/inboxes/{self.id}"

    def __repr__(self) -> str:
        return f"<Inbox {self._data.get('address', self.id)}>"

    def __enter__(self) -> Inbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.delete()

    def refresh(self) -> None:
        """Fetches the metadata."""
        self._data = {**self._data, **self._call("GET")}

    @_points_at_caller
    def wait_for_messages(
        self,
        count: int,
        *,
        timeout: float = DEFAULT_WAIT,
        since: str | datetime = "last",
        **match: Unpack[Match],
    ) -> list[Message]:
        """As many messages as asked for (1 to 50), oldest first. Raises WaitTimeoutError."""
        return self._wait(count, match, timeout, since)

    @_points_at_caller
    def wait_for_message(
        self, *, timeout: float = DEFAULT_WAIT, since: str | datetime = "last", **match: Unpack[Match]
    ) -> Message:
        """The first message that matches, in full. Raises WaitTimeoutError with the explanation.

        since: "last" is after the last message that a wait of this object returned, "start" the beginning of
        the inbox; or a cursor, a message id or a datetime.
        """
        return self._wait(1, match, timeout, since)[0]

    @_points_at_caller
    def wait_for_code(
        self,
        *,
        pattern: str | re.Pattern[str] | None = None,
        timeout: float = DEFAULT_WAIT,
        since: str | datetime = "last",
        **match: Unpack[Match],
    ) -> str:
        """The one-time code of the first message that matches and has one.

        pattern: for formats of your own; its first group is the code.
        """
        if pattern is None:
            return self._wait(1, {**match, "code": True}, timeout, since)[0].code()
        compiled = re.compile(pattern)
        wanted = cast(Match, {**match, "pattern": compiled})
        return self._wait(1, wanted, timeout, since)[0].code(compiled)

    @_points_at_caller
    def wait_for_link(
        self,
        *,
        href: Text | None = None,
        text: Text | None = None,
        kind: str | None = None,
        timeout: float = DEFAULT_WAIT,
        since: str | datetime = "last",
        subject: Text | None = None,
        from_: Text | None = None,
        to: Text | None = None,
    ) -> str:
        """The target of the one link that fits, of the first message that has one. It is not followed."""
        wanted = {"href": href, "text": text, "kind": kind}
        link = {name: value for name, value in wanted.items() if value is not None}
        match: Match = {"link": link or True}
        if subject is not None:
            match["subject"] = subject
        if from_ is not None:
            match["from_"] = from_
        if to is not None:
            match["to"] = to
        return self._wait(1, match, timeout, since)[0].link(href, text, kind)

    @_points_at_caller
    def assert_silence(
        self, *, seconds: float = 2.0, since: str | datetime = "last", **match: Unpack[Match]
    ) -> None:
        """Returns when no message matched for so long. Raises UnexpectedMessageError at once if one does."""
        try:
            message = self._wait(1, match, seconds, since)[0]
        except WaitTimeoutError as error:
            if error.is_final:
                return
            raise
        sender = message.sender.address if message.sender else "no sender"
        raise UnexpectedMessageError(
            f"A mail{describe(match)} reached {self.address} within {seconds:g} s, and none was expected: "
            f"{json.dumps(message.subject)} from {sender} at {message.fields['receivedAt']}.",
            message,
        )

    def messages(self, since: str | datetime = "start") -> list[MessageSummary]:
        """All messages as lists show them, newest first."""
        found: list[MessageSummary] = []
        before: str | None = None
        while True:
            query = {"limit": PAGE, "since": _since(since, self._last), "before": before}
            page = self._call("GET", "messages", query=query)
            found += [MessageSummary.from_json(fields) for fields in page["messages"]]
            if not page["hasMore"]:
                return found
            before = found[-1].id

    def follow(self, since: str | datetime = "start") -> Iterator[MessageSummary]:
        """Messages as they arrive, once each, over cuts and restarts, without an end."""
        path = path_of("v1", "inboxes", self.id, "events")
        for event in follow(self._transport, path, _since(since, self._last)):
            yield MessageSummary.from_json(event["message"])

    def read(self, message_id: str) -> Message:
        return Message.from_json(self._call("GET", "messages", message_id), self)

    def raw(self, message_id: str) -> bytes:
        """The raw source, byte for byte."""
        return bytes(self._call("GET", "messages", message_id, "raw", as_bytes=True))

    def attachment(self, attachment: Attachment) -> bytes:
        """The decoded bytes."""
        content = self._transport.request("GET", path_within(attachment.url), as_bytes=True)
        return bytes(content or b"")

    def preview(self, message_id: str) -> str:
        """A link to the message as a browser shows it, valid for some minutes."""
        answer = self._call("POST", "messages", message_id, "preview", body={})
        url = str(answer["url"])
        own = self._transport.settings.url
        # A server that does not know its public URL knows neither the scheme nor the folder that a proxy has for it.
        return own + path_within(url) if urlsplit(url).netloc == urlsplit(own).netloc else url

    def timeline(self, message_id: str) -> list[dict[str, Any]]:
        """When what happened to a message, from its Date header to each webhook attempt."""
        events: list[dict[str, Any]] = self._call("GET", "messages", message_id, "timeline")["events"]
        return events

    def lint(self, message_id: str) -> list[dict[str, Any]]:
        """What is wrong with a message, the most severe first."""
        findings: list[dict[str, Any]] = self._call("GET", "messages", message_id, "lint")["findings"]
        return findings

    def failed_wait(self, wait_id: str) -> dict[str, Any]:
        """What a failed wait has explained, within 24 hours; the report of a run has the "waitId" of each."""
        wait: dict[str, Any] = self._call("GET", "waits", wait_id)
        return wait

    def mark(
        self, message_id: str, *, read: bool | None = None, tags: list[str] | None = None
    ) -> MessageSummary:
        """Marks a message as read or unread, or replaces its tags. Needs an API key."""
        marks = {"read": read, "tags": tags}
        body = {name: value for name, value in marks.items() if value is not None}
        return MessageSummary.from_json(self._call("PATCH", "messages", message_id, body=body))

    def set_faults(self, *rules: dict[str, Any]) -> list[dict[str, Any]]:
        """Lets mail to the inbox fail. Senders meet the rules in their order, each "times" times, then normal
        service: set_faults({"at": "rcpt", "reply": {"code": 451, "text": "4.7.1 later"}, "times": 2}).
        Replaces the rules before. Needs an API key.
        """
        answer = self._call("PUT", "faults", body={"rules": list(rules)})
        set_rules: list[dict[str, Any]] = answer["rules"]
        return set_rules

    def faults(self) -> list[dict[str, Any]]:
        """The fault rules, with how often each still applies ("left"). Needs an API key."""
        rules: list[dict[str, Any]] = self._call("GET", "faults")["rules"]
        return rules

    def clear_faults(self) -> None:
        """Removes the fault rules. Needs an API key."""
        self._call("DELETE", "faults")

    def inject(
        self, source: bytes, *, mail_from: str | None = None, rcpt_to: str | None = None
    ) -> Message:
        """Puts a message into the inbox without SMTP: its raw source. Needs an API key."""
        query = {"mailFrom": mail_from, "rcptTo": rcpt_to}
        return Message.from_json(self._call("POST", "messages", query=query, body=source), self)

    def export(self) -> bytes:
        """The inbox with all its messages as a recording, for Mayfly.import_inbox()."""
        return bytes(self._call("GET", "export", as_bytes=True))

    def delete_message(self, message_id: str) -> None:
        """Needs an API key."""
        self._call("DELETE", "messages", message_id)

    def delete_messages(self) -> None:
        """Empties the inbox. Needs an API key."""
        self._call("DELETE", "messages")

    def expire(self) -> None:
        """Ends the lifetime now, as a test of what happens then. Needs an API key."""
        self._call("POST", "expire")

    def extend(self, ttl_minutes: int) -> None:
        """Lets it live so many minutes from now. Needs an API key."""
        self._data = {**self._data, **self._call("PATCH", body={"ttlMinutes": ttl_minutes})}

    def delete(self) -> None:
        """Deletes it with all its messages; returns also when it is gone already. Needs an API key."""
        try:
            self._call("DELETE")
        except ApiError as error:
            if error.status not in (404, 410):
                raise

    def _wait(
        self, count: int, match: Match, timeout: float, since: str | datetime
    ) -> list[Message]:
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout >= 0:
            raise TypeError(f"A time to wait is a number of seconds, not {timeout!r}.")
        # Missing where only the id is known; 0 for the sink, which never expires.
        lifetime = 60 * (self._data.get("ttlMinutes") or math.inf)
        if timeout > lifetime:
            raise ValueError(
                f"The inbox lives for {lifetime} seconds, which is less than a timeout of {timeout!r}. "
                "Times are in seconds, not in milliseconds."
            )
        fields = wait_for_messages(
            self._transport,
            self.id,
            str(self._data.get("address", self.id)),
            f"{self.console_url}/why",
            self._data.get("labels", {}),
            count,
            match,
            timeout,
            _since(since, self._last),
        )
        messages = [Message.from_json(one, self) for one in fields]
        # Ids sort by arrival.
        self._last = max([message.id for message in messages] + ([self._last] if self._last else []))
        return messages

    def _call(self, method: str, *path: str, **options: Any) -> Any:
        return self._transport.request(method, path_of("v1", "inboxes", self.id, *path), **options)
