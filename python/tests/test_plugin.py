from __future__ import annotations

import pytest
from mayfly import Mayfly

FAILING = """
    import smtplib

    def test_reset(mail_inbox, mayfly_smtp):
        with smtplib.SMTP(*mayfly_smtp) as server:
            server.sendmail("no-reply@shop.example", mail_inbox.address, "Subject: Welcome\\n\\nYour code is 482913.")
        mail_inbox.wait_for_link(kind="reset", timeout=0.2)
"""


def test_shows_the_mails_of_a_failed_test_and_its_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILING)
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '>*mail_inbox.wait_for_link(kind="reset", timeout=0.2)',
            "E*1 message arrived*",
            "E*Waited 0.2 s for a mail with link kind \"reset\" to *@mayfly.test.",
            "E*1 other mail came*",
            "*mail of *@mayfly.test*",
            "*'Welcome'   from *code 482913",
            "Console: http*/console/inboxes/inb_*",
        ]
    )
    # The line of the test, and nothing of the library.
    assert "_inbox.py" not in result.stdout.str()


def test_deletes_the_inboxes_of_its_run_only(pytester: pytest.Pytester, mayfly: Mayfly) -> None:
    other = mayfly.create_inbox(labels={"purpose": "of another run"})
    pytester.makepyfile(
        """
        def test_one(mail_inbox_factory):
            assert "@" in mail_inbox_factory(labels={"purpose": "cleanup"}).address
        """
    )
    pytester.runpytest("--mayfly-keep").assert_outcomes(passed=1)
    assert len(list(mayfly.inboxes(labels={"purpose": "cleanup"}))) == 1
    assert mayfly.delete_inboxes({"purpose": "cleanup"}) == 1
    pytester.runpytest().assert_outcomes(passed=1)
    assert list(mayfly.inboxes(labels={"purpose": "cleanup"})) == []
    other.delete()


def test_says_what_is_missing(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAYFLY_API_KEY", raising=False)
    monkeypatch.setenv("MAYFLY_URL", "https://mail.example")
    pytester.makepyfile("def test_one(mail_inbox): pass")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*There is no API key for https://mail.example: set MAYFLY_API_KEY*"])


def test_makes_no_request_at_the_end_of_a_session_without_mail(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAYFLY_URL", "http://127.0.0.1:9")
    pytester.makepyfile("def test_one(): pass")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1)
    assert "were not deleted" not in result.stdout.str() + result.stderr.str()
