"""What belongs to the account and not to one inbox: webhooks and keys. Responses are the API's JSON."""

from __future__ import annotations

from typing import Any

from ._transport import Transport, path_of

Json = dict[str, Any]


class Webhooks:
    """`Mayfly.webhooks`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, url: str, **options: Any) -> Json:
        """With its `secret`. Options are fields of the API, such as `description`."""
        return self._call("POST", body={"url": url, **options})

    def list(self) -> Json:
        return self._call("GET")

    def get(self, webhook_id: str) -> Json:
        return self._call("GET", webhook_id)

    def update(self, webhook_id: str, **fields: Any) -> Json:
        return self._call("PATCH", webhook_id, body=fields)

    def delete(self, webhook_id: str) -> None:
        self._call("DELETE", webhook_id)

    def rotate_secret(self, webhook_id: str) -> Json:
        return self._call("POST", webhook_id, "rotate-secret")

    def test(self, webhook_id: str) -> Json:
        """Sends a test event."""
        return self._call("POST", webhook_id, "test")

    def deliveries(
        self,
        webhook_id: str,
        *,
        state: str | None = None,
        limit: int | None = None,
        before: str | None = None,
    ) -> Json:
        """A page, the newest first."""
        query = {"state": state, "limit": limit, "before": before}
        return self._call("GET", webhook_id, "deliveries", query=query)

    def replay(self, webhook_id: str, delivery_id: str) -> Json:
        return self._call("POST", webhook_id, "deliveries", delivery_id, "replay")

    def replay_many(self, webhook_id: str, **conditions: Any) -> Json:
        """Replays all deliveries in a state: `replay_many(id, state="failed")`."""
        return self._call("POST", webhook_id, "deliveries", "replay", body=conditions)

    def _call(self, method: str, *path: str, **options: Any) -> Json:
        result: Json = self._transport.request(method, path_of("v1", "webhooks", *path), **options)
        return result


class Keys:
    """`Mayfly.keys`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, **options: Any) -> Json:
        """With its `key`, which is shown only now. Options: `scope`, `expiresAt`."""
        result: Json = self._transport.request("POST", "/v1/keys", body={"name": name, **options})
        return result

    def list(self) -> list[Json]:
        keys: list[Json] = self._transport.request("GET", "/v1/keys")["keys"]
        return keys

    def delete(self, key_id: str) -> None:
        self._transport.request("DELETE", path_of("v1", "keys", key_id))
