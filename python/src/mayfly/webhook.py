"""Verifies webhooks by the Standard Webhooks specification: `webhook.verify(body, headers, secret)`."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping

from . import api
from .errors import WebhookVerificationError

TOLERANCE = 300
"""Seconds. Older or newer requests are repetitions by somebody else, or a wrong clock."""


def _bytes_of(text: str) -> bytes:
    """The bytes of base64; none of text that is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def verify(
    body: bytes | str, headers: Mapping[str, str], secret: str, *, now: float | None = None
) -> api.MessageReceivedEvent:
    """The event of a request. Raises WebhookVerificationError: respond with 400 or 401.

    body: exactly as received, not parsed JSON. headers: as any framework has them. secret: whsec_…
    """
    given = {name.lower(): value for name, value in headers.items()}
    values = []
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if not given.get(name):
            raise WebhookVerificationError(
                f'The request has no header "{name}": it is not a webhook of Mayfly.'
            )
        values.append(given[name])
    event_id, timestamp, signatures = values
    sent_at = float(timestamp) if timestamp.isdigit() else 0.0
    if abs((time.time() if now is None else now) - sent_at) > TOLERANCE:
        raise WebhookVerificationError(
            f"The timestamp {timestamp} is more than {TOLERANCE} seconds from the time of this machine."
        )
    key = _bytes_of((secret or "").replace("whsec_", "", 1))
    if not key:
        raise WebhookVerificationError("There is no secret: it begins with whsec_.")
    if not isinstance(body, (bytes, str)):
        raise WebhookVerificationError("The body must be the text or bytes as received, not parsed JSON.")
    content = body.encode() if isinstance(body, str) else body
    signed = f"{event_id}.{timestamp}.".encode() + content
    wanted = hmac.new(key, signed, hashlib.sha256).digest()
    for signature in signatures.split(" "):
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(_bytes_of(value), wanted):
            return api.MessageReceivedEvent.from_json(json.loads(content))
    raise WebhookVerificationError("The signature does not match: another secret, or a changed body.")
