"""Messages: typed fields, and how to take a code or a link out of them."""

from __future__ import annotations

import base64
import html as html_module
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, Union

from .errors import AmbiguousError, ApiError, MayflyError, NoCodeError

if TYPE_CHECKING:
    from ._inbox import Inbox

Text = Union[str, "re.Pattern[str]"]
"""A string must be contained, and case is ignored; a pattern must match somewhere."""


def time_of(text: str) -> datetime:
    """A time of the API, which ends with Z."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


@dataclass(frozen=True)
class Address:
    address: str
    name: str


@dataclass(frozen=True)
class Code:
    value: str
    context: str


@dataclass(frozen=True)
class Link:
    href: str
    text: str
    kind: str
    """verify, reset, sign-in, unsubscribe or other"""


@dataclass(frozen=True)
class Attachment:
    id: str
    filename: str | None
    content_type: str
    size: int
    disposition: str
    content_id: str | None
    sha256: str
    url: str


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


def _address(value: dict[str, str] | None) -> Address | None:
    return Address(value["address"], value["name"]) if value else None


def _addresses(values: list[dict[str, str]]) -> list[Address]:
    return [Address(value["address"], value["name"]) for value in values]


@dataclass(frozen=True)
class MessageSummary:
    """A message in a list. `fields` is the API's JSON with everything else."""

    id: str
    inbox_id: str
    sender: Address | None
    """The first author of the From header."""
    to: list[Address]
    cc: list[Address]
    subject: str
    preview: str
    received_at: datetime
    size: int
    codes: list[Code]
    fields: dict[str, Any] = field(repr=False, compare=False)

    @classmethod
    def _base(cls, fields: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": fields["id"],
            "inbox_id": fields["inboxId"],
            "sender": _address(fields["from"]),
            "to": _addresses(fields["to"]),
            "cc": _addresses(fields["cc"]),
            "subject": fields["subject"],
            "preview": fields["preview"],
            "received_at": time_of(fields["receivedAt"]),
            "size": fields["size"],
            "codes": [Code(code["value"], code["context"]) for code in fields["codes"]],
            "fields": fields,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> MessageSummary:
        return cls(**cls._base(fields))


@dataclass(frozen=True)
class Message(MessageSummary):
    """A message in full."""

    text: str | None
    html: str | None
    html_text: str | None
    """The visible words of the HTML."""
    links: list[Link]
    attachments: list[Attachment]
    headers: list[tuple[str, str]]
    _inbox: Inbox | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_json(cls, fields: dict[str, Any], inbox: Inbox | None = None) -> Message:
        return cls(
            **cls._base(fields),
            text=fields["text"],
            html=fields["html"],
            html_text=fields["htmlText"],
            links=[Link(link["href"], link["text"], link["kind"]) for link in fields["links"]],
            attachments=[
                Attachment(
                    part["id"],
                    part["filename"],
                    part["contentType"],
                    part["size"],
                    part["disposition"],
                    part["contentId"],
                    part["sha256"],
                    part["url"],
                )
                for part in fields["attachments"]
            ],
            headers=[(header["name"], header["value"]) for header in fields["headers"]],
            _inbox=inbox,
        )

    def find(self, pattern: re.Pattern[str]) -> str | None:
        """The first group of the pattern, or all that it matches, in the text or else in the words of the HTML."""
        for text in (self.text, self.html_text):
            found = pattern.search(text) if text else None
            if found:
                return found.group(1 if pattern.groups else 0)
        return None

    def code(self, pattern: re.Pattern[str] | None = None) -> str:
        """The code of the message; `pattern` is for formats of your own. Raises NoCodeError."""
        found = self.find(pattern) if pattern else (self.codes[0].value if self.codes else None)
        if found is not None:
            return found
        like = f" like {pattern.pattern}" if pattern else ""
        raise NoCodeError(
            f"The message {json.dumps(self.subject)} has no code{like}. It begins: {self.preview}"
        )

    def links_like(
        self, href: Text | None = None, text: Text | None = None, kind: str | None = None
    ) -> list[Link]:
        return [
            link
            for link in self.links
            if is_in(link.href, href) and is_in(link.text, text) and kind in (None, link.kind)
        ]

    def link(
        self, href: Text | None = None, text: Text | None = None, kind: str | None = None
    ) -> str:
        """The target of the one link that fits. Raises AmbiguousError with all links otherwise."""
        fitting = self.links_like(href, text, kind)
        targets = {link.href for link in fitting}
        if len(targets) == 1:
            return targets.pop()
        shown = fitting or self.links
        rows = "".join(
            f"\n  {one.kind:<11} {one.href}   {json.dumps(one.text, ensure_ascii=False)}"
            for one in shown
        )
        advice = ": narrow the conditions" if targets else ""
        raise AmbiguousError(
            f"{len(targets) or 'None'} of the {len(self.links)} links of {json.dumps(self.subject)} fit{advice}.{rows}",
            shown,
        )

    def open(self, page: Page) -> None:
        """Shows the message in a page of Playwright, as a mail program does."""
        assert self._inbox is not None, "This message was not read from an inbox."
        try:
            url = self._inbox.preview(self.id)
        except ApiError as error:
            if error.status not in (404, 405):
                raise
            # A server without previews: the same protection, without its pictures.
            policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
            body = self.html or f"<pre>{html_module.escape(self.text or '')}</pre>"
            page_source = f'<meta http-equiv="Content-Security-Policy" content="{policy}">{body}'
            url = "data:text/html;charset=utf-8;base64," + base64.b64encode(
                page_source.encode()
            ).decode("ascii")
        response = page.goto(url)
        # Playwright shows error pages as any other. Of a data: URL there is no response.
        if getattr(response, "ok", True) is False:
            raise MayflyError(f"The mail cannot be shown: {url} responded {getattr(response, 'status', '')}.")
