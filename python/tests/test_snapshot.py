"""The comparison of mails with snapshots passes the cases of the client for JavaScript."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mayfly._snapshot import SnapshotInput, compare_snapshot, write_snapshot

CASES = json.loads((Path(__file__).parents[2] / "packages/client/test/contracts/cases.json").read_text("utf-8"))


def _snake(name: str) -> str:
    return {"from": "from_"}.get(name, re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", name))


def _input(case: Any) -> SnapshotInput:
    fields = json.dumps({"mail": case["mail"], "findings": case["findings"]})
    read = json.loads(fields, object_hook=lambda one: SimpleNamespace(**{_snake(name): one[name] for name in one}))
    return SnapshotInput(read.mail, read.findings, case["names"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: re.sub(r"\W+", "-", case["name"]))
def test_writes_and_compares_snapshots(case: Any) -> None:
    written = _input(case["written"])
    assert write_snapshot(written) == case["snapshot"]
    assert compare_snapshot(case["snapshot"], written) is None
    for other in case["others"]:
        assert compare_snapshot(case["snapshot"], _input(other["input"])) == other["difference"]


def test_match_mail_writes_compares_and_updates(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(
        test_hello="""
        import os, random

        def test_hello(mail_inbox, match_mail):
            text = f"Hello Ada,\\n\\n{os.environ['WORDS']} {random.randint(100000, 999999)}."
            mail_inbox.inject(f"From: Shop <a@shop.example>\\nSubject: Hello Ada\\n\\n{text}")
            match_mail(mail_inbox.wait_for_message(), "hello", mask={"first": "Ada"})
        """
    )
    monkeypatch.setenv("WORDS", "Your code is")
    for _ in range(2):
        pytester.runpytest().assert_outcomes(passed=1)
    file = pytester.path / "__snapshots__" / "test_hello.py" / "hello.mail.txt"
    assert "  Hello {first},\n\n  Your code is {code}.\n" in file.read_text("utf-8")
    monkeypatch.setenv("WORDS", "The code is")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["The mail differs from *hello.mail.txt:", "Text:", "  [[]-Your-[]]{+The+} code is {code}."])
    pytester.runpytest("--mail-update").assert_outcomes(passed=1)
    pytester.runpytest().assert_outcomes(passed=1)
