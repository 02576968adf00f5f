"""The tests need a server: MAYFLY_URL, MAYFLY_API_KEY and MAYFLY_SMTP. packages/client/test/python.test.ts starts one."""

from __future__ import annotations

import smtplib
from collections.abc import Callable
from email.message import EmailMessage

import pytest

pytest_plugins = ["pytester"]

Send = Callable[..., None]


@pytest.fixture
def send(mayfly_smtp: tuple[str, int]) -> Send:
    """Sends a mail as an application does."""

    def deliver(to: str, subject: str, text: str = "hello", html: str | None = None) -> None:
        mail = EmailMessage()
        mail["From"] = "Shop <no-reply@shop.example>"
        mail["To"] = to
        mail["Subject"] = subject
        mail.set_content(text)
        if html is not None:
            mail.add_alternative(html, subtype="html")
        with smtplib.SMTP(*mayfly_smtp) as server:
            server.send_message(mail)

    return deliver
