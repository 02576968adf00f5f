"""Disposable inboxes for tests: create an inbox, wait for its mail, take the code or the link."""

from . import api, webhook
from ._client import Mayfly, MessageEvent
from ._async_inbox import AsyncInbox
from ._inbox import Inbox
from ._message import Message, MessageSummary
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
    Seconds,
    UnexpectedMessageError,
    WaitTimeoutError,
    WebhookVerificationError,
)

__all__ = [
    "AmbiguousError",
    "ApiError",
    "AsyncInbox",
    "ConnectionFailedError",
    "GoneError",
    "Inbox",
    "LimitError",
    "Mayfly",
    "MayflyError",
    "Message",
    "MessageEvent",
    "MessageSummary",
    "NoCodeError",
    "NotFoundError",
    "ScopeError",
    "Seconds",
    "UnexpectedMessageError",
    "WaitTimeoutError",
    "WebhookVerificationError",
    "api",
    "webhook",
]
