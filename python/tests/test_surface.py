"""Every operation of openapi.json has a method of the Python client."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mayfly import Attachment, Inbox, Mayfly

OPENAPI = Path(__file__).parents[2] / "openapi.json"


class Requested(Exception):
    """Ends a method at its first request."""


def _attachment() -> Attachment:
    attachment = object.__new__(Attachment)
    object.__setattr__(attachment, "url", "http://mayfly.test/v1/inboxes/I/messages/M/attachments/A")
    return attachment


METHODS: dict[str, Callable[[Mayfly, Inbox], Any]] = {
    "POST /v1/inboxes": lambda mayfly, inbox: mayfly.create_inbox(),
    "GET /v1/inboxes": lambda mayfly, inbox: next(mayfly.inboxes()),
    "DELETE /v1/inboxes": lambda mayfly, inbox: mayfly.delete_inboxes({"run": "1"}),
    "GET /v1/inboxes/{id}": lambda mayfly, inbox: mayfly.get_inbox("I"),
    "PATCH /v1/inboxes/{id}": lambda mayfly, inbox: inbox.extend(5),
    "DELETE /v1/inboxes/{id}": lambda mayfly, inbox: inbox.delete(),
    "PUT /v1/inboxes/{id}/faults": lambda mayfly, inbox: inbox.set_faults(),
    "GET /v1/inboxes/{id}/faults": lambda mayfly, inbox: inbox.faults(),
    "DELETE /v1/inboxes/{id}/faults": lambda mayfly, inbox: inbox.clear_faults(),
    "GET /v1/inboxes/{id}/messages": lambda mayfly, inbox: inbox.messages(),
    "GET /v1/inboxes/{id}/messages/{messageId}": lambda mayfly, inbox: inbox.read("M"),
    "PATCH /v1/inboxes/{id}/messages/{messageId}": lambda mayfly, inbox: inbox.mark("M", read=True),
    "GET /v1/inboxes/{id}/messages/{messageId}/raw": lambda mayfly, inbox: inbox.raw("M"),
    "GET /v1/inboxes/{id}/messages/{messageId}/attachments/{attachmentId}": (
        lambda mayfly, inbox: inbox.attachment(_attachment())
    ),
    "POST /v1/inboxes/{id}/messages/{messageId}/preview": lambda mayfly, inbox: inbox.preview("M"),
    "GET /v1/inboxes/{id}/messages/{messageId}/lint": lambda mayfly, inbox: inbox.lint("M"),
    "GET /v1/inboxes/{id}/messages/{messageId}/timeline": lambda mayfly, inbox: inbox.timeline("M"),
    "POST /v1/inboxes/{id}/wait": lambda mayfly, inbox: inbox.wait_for_message(timeout=0),
    "GET /v1/inboxes/{id}/waits/{waitId}": lambda mayfly, inbox: inbox.failed_wait("W"),
    "GET /v1/reports/runs": lambda mayfly, inbox: mayfly.report({"run": "1"}),
    "GET /v1/labels": lambda mayfly, inbox: mayfly.labels("run"),
    "POST /v1/addresses/generate": lambda mayfly, inbox: mayfly.generate_address(),
    "GET /v1/inboxes/{id}/events": lambda mayfly, inbox: next(inbox.follow()),
    "POST /v1/inboxes/{id}/messages": lambda mayfly, inbox: inbox.inject(b""),
    "DELETE /v1/inboxes/{id}/messages": lambda mayfly, inbox: inbox.delete_messages(),
    "DELETE /v1/inboxes/{id}/messages/{messageId}": lambda mayfly, inbox: inbox.delete_message("M"),
    "POST /v1/inboxes/{id}/expire": lambda mayfly, inbox: inbox.expire(),
    "GET /v1/inboxes/{id}/export": lambda mayfly, inbox: inbox.export(),
    "POST /v1/inboxes/import": lambda mayfly, inbox: mayfly.import_inbox(b""),
    "GET /v1/messages": lambda mayfly, inbox: next(mayfly.messages(q="x")),
    "GET /v1/refusals": lambda mayfly, inbox: mayfly.refusals(),
    "GET /v1/events": lambda mayfly, inbox: next(mayfly.events()),
    "GET /v1/usage": lambda mayfly, inbox: mayfly.usage(),
    "GET /v1/domains": lambda mayfly, inbox: mayfly.domains(),
    "POST /v1/keys": lambda mayfly, inbox: mayfly.keys.create("ci", scope="read"),
    "GET /v1/keys": lambda mayfly, inbox: mayfly.keys.list(),
    "DELETE /v1/keys/{id}": lambda mayfly, inbox: mayfly.keys.delete("K"),
    "POST /v1/webhooks": lambda mayfly, inbox: mayfly.webhooks.create("https://a.example"),
    "GET /v1/webhooks": lambda mayfly, inbox: mayfly.webhooks.list(),
    "GET /v1/webhooks/{id}": lambda mayfly, inbox: mayfly.webhooks.get("W"),
    "PATCH /v1/webhooks/{id}": lambda mayfly, inbox: mayfly.webhooks.update("W", isEnabled=False),
    "DELETE /v1/webhooks/{id}": lambda mayfly, inbox: mayfly.webhooks.delete("W"),
    "POST /v1/webhooks/{id}/rotate-secret": lambda mayfly, inbox: mayfly.webhooks.rotate_secret("W"),
    "POST /v1/webhooks/{id}/test": lambda mayfly, inbox: mayfly.webhooks.test("W"),
    "GET /v1/webhooks/{id}/deliveries": lambda mayfly, inbox: mayfly.webhooks.deliveries("W"),
    "POST /v1/webhooks/{id}/deliveries/{deliveryId}/replay": (
        lambda mayfly, inbox: mayfly.webhooks.replay("W", "D")
    ),
    "POST /v1/webhooks/{id}/deliveries/replay": (
        lambda mayfly, inbox: mayfly.webhooks.replay_many("W", state="failed")
    ),
}

# Sign-up needs no credential, and this client none without one.
WITHOUT_METHOD = {"POST /v1/accounts"}


def test_every_operation_has_a_method() -> None:
    paths = json.loads(OPENAPI.read_text())["paths"]
    operations = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert METHODS.keys() == operations - WITHOUT_METHOD


@pytest.mark.parametrize("operation", METHODS)
def test_a_method_requests_its_operation(operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[str] = []

    def request(self: object, method: str, path: str, **_: Any) -> Any:
        requests.append(f"{method} {path}")
        raise Requested

    monkeypatch.setattr("mayfly._transport.Transport.request", request)
    monkeypatch.setattr(
        "mayfly._transport.Transport.open_stream", lambda self, path, *_: request(self, "GET", path)
    )
    mayfly = Mayfly("http://mayfly.test", "x")
    with pytest.raises(Requested):
        METHODS[operation](mayfly, mayfly.inbox("I"))
    assert re.fullmatch(re.sub(r"{\w+}", "[A-Z]", operation), requests[0])
