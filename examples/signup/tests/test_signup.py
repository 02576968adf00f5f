"""The same application, tested by pytest: pytest -n 10"""

import os
import urllib.parse
import urllib.request

import pytest

APP = os.environ.get("APP", f"http://127.0.0.1:{os.environ.get('PORT', '3000')}")


def get(url):
    with urllib.request.urlopen(urllib.parse.urljoin(APP, url), timeout=30) as response:
        return response.read().decode()


def post(path, **fields):
    data = urllib.parse.urlencode(fields).encode()
    with urllib.request.urlopen(APP + path, data, timeout=30) as response:
        return response.read().decode()


@pytest.mark.parametrize("customer", range(10))
def test_sign_up(mail_inbox, match_mail, customer):
    post("/signup", email=mail_inbox.address)
    code = mail_inbox.wait_for_code(subject="confirm")
    assert "Welcome" in post("/confirm", email=mail_inbox.address, code=code)
    match_mail(mail_inbox.wait_for_message(subject="welcome"), "welcome")
    mail_inbox.expect_silence(within=0.5)


@pytest.mark.parametrize("customer", range(10))
def test_sign_in_with_a_link(mail_inbox, customer):
    post("/login", email=mail_inbox.address)
    link = mail_inbox.wait_for_link(href="/magic")
    assert mail_inbox.address in get(link)
    assert "This link was used" in get(link)


@pytest.mark.parametrize("customer", range(10))
def test_reset(mail_inbox, customer):
    post("/forgot", email=mail_inbox.address)
    link = mail_inbox.wait_for_link(kind="reset")
    token = urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["token"][0]
    assert "Choose a password" in get(link)
    assert "Welcome back" in post("/reset", token=token, password="a new one")
