"""What people write before they have read the documentation, and what surrounds their tests."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from conftest import Send
from mayfly import ConnectionFailedError, Inbox, LimitError, Mayfly, MessageSummary, WaitTimeoutError

NOTHING: dict[str, Any] = {
    "reason": "timeout",
    "summary": "No message arrived.",
    "seenCount": 0,
    "seen": [],
    "refused": [],
    "nearMisses": [],
    "otherMail": [],
    "failedHandshakes": [],
}


def test_refuses_milliseconds(mail_inbox: Inbox) -> None:
    with pytest.raises(ValueError, match="lives for 900 seconds, which is less than a timeout of 5000"):
        mail_inbox.wait_for_code(timeout=5000)
    with pytest.raises(ValueError, match="Times are in seconds, not in milliseconds"):
        mail_inbox.expect_silence(within=2000)
    with pytest.raises(TypeError, match='A silence has no "timeout"'):
        mail_inbox.expect_silence(timeout=2)  # type: ignore[call-arg]


def test_refuses_a_coroutine_as_where(mail_inbox: Inbox, send: Send) -> None:
    async def where(_: object) -> bool:
        return False

    send(mail_inbox.address, "One")
    with pytest.raises(TypeError, match='"where" returned a coroutine'):
        mail_inbox.wait_for_message(where=where)  # type: ignore[arg-type]


def test_a_wait_ends_though_the_clock_is_stopped(
    mail_inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("time.monotonic", lambda: 1000.0)
        with pytest.raises(WaitTimeoutError, match="Waited 0.2 s for a mail"):
            mail_inbox.wait_for_message(timeout=0.2)


def test_a_long_wait_ends_though_the_clock_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: list[float] = []

    def request(_: object, *__: str, body: dict[str, Any], **___: object) -> dict[str, Any]:
        seconds.append(body["timeoutSeconds"])
        return {"matched": False, "messages": [], "cursor": "cur_1", "explanation": NOTHING}

    monkeypatch.setattr("mayfly._transport.Transport.request", request)
    with monkeypatch.context() as patch:
        patch.setattr("time.monotonic", lambda: 1000.0)
        with pytest.raises(WaitTimeoutError, match="Waited 60 s"):
            Mayfly("http://mayfly.test", "x").inbox("inb_1").wait_for_message(timeout=60)
    assert seconds == [25, 25, 10]


def test_names_a_time_of_a_clock_that_is_ahead(mail_inbox: Inbox, send: Send) -> None:
    send(mail_inbox.address, "One")
    since = datetime.now(timezone.utc) + timedelta(hours=1)
    with pytest.raises(WaitTimeoutError, match="in the future: pass a cursor rather than a time of another clock"):
        mail_inbox.wait_for_message(subject="One", since=since, timeout=0.01)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="This system has no fork.")
def test_a_forked_process_does_not_share_the_connection(
    mail_inbox_factory: Callable[..., Inbox],
) -> None:
    program = """
import os, sys
from mayfly import Mayfly
mayfly = Mayfly()
mayfly.usage()
ids = sys.argv[1:]
child = os.fork()
try:
    mine = ids[0 if child else 1]
    assert all(mayfly.get_inbox(mine).id == mine for _ in range(50))
except BaseException as error:
    print(repr(error), flush=True)
    os._exit(1)
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    ids = [mail_inbox_factory().id for _ in range(2)]
    done = subprocess.run([sys.executable, "-c", program, *ids], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_next_request_does_not_get_the_response_of_an_interrupted_one(
    mayfly: Mayfly, mail_inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(http.client.HTTPConnection, "getresponse", interrupt)
        with pytest.raises(KeyboardInterrupt):
            mayfly.usage()
    # A request that is not repeated.
    assert mail_inbox.inject(b"Subject: One\r\n\r\none").subject == "One"


def test_retry_after_zero_is_no_loop_without_pauses() -> None:
    requests: list[str] = []

    class Limited(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            requests.append(self.path)
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(429)
            self.send_header("retry-after", "0")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Limited) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        client = Mayfly(f"http://127.0.0.1:{server.server_port}", "x")
        with pytest.raises(LimitError):
            client.inbox("inb_1").wait_for_message(timeout=0.5)
        client.close()
        server.shutdown()
    # Pauses of 0.1, 0.2, 0.4 s …; without them it were hundreds.
    assert len(requests) < 10


@pytest.mark.parametrize(
    ("cause", "advice"),
    [
        ("certificate verify failed: Hostname mismatch", "a name that the certificate of the server has"),
        ("certificate verify failed: IP address mismatch", "a name that the certificate of the server has"),
        ("certificate verify failed: certificate has expired", "Renew the certificate"),
        ("certificate verify failed: self-signed certificate", "SSL_CERT_FILE"),
    ],
)
def test_a_wrong_certificate_says_what_to_do(cause: str, advice: str) -> None:
    assert advice in str(ConnectionFailedError("https://a.example", 1, OSError(cause)))


@pytest.mark.parametrize("folder", ["", "/tools/mail"])
def test_a_folder_of_a_reverse_proxy_is_part_of_every_url(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a public URL that the server knows, and with one that it does not know."""
    url = f"http://proxy.test{folder}/preview/pv_1"
    monkeypatch.setattr("mayfly._transport.Transport.request", lambda *_, **__: {"url": url})
    transport = Mayfly("http://proxy.test/tools/mail", "x")._transport
    mail = MessageSummary.of(transport, {"id": "msg_1", "inboxId": "inb_1"})
    assert mail.preview_url() == "http://proxy.test/tools/mail/preview/pv_1"
