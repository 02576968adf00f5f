"""Streams of events that continue over cuts: each new connection begins after the last complete event."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

from ._transport import Transport, pause_before
from .errors import ApiError

SILENCE = 40.0
"""Seconds. The server writes a line every 15: a silence this long is a dead connection."""


def follow(transport: Transport, path: str, query: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The id and data of every event. Raises ApiError when the stream cannot continue: the inbox ended, the key was revoked."""
    last: str | None = None
    failures = 0
    while True:
        headers = {} if last is None else {"last-event-id": last}
        try:
            for event_id, data in _events(transport, path, query, headers):
                failures = 0
                last = event_id or last
                if data is not None:
                    yield last or "", json.loads(data)
        except ApiError as error:
            if pause_before(error, 1) is None:
                raise
        except (OSError, http.client.HTTPException):
            pass
        failures += 1
        time.sleep(pause_before(OSError(), failures) or 0)


def _events(
    transport: Transport, path: str, query: dict[str, Any], headers: dict[str, str]
) -> Iterator[tuple[str | None, str | None]]:
    """Id and data of the events of one connection; one that is cut in the middle is left out."""
    connection, response = transport.open_stream(path, query, headers, SILENCE)
    try:
        fields: dict[str, str] = {}
        for line in response:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            else:
                yield fields.get("id"), fields.get("data")
                fields = {}
    finally:
        connection.close()
