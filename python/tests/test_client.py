from __future__ import annotations

import asyncio
import re
import smtplib
import threading
import time
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import urlencode

import pytest
from conftest import Send
from mayfly import (
    AmbiguousError,
    ApiError,
    AsyncInbox,
    ConnectionFailedError,
    Inbox,
    Mayfly,
    MayflyError,
    NotFoundError,
    ScopeError,
    UnexpectedMessageError,
    WaitTimeoutError,
)


def test_takes_a_code_that_comes_later(mail_inbox: Inbox, send: Send) -> None:
    timer = threading.Timer(0.2, send, (mail_inbox.address, "Confirm", "Your code is 482913."))
    timer.start()
    assert mail_inbox.wait_for_code(subject="confirm", timeout=10) == "482913"
    timer.join()


def test_returns_the_next_message_on_the_next_wait(mail_inbox: Inbox, send: Send) -> None:
    send(mail_inbox.address, "Code", "Your code is 111222.")
    assert mail_inbox.wait_for_code() == "111222"
    send(mail_inbox.address, "Code", "Your code is 333444.")
    assert mail_inbox.wait_for_code() == "333444"
    assert mail_inbox.wait_for_code(since="start") == "111222"


def test_takes_the_one_link_that_fits(mail_inbox: Inbox, send: Send) -> None:
    html = '<a href="https://a.example/verify?t=1&amp;u=2">Confirm</a> <a href="https://a.example/verify?t=2">Other</a>'
    send(mail_inbox.address, "Links", "x", html)
    assert mail_inbox.wait_for_link(href="t=1") == "https://a.example/verify?t=1&u=2"
    assert mail_inbox.wait_for_link(href=re.compile("t=2$"), since="start").endswith("t=2")
    with pytest.raises(AmbiguousError, match="verify.t=2") as raised:
        mail_inbox.wait_for_link(href="/verify", since="start")
    assert len(raised.value.candidates) == 2


def test_finds_codes_of_other_formats(mail_inbox: Inbox, send: Send) -> None:
    send(mail_inbox.address, "Ticket", "", "<p>Ticket <b>AB-</b>12&amp;x</p>")
    assert mail_inbox.wait_for_code(pattern=r"Ticket (AB-\d+&x)") == "AB-12&x"


def test_applies_patterns_to_every_message(mail_inbox: Inbox, send: Send) -> None:
    for number in range(1, 5):
        send(mail_inbox.address, f"Invoice {number}")
    found = mail_inbox.wait_for_messages(2, subject=re.compile("Invoice [24]"))
    assert [message.subject for message in found] == ["Invoice 2", "Invoice 4"]
    third = mail_inbox.wait_for_message(where=lambda message: message.subject.endswith("3"), since="start")
    assert third.subject == "Invoice 3"


def test_says_in_a_table_why_a_wait_failed(mail_inbox: Inbox, send: Send) -> None:
    send(mail_inbox.address, "Welcome to Shop")
    started = time.monotonic()
    with pytest.raises(WaitTimeoutError) as raised:
        mail_inbox.wait_for_message(subject="reset", timeout=0.5)
    # The default would be 30 s.
    assert time.monotonic() - started < 15
    label = urlencode({"label.run": mail_inbox.labels["run"]})
    text = re.sub(r"wai_\w+$", "wai_1", str(raised.value))
    assert re.sub(r"\d\d:\d\d:\d\d", "12:03:07", text) == (
        f'No mail with subject "reset" reached {mail_inbox.address} in 0.5 s.\n'
        "  1 other mail came (times in UTC):\n"
        '    12:03:07  subject is "Welcome to Shop"  from no-reply@shop.example\n'
        f"  Look: {mail_inbox.console_url}/why?subject=reset&{label}&wait=wai_1"
    )


def test_expects_silence(mail_inbox: Inbox, send: Send) -> None:
    mail_inbox.assert_silence(seconds=0.2, subject="invoice")
    send(mail_inbox.address, "Your invoice")
    with pytest.raises(UnexpectedMessageError, match="Your invoice"):
        mail_inbox.assert_silence(seconds=0.2, subject="invoice")


def test_refuses_conditions_that_it_does_not_know(mail_inbox: Inbox) -> None:
    with pytest.raises(TypeError, match='"subjekt" is not an argument of a wait. Did you mean "subject"'):
        mail_inbox.wait_for_message(subjekt="x")  # type: ignore[call-arg]


def test_reads_and_lists(mail_inbox: Inbox, send: Send) -> None:
    send(mail_inbox.address, "One")
    send(mail_inbox.address, "Two", "text", "<p>html</p>")
    newest, oldest = mail_inbox.messages()
    assert (newest.subject, oldest.subject) == ("Two", "One")
    assert newest.sender is not None and newest.sender.address == "no-reply@shop.example"
    message = mail_inbox.read(newest.id)
    assert message.html is not None and "<p>html</p>" in message.html
    assert b"Subject: Two" in mail_inbox.raw(newest.id)
    assert "committed" in [event["event"] for event in mail_inbox.timeline(newest.id)]
    assert mail_inbox.set_faults({"at": "rcpt", "delayMs": 5}) == mail_inbox.faults() != []
    mail_inbox.clear_faults()
    assert mail_inbox.faults() == []
    assert "missing-date" in [finding["rule"] for finding in mail_inbox.lint(newest.id)]


def test_opens_a_message_in_a_page(mail_inbox: Inbox, send: Send) -> None:
    opened: list[str] = []

    class Page:
        def goto(self, url: str) -> None:
            opened.append(url)

    send(mail_inbox.address, "Shown", "x", "<h1>Shown</h1>")
    mail_inbox.wait_for_message().open(Page())
    assert opened[0].startswith(("data:text/html", mail_inbox.console_url[:4]))

    class Refused:
        ok = False
        status = 503

    class BusyPage:
        def goto(self, url: str) -> Refused:
            return Refused()

    with pytest.raises(MayflyError, match="cannot be shown: .* responded 503"):
        mail_inbox.wait_for_message(since="start").open(BusyPage())


def test_reads_with_the_token_alone(mayfly: Mayfly, mail_inbox: Inbox) -> None:
    reader = mayfly.inbox(mail_inbox.id, mail_inbox.token)
    assert reader.address == mail_inbox.address
    with pytest.raises(ScopeError):
        reader.delete()


def test_deletes_and_extends(mayfly: Mayfly) -> None:
    # Reports count deleted inboxes too, also those of an earlier run against the same server.
    labels = {"purpose": f"delete {time.time()}"}
    with mayfly.create_inbox(ttl_minutes=5, labels=labels) as inbox:
        before = inbox.expires_at
        inbox.extend(60)
        assert inbox.expires_at > before
        assert [one.id for one in mayfly.inboxes(labels=labels)] == [inbox.id]
        assert mayfly.report(labels)["totals"]["inboxes"] == 1
    with pytest.raises(NotFoundError):
        mayfly.get_inbox(inbox.id)


def test_names_what_to_do_when_no_server_responds() -> None:
    with pytest.raises(ConnectionFailedError, match="did not respond in 2 attempts.*Check that Mayfly is running"):
        Mayfly("http://127.0.0.1:9", "x", retries=1).request("GET", "/v1/usage")


def test_refuses_a_url_without_a_scheme() -> None:
    with pytest.raises(MayflyError, match='"localhost:8025" is not the URL of a server'):
        Mayfly("localhost:8025", "x")


def test_says_that_another_program_answers() -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<h1>Another program</h1>")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.handle_request).start()
        mayfly = Mayfly(f"http://127.0.0.1:{server.server_port}", "x")
        with pytest.raises(ApiError, match="did not come from Mayfly: check MAYFLY_URL"):
            mayfly.get_inbox("inb_1")


def test_waits_in_a_coroutine(mail_inbox_async: AsyncInbox, send: Send) -> None:
    async def both() -> list[str]:
        waits = [mail_inbox_async.wait_for_code(subject=subject) for subject in ("one", "two")]
        later = asyncio.to_thread(send, mail_inbox_async.address, "two", "Your code is 222222.")
        send(mail_inbox_async.address, "one", "Your code is 111111.")
        first, second, _ = await asyncio.gather(*waits, later)
        return [first, second]

    assert asyncio.run(both()) == ["111111", "222222"]


@pytest.mark.parametrize("number", range(20))
def test_gives_each_test_an_inbox_of_its_own(mail_inbox: Inbox, send: Send, number: int) -> None:
    send(mail_inbox.address, "Code", f"Your code is {482900 + number}.")
    assert mail_inbox.wait_for_code() == str(482900 + number)
    assert len(mail_inbox.messages()) == 1


def test_returns_the_bytes_of_files_that_are_json(mail_inbox: Inbox, mayfly_smtp: tuple[str, int]) -> None:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "app@shop.example", mail_inbox.address, "File"
    mail.set_content("See the file.")
    mail.add_attachment(b'{"a": 1}', maintype="application", subtype="json", filename="a.json")
    with smtplib.SMTP(*mayfly_smtp) as server:
        server.send_message(mail)
    message = mail_inbox.wait_for_message(has_attachments=True)
    assert mail_inbox.attachment(message.attachments[0]) == b'{"a": 1}'
