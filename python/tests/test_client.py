from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
import smtplib
import threading
import time
from datetime import datetime, timedelta, timezone
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlencode

import pytest
from conftest import Send
from mayfly import (
    AmbiguousError,
    ApiError,
    AsyncInbox,
    ConnectionFailedError,
    GoneError,
    Inbox,
    Mayfly,
    MayflyError,
    NotFoundError,
    ScopeError,
    UnexpectedMessageError,
    WaitTimeoutError,
    WebhookVerificationError,
    webhook,
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
    shown = re.sub(r"wai_\w+", "wai_1", str(raised.value))
    summary, *table = re.sub(r"\d\d:\d\d:\d\d", "12:03:07", shown).split("\n")
    assert summary == raised.value.explanation.summary
    assert summary.startswith("1 message arrived")
    assert table == [
        f'  Waited 0.5 s for a mail with subject "reset" to {mail_inbox.address}.',
        "  1 other mail came (times in UTC):",
        '    12:03:07  subject is "Welcome to Shop"  from no-reply@shop.example',
        f"  Look: {mail_inbox.console_url}/why?wait=wai_1&subject=reset&{label}",
    ]
    failed = mail_inbox.failed_wait(str(raised.value.wait_id))
    assert failed.explanation == raised.value.explanation


def test_names_both_conditions_and_how_to_take_a_code_and_a_link_from_one_mail(
    mail_inbox: Inbox, send: Send
) -> None:
    html = '<p>Your code is 482913.</p><a href="https://a.example/confirm?t=1">Confirm</a>'
    send(mail_inbox.address, "Confirm", "Your code is 482913.", html)
    assert mail_inbox.wait_for_code() == "482913"
    with pytest.raises(WaitTimeoutError, match=r"matches, but the wait before returned it\. .* mail\.link\(\)"):
        mail_inbox.wait_for_link(timeout=0.1)
    mail = mail_inbox.wait_for_message(subject="confirm", since="start")
    assert (mail.code(), mail.link()) == ("482913", "https://a.example/confirm?t=1")


def test_says_that_a_message_failed_what_only_the_client_checks(mail_inbox: Inbox, send: Send) -> None:
    send(mail_inbox.address, "Welcome")
    with pytest.raises(WaitTimeoutError, match="^A message arrived, but did not meet what the client checks itself: subject"):
        mail_inbox.wait_for_message(subject=re.compile("reset"), timeout=0.1)


def test_expects_silence(mail_inbox: Inbox, send: Send) -> None:
    mail_inbox.expect_silence(within=0.2, subject="invoice")
    send(mail_inbox.address, "Your invoice")
    with pytest.raises(UnexpectedMessageError, match="Your invoice"):
        mail_inbox.expect_silence(within=0.2, subject="invoice")


def test_expects_exactly_so_many_messages(mail_inbox: Inbox, send: Send) -> None:
    assert mail_inbox.expect_exactly(0, within=0.1) == []
    send(mail_inbox.address, "One")
    send(mail_inbox.address, "Two")
    assert [mail.subject for mail in mail_inbox.expect_exactly(2, within=0.1)] == ["One", "Two"]
    assert mail_inbox.wait_for_message().subject == "One"
    with pytest.raises(WaitTimeoutError, match="2 of 3 messages arrived"):
        mail_inbox.expect_exactly(3, within=0.1, timeout=0.1)
    send(mail_inbox.address, "Two")
    with pytest.raises(UnexpectedMessageError, match=r"^More than 2 mails reached .*the application sent it twice"):
        mail_inbox.expect_exactly(2, within=0.1)
    with pytest.raises(MayflyError, match="from 0 to 50, not 51"):
        mail_inbox.expect_exactly(51)


def test_refuses_conditions_that_it_does_not_know(mail_inbox: Inbox) -> None:
    with pytest.raises(TypeError, match='"subjekt" is not an argument of a wait. Did you mean "subject"'):
        mail_inbox.wait_for_message(subjekt="x")  # type: ignore[call-arg]


def test_reads_and_lists(mail_inbox: Inbox, send: Send) -> None:
    send(mail_inbox.address, "One")
    send(mail_inbox.address, "Two", "text", "<p>html</p>")
    newest, oldest = mail_inbox.messages()
    assert (newest.subject, oldest.subject) == ("Two", "One")
    assert newest.from_ is not None and newest.from_.address == "no-reply@shop.example"
    message = mail_inbox.read(newest.id)
    assert message.html is not None and "<p>html</p>" in message.html
    assert b"Subject: Two" in newest.raw()
    assert "committed" in [event.event for event in newest.timeline()]
    assert mail_inbox.set_faults({"at": "rcpt", "delayMs": 5}) == mail_inbox.faults() != []
    mail_inbox.clear_faults()
    assert mail_inbox.faults() == []
    assert "missing-date" in [finding.rule for finding in newest.lint()]
    assert [one.subject for one in mail_inbox.messages(subject="one")] == ["One"]
    assert len(mail_inbox.messages(limit=1)) == 1


def test_marks_messages_and_counts_labels(mayfly: Mayfly, mail_inbox: Inbox) -> None:
    mail = mail_inbox.inject("Subject: Marked\r\n\r\nhello")
    mail_inbox.inject("Subject: Unmarked\r\n\r\nhello")
    marked = mail.mark(read=True, tags=["reviewed"])
    assert (marked.read_at is not None, marked.tags) == (True, ["reviewed"])
    assert marked.mark(read=False).read_at is None
    assert [one.subject for one in mail_inbox.messages(q="tag:reviewed")] == ["Marked"]
    assert mail_inbox.labels["test"] in [label.value for label in mayfly.labels("test")]


def test_injects_exports_imports_deletes_and_empties(mayfly: Mayfly, mail_inbox: Inbox) -> None:
    mail = mail_inbox.inject("Subject: Recorded\r\n\r\nYour code is 482913.", mail_from="a@b.example")
    assert (mail.subject, mail.code()) == ("Recorded", "482913")
    with mayfly.import_inbox(mail_inbox.export(), speed=10) as copy:
        assert copy.wait_for_code(subject="recorded") == "482913"
    mail.delete()
    mail_inbox.inject(b"Subject: Second\r\n\r\nsecond")
    mail_inbox.empty()
    assert mail_inbox.messages() == []
    mail_inbox.expire()
    with pytest.raises(GoneError):
        mail_inbox.messages()


def test_returns_typed_results_of_the_account(mayfly: Mayfly, mail_inbox: Inbox, send: Send) -> None:
    assert mayfly.usage().limits.max_messages_per_inbox is not None
    assert mayfly.domains()[0].domain == mail_inbox.address.split("@")[1]
    assert mayfly.generate_address().held_until > datetime.now(timezone.utc)
    key = mayfly.keys.create("reader", scope="read", expires_at=datetime.now(timezone.utc) + timedelta(days=1))
    assert key.id in [one.id for one in mayfly.keys.list()]
    mayfly.keys.delete(key.id)
    send(mail_inbox.address, "Needle in a haystack")
    found = mayfly.search("needle haystack", rcpt_to=mail_inbox.address)
    assert [(one.subject, one.inbox_id) for one in found] == [("Needle in a haystack", mail_inbox.id)]
    assert mayfly.report({"test": mail_inbox.labels["test"]}).totals.messages == 1


def test_verifies_webhooks() -> None:
    secret = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
    event = {"id": "evt_1", "type": "message.received", "timestamp": "2026-11-22T05:06:07.890Z", "data": {}}
    body = json.dumps(event).encode()
    key = base64.b64decode(secret[6:])
    signature = base64.b64encode(hmac.new(key, b"evt_1.1000." + body, hashlib.sha256).digest()).decode()
    headers = {
        "Webhook-Id": "evt_1",
        "Webhook-Timestamp": "1000",
        "Webhook-Signature": f"v1a,x v1,%%% v1,{signature}",
    }
    assert webhook.verify(body, headers, secret, now=1100).timestamp.minute == 6
    assert webhook.verify(body.decode(), headers, secret, now=700).id == "evt_1"
    wrong: list[tuple[Any, dict[str, str], Any, float, str]] = [
        (body + b" ", headers, secret, 1000, "does not match"),
        (body, headers, "whsec_" + base64.b64encode(b"another").decode(), 1000, "does not match"),
        (body, headers, secret, 1301, "more than 300 seconds"),
        (body, {**headers, "Webhook-Timestamp": "1000x"}, secret, 1000, "more than 300 seconds"),
        (body, {}, secret, 1000, '"webhook-id"'),
        (body, headers, "whsec_", 1000, "There is no secret"),
        (body, headers, None, 1000, "There is no secret"),
        (event, headers, secret, 1000, "not parsed JSON"),
    ]
    for given, sent, key_text, now, reason in wrong:
        with pytest.raises(WebhookVerificationError, match=reason):
            webhook.verify(given, sent, key_text, now=now)


def test_opens_a_message_in_a_page(mail_inbox: Inbox, send: Send) -> None:
    opened: list[str] = []

    class Page:
        def goto(self, url: str) -> None:
            opened.append(url)

    send(mail_inbox.address, "Shown", "x", "<h1>Shown</h1>")
    mail_inbox.wait_for_message().open(Page())
    assert "/preview/" in opened[0]

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
        assert mayfly.report(labels).totals.inboxes == 1
    with pytest.raises(NotFoundError):
        mayfly.get_inbox(inbox.id)


def test_an_inbox_has_a_telephone_number_if_it_was_asked_for(mayfly: Mayfly, mail_inbox: Inbox) -> None:
    with mayfly.create_inbox(sms=True) as inbox:
        assert inbox.address.startswith(f"{inbox.phone_number[1:]}@")
    with pytest.raises(MayflyError, match="create the inbox with sms=True"):
        _ = mail_inbox.phone_number


def test_names_what_to_do_when_no_server_responds() -> None:
    with pytest.raises(ConnectionFailedError, match="did not respond in 2 attempts.*Start a server with"):
        Mayfly("http://127.0.0.1:9", "x", retries=1).request("GET", "/v1/usage")


def test_refuses_a_url_without_a_scheme() -> None:
    with pytest.raises(MayflyError, match='"localhost:8025" is not the URL of a server'):
        Mayfly("localhost:8025", "x")


def test_needs_no_key_on_this_machine_and_gives_it_to_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAYFLY_API_KEY", raising=False)
    for url in ("http://127.0.0.1:8025", "http://localhost:9", "http://[::1]:8025/mail"):
        assert Mayfly(url)._transport.settings.credential == "dev"
    for url in ("https://mail.example", "http://localhost.example", "http://127.0.0.1.example"):
        with pytest.raises(MayflyError, match=f"There is no API key for {re.escape(url)}: set MAYFLY_API_KEY"):
            Mayfly(url)


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
    for which in (message.attachments[0], "a.json"):
        assert message.attachment(which) == b'{"a": 1}'
    with pytest.raises(MayflyError, match="no attachment 'b.json'. Attachments: \"a.json\""):
        message.attachment("b.json")
