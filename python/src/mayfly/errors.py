"""Errors of the client. All derive from MayflyError."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import api
    from ._message import Message

Seconds = float
"""Every time span of this library."""


class MayflyError(Exception):
    """The base of every error of this library."""


class ApiError(MayflyError):
    """A response that is not a success. `problem` is empty when it did not come from Mayfly (a proxy's 502)."""

    def __init__(
        self,
        request: str,
        status: int,
        problem: dict[str, Any],
        retry_after: Seconds | None,
        reason: str = "The response did not come from Mayfly: check MAYFLY_URL.",
    ) -> None:
        """reason: what is wrong when there is no problem."""
        detail = problem.get("detail", reason)
        self.status = status
        self.problem = problem
        self.code: str = problem.get("code", "http_error")
        self.request_id: str | None = problem.get("requestId")
        self.retry_after = retry_after
        """Seconds, from Retry-After."""
        suffix = f", request {self.request_id}" if self.request_id else ""
        super().__init__(f"{detail} ({request}: {status}{suffix})")


class NotFoundError(ApiError):
    """404: unknown, deleted, or of another account."""


class GoneError(ApiError):
    """410: the inbox expired within the last 24 hours."""


class LimitError(ApiError):
    """429: the rate limit or the monthly quota."""


class ScopeError(ApiError):
    """403: the credential may not do this."""


ADVICE = (
    ("wrong.version.number", "The server does not speak TLS on that port: write http:// in MAYFLY_URL."),
    ("hostname mismatch|ip address mismatch", "Write MAYFLY_URL with a name that the certificate of the server has."),
    ("certificate has expired", "Renew the certificate of the server."),
    ("certificate", "Name the certificate of its authority in SSL_CERT_FILE."),
    (
        "BadStatusLine|^2\\d\\d |not HTTP",
        "Something else answers on that port, such as SMTP: MAYFLY_URL is the URL of the API.",
    ),
)
"""What to do about causes whose own words do not tell it."""


class ConnectionFailedError(MayflyError):
    """The server could not be reached, or its response did not arrive in full."""

    def __init__(self, url: str, attempts: int, cause: BaseException) -> None:
        self.attempts = attempts
        times = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        why = str(cause).strip() or type(cause).__name__
        text = f"{type(cause).__name__} {why}"
        advice = next(
            (advice for pattern, advice in ADVICE if re.search(pattern, text, re.IGNORECASE)),
            'Start a server with "npx mayfly dev", or set MAYFLY_URL.',
        )
        super().__init__(f"{url} did not respond in {times}: {why}. {advice}")


class WaitTimeoutError(MayflyError, AssertionError):
    """No message matched in time. The text is the server's explanation, as a sentence and as a table."""

    def __init__(
        self,
        text: str,
        inbox_id: str,
        timeout: Seconds,
        explanation: api.WaitExplanation,
        is_final: bool,
        wait_id: str | None,
    ) -> None:
        super().__init__(text)
        self.inbox_id = inbox_id
        self.timeout = timeout
        self.explanation = explanation
        self.is_final = is_final
        """False when the server could not be reached at the end."""
        self.wait_id = wait_id
        """What the server keeps of the wait; None where it keeps nothing."""


class UnexpectedMessageError(MayflyError, AssertionError):
    """A message matched during expect_silence."""

    def __init__(self, text: str, message: Message) -> None:
        super().__init__(text)
        self.mail = message


class NoCodeError(MayflyError, AssertionError):
    """The message has no code."""


class AmbiguousError(MayflyError, AssertionError):
    """None, or more than one, of the links of a message fits."""

    def __init__(self, text: str, candidates: list[api.MailLink]) -> None:
        super().__init__(text)
        self.candidates = candidates


class WebhookVerificationError(MayflyError):
    """Why a webhook was rejected; respond with 400 or 401."""


BY_STATUS: dict[int, type[ApiError]] = {
    403: ScopeError,
    404: NotFoundError,
    410: GoneError,
    429: LimitError,
}
