"""Every operation of openapi.json has a method of the Python client."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mayfly import Inbox, Mayfly, Message, api

OPENAPI = Path(__file__).parents[2] / "openapi.json"


class Requested(Exception):
    """Ends a method at its first request."""


RECORDING = b""
ATTACHMENT = {"url": "http://mayfly.test/v1/inboxes/I/messages/M/attachments/A"}

METHODS: dict[str, Callable[[Mayfly, Inbox, Message], Any]] = {
    "POST /v1/inboxes": lambda mayfly, inbox, mail: mayfly.create_inbox(),
    "GET /v1/inboxes": lambda mayfly, inbox, mail: mayfly.inboxes(),
    "DELETE /v1/inboxes": lambda mayfly, inbox, mail: mayfly.delete_inboxes({"run": "4711"}),
    "GET /v1/inboxes/{id}": lambda mayfly, inbox, mail: mayfly.get_inbox("I"),
    "PATCH /v1/inboxes/{id}": lambda mayfly, inbox, mail: inbox.extend(5),
    "DELETE /v1/inboxes/{id}": lambda mayfly, inbox, mail: inbox.delete(),
    "PUT /v1/inboxes/{id}/faults": lambda mayfly, inbox, mail: inbox.set_faults({"at": "data", "delayMs": 2000}),
    "GET /v1/inboxes/{id}/faults": lambda mayfly, inbox, mail: inbox.faults(),
    "DELETE /v1/inboxes/{id}/faults": lambda mayfly, inbox, mail: inbox.clear_faults(),
    "GET /v1/inboxes/{id}/messages": lambda mayfly, inbox, mail: inbox.messages(),
    "GET /v1/inboxes/{id}/messages/{messageId}": lambda mayfly, inbox, mail: inbox.read("M"),
    "GET /v1/inboxes/{id}/messages/{messageId}/raw": lambda mayfly, inbox, mail: mail.raw(),
    "GET /v1/inboxes/{id}/messages/{messageId}/attachments/{attachmentId}": (
        lambda mayfly, inbox, mail: mail.attachment(api.Attachment.from_json(ATTACHMENT))
    ),
    "POST /v1/inboxes/{id}/messages/{messageId}/preview": lambda mayfly, inbox, mail: mail.preview_url(),
    "GET /v1/inboxes/{id}/messages/{messageId}/lint": lambda mayfly, inbox, mail: mail.lint(),
    "GET /v1/inboxes/{id}/messages/{messageId}/timeline": lambda mayfly, inbox, mail: mail.timeline(),
    "POST /v1/inboxes/{id}/wait": lambda mayfly, inbox, mail: inbox.wait_for_message(timeout=0),
    "GET /v1/inboxes/{id}/waits/{waitId}": lambda mayfly, inbox, mail: inbox.failed_wait("W"),
    "GET /v1/labels": lambda mayfly, inbox, mail: mayfly.labels("run"),
    "PATCH /v1/inboxes/{id}/messages/{messageId}": lambda mayfly, inbox, mail: mail.mark(read=True),
    "GET /v1/reports/runs": lambda mayfly, inbox, mail: mayfly.report({"run": "4711"}),
    "POST /v1/addresses/generate": lambda mayfly, inbox, mail: mayfly.generate_address(),
    "GET /v1/inboxes/{id}/events": lambda mayfly, inbox, mail: next(inbox.stream()),
    "POST /v1/inboxes/{id}/messages": lambda mayfly, inbox, mail: inbox.inject(b"Subject: Code\n\nYour code is 482913."),
    "DELETE /v1/inboxes/{id}/messages": lambda mayfly, inbox, mail: inbox.empty(),
    "DELETE /v1/inboxes/{id}/messages/{messageId}": lambda mayfly, inbox, mail: mail.delete(),
    "PUT /v1/inboxes/{id}/outcomes": lambda mayfly, inbox, mail: inbox.set_outcomes({"outcome": "complaint"}),
    "GET /v1/inboxes/{id}/outcomes": lambda mayfly, inbox, mail: inbox.outcomes(),
    "DELETE /v1/inboxes/{id}/outcomes": lambda mayfly, inbox, mail: inbox.clear_outcomes(),
    "POST /v1/inboxes/{id}/advance": lambda mayfly, inbox, mail: inbox.advance("3d"),
    "GET /v1/inboxes/{id}/sent": lambda mayfly, inbox, mail: inbox.sent(),
    "GET /v1/inboxes/{id}/threads": lambda mayfly, inbox, mail: inbox.threads(),
    "POST /v1/inboxes/{id}/messages/{messageId}/reply": lambda mayfly, inbox, mail: mail.reply("Thanks!"),
    "PUT /v1/providers/{name}": (
        lambda mayfly, inbox, mail: mayfly.set_provider("N", webhook_url="https://shop.example/events")
    ),
    "GET /v1/providers/{name}": lambda mayfly, inbox, mail: mayfly.provider("N"),
    "DELETE /v1/providers/{name}": lambda mayfly, inbox, mail: mayfly.delete_provider("N"),
    "POST /v1/inboxes/{id}/expire": lambda mayfly, inbox, mail: inbox.expire(),
    "GET /v1/inboxes/{id}/export": lambda mayfly, inbox, mail: inbox.export(),
    "POST /v1/inboxes/import": lambda mayfly, inbox, mail: mayfly.import_inbox(RECORDING),
    "GET /v1/messages": lambda mayfly, inbox, mail: mayfly.search("receipt"),
    "GET /v1/refusals": lambda mayfly, inbox, mail: mayfly.refusals(),
    "GET /v1/events": lambda mayfly, inbox, mail: next(mayfly.stream()),
    "GET /v1/usage": lambda mayfly, inbox, mail: mayfly.usage(),
    "GET /v1/domains": lambda mayfly, inbox, mail: mayfly.domains(),
    "POST /v1/keys": lambda mayfly, inbox, mail: mayfly.keys.create("ci", scope="read"),
    "GET /v1/keys": lambda mayfly, inbox, mail: mayfly.keys.list(),
    "DELETE /v1/keys/{id}": lambda mayfly, inbox, mail: mayfly.keys.delete("K"),
    "POST /v1/webhooks": lambda mayfly, inbox, mail: mayfly.webhooks.create("https://shop.example/hooks"),
    "GET /v1/webhooks": lambda mayfly, inbox, mail: mayfly.webhooks.list(),
    "GET /v1/webhooks/{id}": lambda mayfly, inbox, mail: mayfly.webhooks.get("W"),
    "PATCH /v1/webhooks/{id}": lambda mayfly, inbox, mail: mayfly.webhooks.update("W", enabled=False),
    "DELETE /v1/webhooks/{id}": lambda mayfly, inbox, mail: mayfly.webhooks.delete("W"),
    "POST /v1/webhooks/{id}/rotate-secret": lambda mayfly, inbox, mail: mayfly.webhooks.rotate_secret("W"),
    "POST /v1/webhooks/{id}/test": lambda mayfly, inbox, mail: mayfly.webhooks.test("W"),
    "GET /v1/webhooks/{id}/deliveries": lambda mayfly, inbox, mail: mayfly.webhooks.deliveries("W"),
    "POST /v1/webhooks/{id}/deliveries/{deliveryId}/replay": (
        lambda mayfly, inbox, mail: mayfly.webhooks.replay("W", "D")
    ),
    "POST /v1/webhooks/{id}/deliveries/replay": (
        lambda mayfly, inbox, mail: mayfly.webhooks.replay_many("W", state="failed")
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
        mail = Message.of(mayfly._transport, {"id": "M", "inboxId": "I", "attachments": [ATTACHMENT]})
        METHODS[operation](mayfly, mayfly.inbox("I"), mail)
    assert re.fullmatch(re.sub(r"{\w+}", "[A-Z]", operation), requests[0])
