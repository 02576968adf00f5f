"""A server and a credential for it."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from . import api
from ._account import Keys, Webhooks
from ._inbox import DEFAULT_WAIT, Inbox
from ._json import Filters, given
from ._message import MessageSummary
from ._stream import follow
from ._transport import PAGE, Settings, Transport, path_of
from .errors import MayflyError, Seconds

if TYPE_CHECKING:
    # Python before 3.11 has it not in `typing`.
    from typing_extensions import Unpack

DEFAULT_URL = "http://127.0.0.1:8025"
SERVER_URL = re.compile(r"https?://(?!.*/v1$)[^?#@\s/:]*(\[[0-9a-fA-F:]+\])?(:\d{1,5})?(/[^?#@\s]*)?")
"""Without a user name, a query or the version, which paths begin with."""
DEV_KEY = "dev"
"""The key that `mayfly dev` accepts from programs of its own machine."""
LOOPBACK = re.compile(r"https?://(localhost|127(\.\d{1,3}){3}|\[::1\])([:/]|$)", re.IGNORECASE)
DEFAULT_TIMEOUT = 10.0
DEFAULT_RETRIES = 3
DEFAULT_FOUND = 50


def _label_query(labels: dict[str, str] | None) -> dict[str, str]:
    return {f"label.{name}": value for name, value in (labels or {}).items()}


@dataclass(frozen=True)
class MessageEvent:
    """A new message of the account."""

    id: str
    """Position of the event: pass it as `since` to continue after it."""
    inbox_id: str
    message: MessageSummary


class Mayfly:
    """`url` and `api_key` default to MAYFLY_URL and MAYFLY_API_KEY; on this machine no key is needed.

    timeout: seconds for a request that does not wait for mail, its retries included. wait_timeout: seconds for
    waits that name none.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: Seconds = DEFAULT_TIMEOUT,
        wait_timeout: Seconds = DEFAULT_WAIT,
        retries: int = DEFAULT_RETRIES,
    ) -> None:
        address = (url or os.environ.get("MAYFLY_URL") or DEFAULT_URL).strip().rstrip("/")
        if not SERVER_URL.fullmatch(address):
            raise MayflyError(
                f'"{address}" is not the URL of a server. Write it like http://127.0.0.1:8025, without /v1.'
            )
        given = api_key or os.environ.get("MAYFLY_API_KEY")
        key = (given or (DEV_KEY if LOOPBACK.match(address) else "")).strip()
        if not re.fullmatch(r"[A-Za-z0-9_-]+", key):
            problem = "The API key is malformed" if key else f"There is no API key for {address}"
            raise MayflyError(f"{problem}: set MAYFLY_API_KEY, or pass api_key.")
        self._transport = Transport(Settings(address, key, timeout, wait_timeout, retries))
        self.webhooks = Webhooks(self._transport)
        self.keys = Keys(self._transport)

    @property
    def url(self) -> str:
        return self._transport.settings.url

    def request(self, method: str, path: str, **options: Any) -> Any:
        """Any operation of the API as JSON: `request("GET", "/v1/usage")`. Options: query, body, headers."""
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
        sms: bool | None = None,
        webhook_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> Inbox:
        """A new inbox. A repeated request creates no second one."""
        body = given(
            ttl_minutes=ttl_minutes,
            domain=domain,
            local_part=local_part,
            address=address,
            labels=labels,
            catch_all=catch_all,
            sms=sms,
            webhook_url=webhook_url,
        )
        headers = {"idempotency-key": idempotency_key or str(uuid.uuid4())}
        return Inbox(self._transport, self.request("POST", "/v1/inboxes", body=body, headers=headers))

    def inbox(self, inbox_id: str, token: str | None = None) -> Inbox:
        """An inbox of which only the id, and perhaps the read token, is known. Makes no request."""
        if token is None:
            return Inbox(self._transport, {"id": inbox_id})
        transport = Transport(replace(self._transport.settings, credential=token))
        return Inbox(transport, {"id": inbox_id, "token": token})

    def get_inbox(self, inbox_id: str) -> Inbox:
        return Inbox(self._transport, self.request("GET", path_of("v1", "inboxes", inbox_id)))

    def inboxes(
        self, *, labels: dict[str, str] | None = None, address: str | None = None, limit: int | None = None
    ) -> list[Inbox]:
        """The live inboxes, newest first."""
        query = {"address": address, **_label_query(labels)}
        found = self._transport.list("/v1/inboxes", "inboxes", limit, query)
        return [Inbox(self._transport, data) for data in found]

    def delete_inboxes(self, labels: dict[str, str]) -> int:
        """Deletes all inboxes with these labels, and returns how many."""
        return int(self.request("DELETE", "/v1/inboxes", query=_label_query(labels))["deleted"])

    def import_inbox(
        self,
        recording: bytes,
        *,
        speed: float | None = None,
        ttl_minutes: int | None = None,
        domain: str | None = None,
        local_part: str | None = None,
    ) -> Inbox:
        """A new inbox with the messages of Inbox.export()."""
        query = given(speed=speed, ttl_minutes=ttl_minutes, domain=domain, local_part=local_part)
        data = self.request("POST", "/v1/inboxes/import", query=query, body=recording)
        return Inbox(self._transport, data)

    def search(
        self,
        q: str | None = None,
        *,
        limit: int = DEFAULT_FOUND,
        since: str | datetime | None = None,
        **filters: Unpack[Filters],
    ) -> list[MessageSummary]:
        """Messages of all inboxes and the sink, newest first. q: words, or the search language of docs/reading.md."""
        query = given(q=q, since=since, **filters)
        found = self._transport.list("/v1/messages", "messages", limit, query)
        return [MessageSummary.of(self._transport, fields) for fields in found]

    def stream(self, since: str | datetime | None = None) -> Iterator[MessageEvent]:
        """Every message of the account as it arrives, once each, over cuts and restarts, without an end."""
        for event_id, event in follow(self._transport, "/v1/events", given(since=since)):
            message = MessageSummary.of(self._transport, event["message"])
            yield MessageEvent(event_id, event["inboxId"], message)

    def refusals(
        self, *, since: str | datetime | None = None, address: str | None = None, limit: int | None = None
    ) -> list[api.RefusedMail]:
        """Mail that SMTP refused, newest first."""
        query = given(since=since, address=address, limit=limit)
        answer = self.request("GET", "/v1/refusals", query=query)
        return [api.RefusedMail.from_json(one) for one in answer["refusals"]]

    def report(self, labels: dict[str, str]) -> api.RunReport:
        """What became of the mail of a test run, also for 24 hours after its inboxes end.

        `labels` are those of its inboxes, at least one.
        """
        return api.RunReport.from_json(self.request("GET", "/v1/reports/runs", query=_label_query(labels)))

    def labels(self, name: str | None = None, *, limit: int = PAGE) -> list[api.Label]:
        """The newest labels of live inboxes, with the number of inboxes that have each. name: only those."""
        answer = self.request("GET", "/v1/labels", query=given(name=name, limit=limit))
        return [api.Label.from_json(one) for one in answer["labels"]]

    def generate_address(self, domain: str | None = None) -> api.GeneratedAddress:
        """A free address, held for ten minutes."""
        answer = self.request("POST", "/v1/addresses/generate", body=given(domain=domain))
        return api.GeneratedAddress.from_json(answer)

    def set_provider(
        self, name: str, *, webhook_url: str | None = None, inbound_url: str | None = None
    ) -> api.ProviderSettings:
        """Where the events and replies of a provider go. A URL that is not given is removed."""
        body = given(webhook_url=webhook_url, inbound_url=inbound_url)
        return api.ProviderSettings.from_json(self.request("PUT", path_of("v1", "providers", name), body=body))

    def provider(self, name: str) -> api.ProviderSettings:
        return api.ProviderSettings.from_json(self.request("GET", path_of("v1", "providers", name)))

    def delete_provider(self, name: str) -> None:
        self.request("DELETE", path_of("v1", "providers", name))

    def usage(self) -> api.Usage:
        return api.Usage.from_json(self.request("GET", "/v1/usage"))

    def domains(self) -> list[api.ServedDomain]:
        return [api.ServedDomain.from_json(one) for one in self.request("GET", "/v1/domains")["domains"]]

    def close(self) -> None:
        """Closes the connection of this thread."""
        self._transport.close()
