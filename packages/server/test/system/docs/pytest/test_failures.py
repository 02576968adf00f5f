import pytest
from test_login import inbox
from wait_for_mail import wait_for_mail
def test_tells_the_error(inbox):
    with pytest.raises(AssertionError, match="401.*unauthorized"):
        wait_for_mail({"id": inbox["id"], "token": "mft_wrong"})
def test_tells_why_nothing_matched(inbox):
    with pytest.raises(AssertionError, match='"reason": "timeout"'):
        wait_for_mail(inbox, timeout_seconds=0, subject="confirm")
