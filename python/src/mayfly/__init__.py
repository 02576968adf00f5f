"""Disposable inboxes for tests: create an inbox, wait for its mail, take the code or the link."""

from ._client import Mayfly
from ._async_inbox import AsyncInbox
from ._inbox import Inbox
from ._message import Address, Attachment, Code, Link, Message, MessageSummary
from .errors import (
    AmbiguousError,
    ApiError,
    ConnectionFailedError,
    GoneError,
    LimitError,
    MayflyError,
    NoCodeError,
    NotFoundError,
    ScopeError,
    UnexpectedMessageError,
    WaitTimeoutError,
)

__all__ = [
    "Address",
    "AmbiguousError",
    "ApiError",
    "AsyncInbox",
    "Attachment",
    "Code",
    "ConnectionFailedError",
    "GoneError",
    "Inbox",
    "LimitError",
    "Link",
    "Mayfly",
    "MayflyError",
    "Message",
    "MessageSummary",
    "NoCodeError",
    "NotFoundError",
    "ScopeError",
    "UnexpectedMessageError",
    "WaitTimeoutError",
]
