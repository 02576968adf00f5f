"""What agent.js checks, as tests of pytest."""

import smtplib
from email.message import EmailMessage
from email.utils import formatdate, make_msgid

import pytest

def sign_up(host, port, address, attempts=3):
    """The application under test: it mails a code, and tries again when the server says so."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "app@shop.example", address, "Confirm your account"
    mail["Date"], mail["Message-ID"] = formatdate(), make_msgid(domain="shop.example")
    mail.set_content("Your code is 482913.")
    for attempt in range(1, attempts + 1):
        try:
            with smtplib.SMTP(host, port, timeout=10) as smtp:
                return smtp.send_message(mail)
        except (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError, smtplib.SMTPServerDisconnected):
            if attempt == attempts:
                raise


@pytest.fixture
def confirmed(mail_inbox, mayfly_smtp):
    """The mail of a sign-up on a bad day: refused twice, then served slowly."""
    later = {"code": 451, "text": "4.7.1 Greylisted, try again later"}
    mail_inbox.set_faults({"at": "rcpt", "reply": later, "times": 2}, {"at": "data", "delayMs": 200})
    sign_up(*mayfly_smtp, mail_inbox.address)
    return mail_inbox.wait_for_message(subject="Confirm", code=True)


def test_the_mail_survives_a_busy_and_slow_server(mail_inbox, confirmed):
    assert confirmed.code() == "482913"
    assert [rule.left for rule in mail_inbox.faults()] == [0, 0]


def test_the_mail_is_well_made(mail_inbox, confirmed):
    assert [finding for finding in confirmed.lint() if finding.severity == "error"] == []


def test_the_timeline_shows_the_delay_and_the_commit(mail_inbox, confirmed):
    events = confirmed.timeline()
    assert any(event.event == "fault" and "200 ms" in event.detail for event in events)
    assert "committed" in [event.event for event in events]


def test_a_recording_replays_byte_for_byte(mayfly, mail_inbox, confirmed):
    with mayfly.import_inbox(mail_inbox.export(), speed=10) as replayed:
        assert replayed.wait_for_message(code=True, timeout=20).raw() == confirmed.raw()


def test_a_wait_in_vain_names_the_fault_that_refused_the_mail(mail_inbox, mayfly_smtp):
    mail_inbox.set_faults({"at": "rcpt", "reply": {"code": 550, "text": "5.1.1 No such user"}})
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        sign_up(*mayfly_smtp, mail_inbox.address, attempts=1)
    with pytest.raises(AssertionError, match="5.1.1 No such user"):
        mail_inbox.wait_for_message(subject="Confirm", timeout=0.5)
