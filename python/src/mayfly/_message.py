"""Messages: the fields of the API, and what can be done with them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Union
from urllib.parse import urlsplit

from . import api
from ._json import given
from ._transport import path_of, path_within
from .errors import AmbiguousError, MayflyError, NoCodeError

if TYPE_CHECKING:
    from ._transport import Transport

Text = Union[str, "re.Pattern[str]"]
"""A string must be contained, and case is ignored; a pattern must match somewhere."""
M = TypeVar("M", bound="MessageSummary")


class Page(Protocol):
    """A page of Playwright, or anything that opens a URL."""

    @property
    def goto(self) -> Callable[..., Any]: ...


def is_in(text: str, wanted: Text | None) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, str):
        return wanted.lower() in text.lower()
    return wanted.search(text) is not None


@dataclass(frozen=True)
class MessageSummary(api.MessageSummary):
    """A message as lists show it."""

    _transport: Transport | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls: type[M], transport: Transport, data: dict[str, Any]) -> M:
        message = cls.from_json(data)
        object.__setattr__(message, "_transport", transport)
        return message

    def read(self) -> Message:
        """The message in full."""
        assert self._transport is not None
        return Message.of(self._transport, self._call("GET"))

    def raw(self) -> bytes:
        """The raw source, byte for byte."""
        return bytes(self._call("GET", "raw", as_bytes=True))

    def preview_url(self) -> str:
        """A link to the message as a browser shows it, valid for some minutes."""
        url = str(self._call("POST", "preview", body={})["url"])
        assert self._transport is not None
        own = self._transport.settings.url
        # A server that does not know its public URL knows neither the scheme nor the folder that a proxy has for it.
        return own + path_within(url) if urlsplit(url).netloc == urlsplit(own).netloc else url

    def timeline(self) -> list[api.TimelineEvent]:
        """When what happened to the message, from its Date header to each webhook attempt."""
        return [api.TimelineEvent.from_json(one) for one in self._call("GET", "timeline")["events"]]

    def lint(self) -> list[api.LintFinding]:
        """What is wrong with the message, the most severe first."""
        return [api.LintFinding.from_json(one) for one in self._call("GET", "lint")["findings"]]

    def mark(self, *, read: bool | None = None, tags: list[str] | None = None) -> MessageSummary:
        """Marks it as read or unread, or replaces its tags, and returns it so. Needs an API key."""
        assert self._transport is not None
        return MessageSummary.of(self._transport, self._call("PATCH", body=given(read=read, tags=tags)))

    def reply(self, text: str, **options: Any) -> api.SentRecord:
        """Replies to it from the inbox, as a mail program does. Needs an API key.

        options: html, all, attachments, style ("gmail", "outlook", "apple"), to ("smtp" or a provider).
        """
        return api.SentRecord.from_json(self._call("POST", "reply", body={"text": text, **options}))

    def delete(self) -> None:
        """Needs an API key."""
        self._call("DELETE")

    def _call(self, method: str, *path: str, **options: Any) -> Any:
        assert self._transport is not None, "This message was not read from an inbox."
        where = path_of("v1", "inboxes", self.inbox_id, "messages", self.id, *path)
        return self._transport.request(method, where, **options)


@dataclass(frozen=True)
class Message(MessageSummary, api.Message):
    """A message in full."""

    def find(self, pattern: re.Pattern[str]) -> str | None:
        """The first group of the pattern, or all that it matches, in the text or else in the words of the HTML."""
        for text in (self.text, self.html_text):
            found = pattern.search(text) if text else None
            if found:
                return found.group(1 if pattern.groups else 0)
        return None

    def code(self, pattern: str | re.Pattern[str] | None = None) -> str:
        """The code of the message; `pattern` is for formats of your own. Raises NoCodeError."""
        wanted = None if pattern is None else re.compile(pattern)
        found = self.find(wanted) if wanted else (self.codes[0].value if self.codes else None)
        if found is not None:
            return found
        like = f" like {wanted.pattern}" if wanted else ""
        raise NoCodeError(
            f"The message {json.dumps(self.subject)} has no code{like}. It begins: {self.preview}"
        )

    def links_like(
        self, href: Text | None = None, text: Text | None = None, kind: str | None = None
    ) -> list[api.MailLink]:
        return [
            link
            for link in self.links
            if is_in(link.href, href) and is_in(link.text, text) and kind in (None, link.kind)
        ]

    def link(self, href: Text | None = None, text: Text | None = None, kind: str | None = None) -> str:
        """The target of the one link that fits. Raises AmbiguousError with all links otherwise."""
        fitting = self.links_like(href, text, kind)
        targets = {link.href for link in fitting}
        if len(targets) == 1:
            return targets.pop()
        shown = fitting or self.links
        rows = "".join(
            f"\n  {one.kind:<11} {one.href}   {json.dumps(one.text, ensure_ascii=False)}" for one in shown
        )
        advice = ": narrow the conditions" if targets else ""
        raise AmbiguousError(
            f"{len(targets) or 'None'} of the {len(self.links)} links of {json.dumps(self.subject)} fit{advice}.{rows}",
            shown,
        )

    def attachment(self, which: api.Attachment | str) -> bytes:
        """The decoded bytes of an attachment, or of the one with that file name."""
        found = next((one for one in self.attachments if which in (one, one.filename)), None)
        if found is None:
            names = ", ".join(json.dumps(one.filename) for one in self.attachments) or "none"
            raise MayflyError(f"The message has no attachment {which!r}. Attachments: {names}.")
        assert self._transport is not None
        content = self._transport.request("GET", path_within(found.url), as_bytes=True)
        return bytes(content or b"")

    def open(self, page: Page) -> None:
        """Shows the message in a page of Playwright, as a mail program does."""
        url = self.preview_url()
        response = page.goto(url)
        # Playwright shows error pages as any other.
        if getattr(response, "ok", True) is False:
            raise MayflyError(f"The mail cannot be shown: {url} responded {getattr(response, 'status', '')}.")
