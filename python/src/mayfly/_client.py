"""A server and a credential for it."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ._account import Keys, Webhooks
from ._inbox import PAGE, Inbox
from ._message import MessageSummary
from ._stream import follow
from ._transport import Settings, Transport, path_of
from .errors import MayflyError

DEFAULT_URL = "http://127.0.0.1:8025"
SERVER_URL = re.compile(r"https?://(?!.*/v1$)[^?#@\s/:]*(\[[0-9a-fA-F:]+\])?(:\d{1,5})?(/[^?#@\s]*)?")
"""Without a user name, a query or the version, which paths begin with."""
DEFAULT_TIMEOUT = 10.0
DEFAULT_RETRIES = 3


def _label_query(labels: dict[str, str] | None) -> dict[str, str]:
    return {f"label.{name}": value for name, value in (labels or {}).items()}


class Mayfly:
    """`url` and `api_key` default to MAYFLY_URL and MAYFLY_API_KEY."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        retries: int = DEFAULT_RETRIES,
    ) -> None:
        key = (api_key or os.environ.get("MAYFLY_API_KEY") or "").strip()
        if not re.fullmatch(r"[A-Za-z0-9_-]+", key):
            problem = "The API key is malformed" if key else "There is no API key"
            raise MayflyError(f"{problem}: set MAYFLY_API_KEY, or pass api_key.")
        address = (url or os.environ.get("MAYFLY_URL") or DEFAULT_URL).strip().rstrip("/")
        if not SERVER_URL.fullmatch(address):
            raise MayflyError(
                f'"{address}" is not the URL of a server. '
                "Write it like http://127.0.0.1:8025, without /v1."
            )
        self._transport = Transport(Settings(address, key, timeout, retries))
        self.webhooks = Webhooks(self._transport)
        self.keys = Keys(self._transport)

    @property
    def url(self) -> str:
        return self._transport.settings.url

    def request(self, method: str, path: str, **options: Any) -> Any:
        """Any other operation of the API: `request("GET", "/v1/usage")`. Options: query, body, headers."""
        return self._transport.request(method, path, **options)

    def create_inbox(
        self,
        *,
        ttl_minutes: int | None = None,
        domain: str | None = None,
        local_part: str | None = None,
        address: str | None = None,
        labels: dict[str, str] | None = None,
        catch_all: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Inbox:
        """A new inbox. A repeated request creates no second one."""
        wanted = {
            "ttlMinutes": ttl_minutes,
            "domain": domain,
            "localPart": local_part,
            "address": address,
            "labels": labels,
            "catchAll": catch_all,
        }
        body = {name: value for name, value in wanted.items() if value is not None}
        headers = {"idempotency-key": idempotency_key or str(uuid.uuid4())}
        return Inbox(
            self._transport,
            self._transport.request("POST", "/v1/inboxes", body=body, headers=headers),
        )

    def inbox(self, inbox_id: str, token: str | None = None) -> Inbox:
        """An inbox of which only the id, and perhaps the read token, is known. Makes no request."""
        if token is None:
            return Inbox(self._transport, {"id": inbox_id})
        transport = Transport(replace(self._transport.settings, credential=token))
        return Inbox(transport, {"id": inbox_id, "token": token})

    def get_inbox(self, inbox_id: str) -> Inbox:
        return Inbox(
            self._transport, self._transport.request("GET", path_of("v1", "inboxes", inbox_id))
        )

    def inboxes(
        self, *, labels: dict[str, str] | None = None, address: str | None = None
    ) -> Iterator[Inbox]:
        """All live inboxes, newest first."""
        before: str | None = None
        while True:
            query = {"limit": PAGE, "address": address, "before": before, **_label_query(labels)}
            page = self._transport.request("GET", "/v1/inboxes", query=query)
            for data in page["inboxes"]:
                yield Inbox(self._transport, data)
            if not page["hasMore"]:
                return
            before = page["inboxes"][-1]["id"]

    def delete_inboxes(self, labels: dict[str, str]) -> int:
        """Deletes all inboxes with these labels, and returns how many."""
        answer = self._transport.request("DELETE", "/v1/inboxes", query=_label_query(labels))
        return int(answer["deleted"])

    def report(self, labels: dict[str, str]) -> dict[str, Any]:
        """What became of the mail of a test run, also for 24 hours after its inboxes end.

        `labels` are those of its inboxes, at least one.
        """
        query = _label_query(labels)
        report: dict[str, Any] = self._transport.request("GET", "/v1/reports/runs", query=query)
        return report

    def labels(self, name: str | None = None) -> list[dict[str, Any]]:
        """The newest labels of live inboxes, with the number of inboxes that have each."""
        query = {"limit": PAGE, "name": name}
        labels: list[dict[str, Any]] = self._transport.request("GET", "/v1/labels", query=query)["labels"]
        return labels

    def generate_address(self, domain: str | None = None) -> str:
        """A free address, held for ten minutes."""
        body = {} if domain is None else {"domain": domain}
        return str(
            self._transport.request("POST", "/v1/addresses/generate", body=body)["address"]
        )

    def usage(self) -> dict[str, Any]:
        """Requests, inboxes and messages of the month, with their limits."""
        usage: dict[str, Any] = self._transport.request("GET", "/v1/usage")
        return usage

    def domains(self) -> list[dict[str, Any]]:
        domains: list[dict[str, Any]] = self._transport.request("GET", "/v1/domains")["domains"]
        return domains

    def messages(self, **query: Any) -> Iterator[MessageSummary]:
        """Messages of all inboxes and the sink, newest first. Query: the fields of the API, such as rcptTo and q."""
        before = None
        while True:
            page = self._transport.request(
                "GET", "/v1/messages", query={"limit": PAGE, **query, "before": before}
            )
            yield from (MessageSummary.from_json(fields) for fields in page["messages"])
            if not page["hasMore"]:
                return
            before = page["before"]

    def refusals(self, **query: Any) -> list[dict[str, Any]]:
        """Mail that SMTP refused. Query: since, address, limit."""
        answer = self._transport.request("GET", "/v1/refusals", query=query)
        refusals: list[dict[str, Any]] = answer["refusals"]
        return refusals

    def events(self, since: str | None = None) -> Iterator[dict[str, Any]]:
        """Every message of the account as it arrives ("inboxId", "message"), over cuts, without an end."""
        return follow(self._transport, "/v1/events", since)

    def import_inbox(self, recording: bytes, **query: Any) -> Inbox:
        """A new inbox with the messages of Inbox.export(). Query: speed, ttlMinutes, domain, localPart."""
        headers = {"content-type": "application/zip"}
        data = self._transport.request(
            "POST", "/v1/inboxes/import", query=query, body=recording, headers=headers
        )
        return Inbox(self._transport, data)

    def close(self) -> None:
        """Closes the connection of this thread."""
        self._transport.close()
