"""Requests by http.client: one kept-open connection for each thread, deadlines, retries, errors."""

from __future__ import annotations

import http.client
import json
import os
import re
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from .errors import BY_STATUS, ApiError, ConnectionFailedError, Seconds

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
PAGE = 200
"""The longest page of lists."""
TRANSIENT = (502, 503, 504)
"""Not responses of our server about this request, but of what stands before it, or of its end."""


# Inside of Transport `list` is its method.
Items = list[dict[str, Any]]


@dataclass(frozen=True)
class Settings:
    url: str
    credential: str
    timeout: Seconds
    """Seconds for a request that does not wait, its retries included."""
    wait_timeout: Seconds
    retries: int


def path_of(*parts: str) -> str:
    """A path whose parts are encoded."""
    return "/" + "/".join(quote(part, safe="") for part in parts)


def path_within(url: str) -> str:
    """The path of a URL of the server, without the folder that a reverse proxy has for it."""
    return re.sub("^.*?(?=/(?:v1|preview)/)", "", urlsplit(url).path)


def pause_before(failure: BaseException, attempt: int, is_safe: bool = True) -> float | None:
    """Seconds to wait before the next attempt; None when there must not be one."""
    backoff: float = min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE)
    if not isinstance(failure, ApiError):
        return backoff if is_safe else None
    # Proxies say "Retry-After: 0", which is no pause at all.
    after: float = max(backoff, failure.retry_after or 0)
    if failure.status == 429:
        return after
    if is_safe and (failure.status in TRANSIENT or failure.code == "idempotency_in_progress"):
        return after
    return None


class Transport:
    """Sends requests with one credential."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._parts = urlsplit(settings.url)
        self._local = threading.local()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        body: Any = None,
        headers: dict[str, str] | None = None,
        timeout: Seconds | None = None,
        retries: int | None = None,
        as_bytes: bool = False,
    ) -> Any:
        """The JSON of the response, its bytes where it is not JSON or `as_bytes`, or None without a body.

        A request that changes something is repeated only where a second execution changes nothing.
        """
        total = self.settings.timeout if timeout is None else timeout
        end = time.monotonic() + total
        allowed = self.settings.retries if retries is None else retries
        is_safe = (
            method != "POST"
            or path.endswith(("/wait", "/preview", "/generate", "/expire"))
            or "idempotency-key" in (headers or {})
        )
        attempt = 0
        while True:
            attempt += 1
            try:
                content, kind = self._attempt(method, path, query, body, headers or {}, end)
                if as_bytes or content is None:
                    return content
                if "html" in kind:
                    # Of another program on that port, or of the login page of a proxy.
                    raise ApiError(f"{method} {path}", 200, {}, None, self._strange(path))
                return json.loads(content) if "json" in kind else content
            except (OSError, http.client.HTTPException, ValueError, ApiError) as failure:
                if attempt > 1 and method == "DELETE" and getattr(failure, "status", 0) == 404:
                    return None  # The attempt before did it, and only its response was lost.
                pause = pause_before(failure, attempt, is_safe)
                if pause is None or attempt > allowed or time.monotonic() + pause >= end:
                    if isinstance(failure, ApiError):
                        raise
                    raise ConnectionFailedError(self.settings.url, attempt, failure) from failure
                time.sleep(pause)

    def list(
        self, path: str, name: str, limit: int | None = None, query: dict[str, Any] | None = None
    ) -> Items:
        """All items of a list, newest first, or as many as `limit`. name: of the array in a page."""
        items: Items = []
        before: str | None = None
        while limit is None or len(items) < limit:
            size = PAGE if limit is None else min(PAGE, limit - len(items))
            page = self.request("GET", path, query={**(query or {}), "limit": size, "before": before})
            items += page[name]
            before = page.get("searchedTo") or page.get("before") or (items[-1]["id"] if items else None)
            if not page["hasMore"]:
                break
        return items

    def _attempt(
        self,
        method: str,
        path: str,
        query: dict[str, Any] | None,
        body: Any,
        headers: dict[str, str],
        end: float,
    ) -> tuple[bytes | None, str]:
        sent = dict(headers, authorization=f"Bearer {self.settings.credential}")
        data: bytes | None = None
        if isinstance(body, bytes):
            data = body
            sent["content-type"] = "application/zip" if path.endswith("/import") else "message/rfc822"
        elif body is not None:
            data, sent["content-type"] = json.dumps(body).encode(), "application/json"
        response, content = self._exchange(method, self._target(path, query), data, sent, end)
        kind = response.headers.get("content-type", "")
        if 200 <= response.status < 300:
            return content or None, kind
        raise self._error_of(method, path, response, content)

    def _target(self, path: str, query: dict[str, Any] | None) -> str:
        values = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in (query or {}).items()
            if value is not None
        }
        return self._parts.path.rstrip("/") + path + ("?" + urlencode(values) if values else "")

    def _error_of(
        self, method: str, path: str, response: http.client.HTTPResponse, content: bytes
    ) -> ApiError:
        is_problem = "problem+json" in response.headers.get("content-type", "")
        after = response.headers.get("retry-after", "")
        error = BY_STATUS.get(response.status, ApiError)
        return error(
            f"{method} {path}",
            response.status,
            json.loads(content) if is_problem else {},
            float(after) if after.isdigit() else None,
            self._strange(path, response.headers.get("location")),
        )

    def _strange(self, path: str, location: str | None = None) -> str:
        """What is wrong with a response that is no problem of Mayfly's."""
        url = self.settings.url + path
        if location is not None:
            return f"{url} redirects to {location}: set MAYFLY_URL to the server itself."
        return f"The response of {url} did not come from Mayfly: check MAYFLY_URL."

    def _exchange(
        self, method: str, target: str, data: bytes | None, headers: dict[str, str], end: float
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Sends one request. A kept connection that the server closed meanwhile is opened again."""
        for is_kept in (True, False):
            left = max(end - time.monotonic(), 0.001)
            connection = self._kept_connection()
            if connection is None or not is_kept:
                is_kept = False
                connection = self._connect(left)
                self._local.connection = connection
                self._local.process = os.getpid()
            elif connection.sock is not None:
                connection.sock.settimeout(left)
            try:
                connection.request(method, target, body=data, headers=headers)
                response = connection.getresponse()
                return response, response.read()
            except (OSError, http.client.HTTPException) as failure:
                self.close()
                # Before anything of a response came, the server had closed the idle connection.
                if not (is_kept and isinstance(failure, ConnectionError)):
                    raise
            except BaseException:
                # Ctrl+C or a timeout of the test: the response that is due must not be read by the next request.
                self.close()
                raise
        raise AssertionError("unreachable")

    def _kept_connection(self) -> http.client.HTTPConnection | None:
        """The connection of this thread. A forked process must not share that of its parent: each would read
        responses to the other."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None and self._local.process != os.getpid():
            self.close()
            return None
        return connection

    def open_stream(
        self, path: str, query: dict[str, Any], headers: dict[str, str], timeout: Seconds
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """A connection of its own, to be closed by the caller, and its successful response."""
        connection = self._connect(timeout)
        sent = dict(headers, authorization=f"Bearer {self.settings.credential}")
        try:
            connection.request("GET", self._target(path, query), headers=sent)
            response = connection.getresponse()
            if response.status != 200:
                raise self._error_of("GET", path, response, response.read())
        except BaseException:
            connection.close()
            raise
        return connection, response

    def _connect(self, timeout: Seconds) -> http.client.HTTPConnection:
        is_tls = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if is_tls else http.client.HTTPConnection
        return kind(self._parts.hostname or "", self._parts.port, timeout=timeout)

    def close(self) -> None:
        """Closes the connection of this thread."""
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()
