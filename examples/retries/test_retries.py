import smtplib
import time

import pytest

LATER = {"code": 451, "text": "4.7.1 Greylisted"}


def send_with_retries(host, port, recipient, attempts=3):
    """How an application sends mail: again after 4yz replies and lost connections."""
    for attempt in range(1, attempts + 1):
        try:
            with smtplib.SMTP(host, port, timeout=10) as smtp:
                return smtp.sendmail("app@shop.example", recipient, "Subject: Your order\n\nThank you.")
        except smtplib.SMTPRecipientsRefused as error:
            is_final = all(code >= 500 for code, _ in error.recipients.values())
            if is_final or attempt == attempts:
                raise
        except (smtplib.SMTPServerDisconnected, smtplib.SMTPDataError):
            if attempt == attempts:
                raise
        time.sleep(0.1 * attempt)


@pytest.mark.parametrize("at", ["rcpt", "data", "end-of-data"])
def test_a_greylisted_mail_arrives_once(mail_inbox, mayfly_smtp, at):
    mail_inbox.set_faults({"at": at, "reply": LATER, "times": 2})
    send_with_retries(*mayfly_smtp, mail_inbox.address)
    mail_inbox.wait_for_message(subject="Your order")
    mail_inbox.expect_silence(within=0.5)
    assert [rule.left for rule in mail_inbox.faults()] == [0]


def test_a_lost_connection_costs_no_mail(mail_inbox, mayfly_smtp):
    mail_inbox.set_faults({"at": "end-of-data", "disconnect": True})
    send_with_retries(*mayfly_smtp, mail_inbox.address)
    mail_inbox.wait_for_message(subject="Your order")


def test_a_refused_address_is_tried_once(mail_inbox, mayfly_smtp):
    mail_inbox.set_faults({"at": "rcpt", "reply": {"code": 550}, "times": 5})
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        send_with_retries(*mayfly_smtp, mail_inbox.address)
    assert [rule.left for rule in mail_inbox.faults()] == [4]
