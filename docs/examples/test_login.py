import os

import pytest
import requests

from wait_for_mail import API, wait_for_mail


@pytest.fixture
def inbox():
    response = requests.post(
        f"{API}/v1/inboxes",
        headers={"Authorization": f"Bearer {os.environ['KEY']}"},
        json={"ttlMinutes": 10},
        timeout=10,
    )
    assert response.ok, response.text
    return response.json()


def test_login_code(inbox, request_login_code):
    request_login_code(inbox["address"])
    mail = wait_for_mail(inbox, code=True)
    assert mail["codes"][0]["value"].isdigit()
