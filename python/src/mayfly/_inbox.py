"""An inbox. Each wait begins after the message that the last wait of the object returned."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

from . import api
from ._explain import mail_lines, repeats
from ._json import Filters, given
from ._match import Match, describe
from ._message import Message, MessageSummary, Text
from ._stream import follow
from ._transport import Transport, path_of
from ._wait import WaitFor, wait_for_messages
from .errors import ApiError, MayflyError, Seconds, UnexpectedMessageError, WaitTimeoutError

DEFAULT_WAIT = 30.0
"""Seconds."""
DEFAULT_SILENCE = 2.0
MAX_COUNT = 50
"""As many messages as a wait of the server returns."""

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


class Inbox:
    """Made by Mayfly.create_inbox() and Mayfly.inbox(). Usable by one thread at a time, or several waits at once.

    All times are seconds.
    """

    def __init__(self, transport: Transport, data: dict[str, Any]) -> None:
        self._transport = transport
        self._data = data
        self._last: Message | None = None
        self.id: str = data["id"]
        self.token: str | None = data.get("token")

    @property
    def data(self) -> api.Inbox:
        """What the API last said about the inbox."""
        if "address" not in self._data:
            self.refresh()
        return api.Inbox.from_json(self._data)

    @property
    def address(self) -> str:
        return self.data.address

    @property
    def phone_number(self) -> str:
        """The telephone number that takes SMS: "+15125550123". Raises MayflyError for an inbox without one."""
        number = self.data.phone_number
        if number is None:
            raise MayflyError(f"{self.address} has no telephone number: create the inbox with sms=True.")
        return number

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.data.labels)

    @property
    def expires_at(self) -> datetime:
        return self.data.expires_at

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
        timeout: Seconds | None = None,
        since: str | datetime = "last",
        **match: Unpack[Match],
    ) -> list[Message]:
        """As many messages as asked for (1 to 50), oldest first. Raises WaitTimeoutError."""
        return self._wait(count, match, timeout, since)

    @_points_at_caller
    def wait_for_message(
        self, *, timeout: Seconds | None = None, since: str | datetime = "last", **match: Unpack[Match]
    ) -> Message:
        """The first message that matches, in full. Raises WaitTimeoutError with the explanation.

        since: "last" is after the last message that a wait of this object returned, "start" the beginning of
        the inbox; or a cursor, a message id or a datetime. timeout: 30 seconds.
        """
        return self._wait(1, match, timeout, since)[0]

    @_points_at_caller
    def wait_for_code(
        self,
        *,
        pattern: str | re.Pattern[str] | None = None,
        timeout: Seconds | None = None,
        since: str | datetime = "last",
        **match: Unpack[Match],
    ) -> str:
        """The one-time code of the first message that matches and has one.

        For the link of the same mail, take both from wait_for_message(). pattern: for formats of your own; its
        first group is the code.
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
        timeout: Seconds | None = None,
        since: str | datetime = "last",
        subject: Text | None = None,
        from_: Text | None = None,
        to: Text | None = None,
    ) -> str:
        """The target of the one link that fits, of the first message that has one. It is not followed."""
        wanted = {"href": href, "text": text, "kind": kind}
        link = {name: value for name, value in wanted.items() if value is not None}
        conditions = {"link": link or True, "subject": subject, "from_": from_, "to": to}
        return self._wait(1, cast(Match, conditions), timeout, since)[0].link(href, text, kind)

    @_points_at_caller
    def expect_silence(
        self, *, within: Seconds = DEFAULT_SILENCE, since: str | datetime = "last", **match: Unpack[Match]
    ) -> None:
        """Returns when no message matched for so long. Raises UnexpectedMessageError at once if one does."""
        if "timeout" in match:
            raise TypeError('A silence has no "timeout": write within=2.')
        mail = self._first_within(within, match, since)
        if mail is None:
            return
        raise UnexpectedMessageError(
            f"A mail{describe(match)} reached {self.address} within {within:g} s, and none was expected.\n"
            f"{mail_lines([mail])}",
            mail,
        )

    @_points_at_caller
    def expect_exactly(
        self,
        count: int,
        *,
        within: Seconds = DEFAULT_SILENCE,
        timeout: Seconds | None = None,
        since: str | datetime = "start",
        **match: Unpack[Match],
    ) -> list[Message]:
        """Returns when exactly so many messages match (0 to 50), oldest first.

        It waits for them, and then `within` seconds in which no further one may come. The next wait begins where it
        would have begun without this. Raises WaitTimeoutError for fewer, UnexpectedMessageError for more.
        """
        if not 0 <= count <= MAX_COUNT:
            raise MayflyError(f"The number of messages must be from 0 to {MAX_COUNT}, not {count}.")
        found = self._hold(count, match, timeout, since) if count else []
        more = self._first_within(within, match, found[-1].id if found else since)
        if more is None:
            return found
        raise UnexpectedMessageError(
            f"More than {count} mail{'' if count == 1 else 's'}{describe(match)} reached {self.address}."
            f"{repeats(more, found)}\n{mail_lines([*found, more])}",
            more,
        )

    def _first_within(self, within: Seconds, match: Match, since: str | datetime) -> Message | None:
        try:
            return self._hold(1, match, within, since)[0]
        except WaitTimeoutError as error:
            if error.is_final:
                return None
            raise

    def messages(
        self,
        *,
        q: str | None = None,
        limit: int | None = None,
        since: str | datetime | None = None,
        **filters: Unpack[Filters],
    ) -> list[MessageSummary]:
        """The messages that are there, newest first. q: words, or the search language of docs/reading.md."""
        query = given(q=q, since=since, **filters)
        found = self._transport.list(path_of("v1", "inboxes", self.id, "messages"), "messages", limit, query)
        return [MessageSummary.of(self._transport, fields) for fields in found]

    def stream(self, since: str | datetime | None = None) -> Iterator[MessageSummary]:
        """Messages as they arrive, once each, over cuts and restarts, without an end."""
        path = path_of("v1", "inboxes", self.id, "events")
        for _, event in follow(self._transport, path, given(since=since)):
            yield MessageSummary.of(self._transport, event["message"])

    def read(self, message_id: str) -> Message:
        """A message in full."""
        return Message.of(self._transport, self._call("GET", "messages", message_id))

    def failed_wait(self, wait_id: str) -> api.FailedWait:
        """What a failed wait has explained, within 24 hours; also when the inbox has ended, with an API key.

        wait_id: of its error, or of the report of a run.
        """
        return api.FailedWait.from_json(self._call("GET", "waits", wait_id))

    def inject(
        self, source: bytes | str, *, mail_from: str | None = None, rcpt_to: str | None = None
    ) -> Message:
        """Puts a message into the inbox without SMTP: its raw source. Needs an API key."""
        body = source.encode() if isinstance(source, str) else source
        query = given(mail_from=mail_from, rcpt_to=rcpt_to)
        return Message.of(self._transport, self._call("POST", "messages", query=query, body=body))

    def empty(self) -> None:
        """Deletes its messages. Needs an API key."""
        self._call("DELETE", "messages")

    def export(self) -> bytes:
        """The inbox with all its messages as a recording, for Mayfly.import_inbox()."""
        return bytes(self._call("GET", "export", as_bytes=True))

    def set_faults(self, *rules: dict[str, Any]) -> list[api.FaultState]:
        """Lets mail to the inbox fail. Senders meet the rules in their order, each "times" times, then normal
        service: set_faults({"at": "rcpt", "reply": {"code": 451, "text": "4.7.1 later"}, "times": 2}).
        Replaces the rules before. Needs an API key.
        """
        answer = self._call("PUT", "faults", body={"rules": list(rules)})
        return [api.FaultState.from_json(one) for one in answer["rules"]]

    def faults(self) -> list[api.FaultState]:
        """The fault rules, with how often each still applies. Needs an API key."""
        return [api.FaultState.from_json(one) for one in self._call("GET", "faults")["rules"]]

    def clear_faults(self) -> None:
        """Removes the fault rules. Needs an API key."""
        self._call("DELETE", "faults")

    def set_outcomes(self, *rules: dict[str, Any]) -> list[api.OutcomeState]:
        """What becomes of the next messages after they arrived: set_outcomes({"outcome": "complaint", "times": 2}).
        Replaces the rules before. Needs an API key.
        """
        answer = self._call("PUT", "outcomes", body={"rules": list(rules)})
        return [api.OutcomeState.from_json(one) for one in answer["rules"]]

    def bounce_next(self, times: int = 1) -> None:
        """Lets the next messages bounce after they arrived. Replaces the outcomes before. Needs an API key."""
        self.set_outcomes({"outcome": "bounce", "times": times})

    def outcomes(self) -> list[api.OutcomeState]:
        """The outcomes, with how often each still applies. Needs an API key."""
        return [api.OutcomeState.from_json(one) for one in self._call("GET", "outcomes")["rules"]]

    def clear_outcomes(self) -> None:
        """Removes the outcomes. Needs an API key."""
        self._call("DELETE", "outcomes")

    def advance(self, span: str) -> int:
        """Releases what an application scheduled within this span, such as "3d", "2h" or "30m"; spans add up.

        Returns how many mails became due. Needs an API key.
        """
        units = {"m": 1, "h": 60, "d": 1440}
        if not span[:-1].isdecimal() or span[-1] not in units:
            raise MayflyError(f'The span {span!r} must be a number with a unit, such as "3d", "2h" or "30m".')
        minutes = int(span[:-1]) * units[span[-1]]
        return int(self._call("POST", "advance", body={"minutes": minutes})["released"])

    def sent(self, *, before: str | None = None, limit: int | None = None) -> list[api.SentRecord]:
        """Replies, and the events and reports of outcomes, newest first, with what became of them."""
        answer = self._call("GET", "sent", query=given(before=before, limit=limit))
        return [api.SentRecord.from_json(one) for one in answer["sent"]]

    def threads(self) -> list[api.Thread]:
        """The messages and replies that belong together, newest thread first."""
        return [api.Thread.from_json(one) for one in self._call("GET", "threads")["threads"]]

    def expire(self) -> None:
        """Ends its lifetime now, as if its time had come. Needs an API key."""
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
        self, count: int, match: Match, asked: Seconds | None, since: str | datetime
    ) -> list[Message]:
        messages = self._hold(count, match, asked, since)
        # Ids sort by arrival.
        self._last = max([*messages, *([self._last] if self._last else [])], key=lambda mail: mail.id)
        return messages

    def _hold(
        self, count: int, match: Match, asked: Seconds | None, since: str | datetime
    ) -> list[Message]:
        timeout = self._transport.settings.wait_timeout if asked is None else asked
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout >= 0:
            raise TypeError(f"A time to wait is a number of seconds, not {timeout!r}.")
        # Missing where only the id is known; 0 for the sink, which never expires.
        lifetime = 60 * (self._data.get("ttlMinutes") or math.inf)
        if timeout > lifetime:
            raise ValueError(
                f"The inbox lives for {lifetime} seconds, which is less than a timeout of {timeout!r}. "
                "Times are in seconds, not in milliseconds."
            )
        last = self._last if since == "last" else None
        position = (last.id if last else None) if since == "last" else given(since=since)["since"]
        return wait_for_messages(
            self._transport,
            WaitFor(
                self.id,
                str(self._data.get("address", self.id)),
                self.console_url,
                self._data.get("labels", {}),
                count,
                match,
                timeout,
                None if since == "start" else position,
                last,
            ),
        )


    def _call(self, method: str, *path: str, **options: Any) -> Any:
        return self._transport.request(method, path_of("v1", "inboxes", self.id, *path), **options)
