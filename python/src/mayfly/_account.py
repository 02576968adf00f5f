"""What belongs to the account and not to one inbox: webhooks and keys."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from . import api
from ._json import given
from ._transport import Transport, path_of


# Inside of the classes `list` is their method.
KeyList = list[api.Key]
WebhookList = list[api.Webhook]
DeliveryList = list[api.WebhookDelivery]


class Webhooks:
    """`Mayfly.webhooks`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self, url: str, *, inbox_id: str | None = None, description: str | None = None
    ) -> api.WebhookWithSecret:
        """With its `secret`, which is shown only now."""
        body = given(url=url, inbox_id=inbox_id, description=description)
        return api.WebhookWithSecret.from_json(self._call("POST", body=body))

    def list(self, *, limit: int | None = None) -> WebhookList:
        """Newest first."""
        found = self._transport.list("/v1/webhooks", "webhooks", limit)
        return [api.Webhook.from_json(one) for one in found]

    def get(self, webhook_id: str) -> api.Webhook:
        return api.Webhook.from_json(self._call("GET", webhook_id))

    def update(
        self,
        webhook_id: str,
        *,
        url: str | None = None,
        enabled: bool | None = None,
        description: str | None = None,
    ) -> api.Webhook:
        body = given(url=url, enabled=enabled, description=description)
        return api.Webhook.from_json(self._call("PATCH", webhook_id, body=body))

    def delete(self, webhook_id: str) -> None:
        self._call("DELETE", webhook_id)

    def rotate_secret(self, webhook_id: str) -> api.WebhookWithSecret:
        return api.WebhookWithSecret.from_json(self._call("POST", webhook_id, "rotate-secret"))

    def test(self, webhook_id: str) -> api.WebhookDelivery:
        """Sends a test event."""
        return api.WebhookDelivery.from_json(self._call("POST", webhook_id, "test"))

    def deliveries(
        self, webhook_id: str, *, state: str | None = None, limit: int | None = None
    ) -> DeliveryList:
        """Newest first."""
        path = path_of("v1", "webhooks", webhook_id, "deliveries")
        found = self._transport.list(path, "deliveries", limit, {"state": state})
        return [api.WebhookDelivery.from_json(one) for one in found]

    def replay(self, webhook_id: str, delivery_id: str) -> api.WebhookDelivery:
        answer = self._call("POST", webhook_id, "deliveries", delivery_id, "replay")
        return api.WebhookDelivery.from_json(answer)

    def replay_many(self, webhook_id: str, *, state: str, since: datetime | None = None) -> int:
        """Replays all deliveries in a state, such as "failed"; returns how many."""
        body = given(state=state, since=since)
        return int(self._call("POST", webhook_id, "deliveries", "replay", body=body)["replayed"])

    def _call(self, method: str, *path: str, **options: Any) -> Any:
        return self._transport.request(method, path_of("v1", "webhooks", *path), **options)


class Keys:
    """`Mayfly.keys`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self, name: str, *, scope: str = "full", expires_at: datetime | None = None
    ) -> api.CreatedKey:
        """With its `key`, which is shown only now. scope: "full" or "read"."""
        body = given(name=name, scope=scope, expires_at=expires_at)
        return api.CreatedKey.from_json(self._transport.request("POST", "/v1/keys", body=body))

    def list(self) -> KeyList:
        return [api.Key.from_json(one) for one in self._transport.request("GET", "/v1/keys")["keys"]]

    def delete(self, key_id: str) -> None:
        self._transport.request("DELETE", path_of("v1", "keys", key_id))
