"""Fixtures for pytest: an inbox for each test, and the mail of failed tests in the report."""

from __future__ import annotations

import os
import re
import uuid
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from mayfly import AsyncInbox, Inbox, Mayfly, MayflyError, Message, MessageSummary
from mayfly._snapshot import SnapshotInput, compare_snapshot, write_snapshot

DEFAULT_TTL_MINUTES = 15
DEFAULT_SMTP_PORT = 2525
MAX_LABEL = 256
MAX_MAILS = 20
"""In the report of a failed test."""

SESSION_VARIABLE = "MAYFLY_PYTEST_SESSION"
"""Set by the process that starts the workers of pytest-xdist, and inherited by them."""
RUN_VARIABLES = ("MAYFLY_RUN", "GITHUB_RUN_ID", "CI_PIPELINE_ID", "BUILD_ID")
"""Names of the run in CI systems; several jobs share it."""

INBOXES = pytest.StashKey[list[Inbox]]()
SESSION = pytest.StashKey[str]()
IS_USED = pytest.StashKey[bool]()
"""Whether this session has made an inbox: otherwise its end makes no request."""
USED = "mayfly_used"

InboxFactory = Callable[..., Inbox]
MatchMail = Callable[..., None]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mayfly", "disposable inboxes")
    group.addoption("--mayfly-url", help="URL of the Mayfly server (MAYFLY_URL)")
    group.addoption("--mayfly-smtp", help="host:port of its SMTP listener (MAYFLY_SMTP)")
    group.addoption(
        "--mayfly-keep", action="store_true", help="leave the inboxes of the run until they expire"
    )
    group.addoption("--mail-update", action="store_true", help="write the snapshots of match_mail anew")
    parser.addini("mayfly_url", "URL of the Mayfly server")
    parser.addini("mayfly_smtp", "host:port of its SMTP listener")


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    if not _is_worker(config):
        os.environ[SESSION_VARIABLE] = uuid.uuid4().hex
    worker_input: dict[str, Any] = getattr(config, "workerinput", {})
    config.stash[SESSION] = os.environ.get(SESSION_VARIABLE) or worker_input.get("testrunuid", "local")


def _setting(config: pytest.Config, name: str, variable: str) -> str | None:
    return config.getoption(f"--{name}") or config.getini(name.replace("-", "_")) or os.environ.get(variable)


@pytest.fixture(scope="session")
def mayfly(pytestconfig: pytest.Config) -> Iterator[Mayfly]:
    """The client."""
    try:
        client = Mayfly(_setting(pytestconfig, "mayfly-url", "MAYFLY_URL"))
    except MayflyError as error:
        pytest.fail(str(error), pytrace=False)
    yield client
    client.close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Deletes the inboxes of the session; workers of pytest-xdist leave that to the process that started them."""
    config = session.config
    if _is_worker(config):
        getattr(config, "workeroutput")[USED] = config.stash.get(IS_USED, False)
        return
    if config.getoption("--mayfly-keep") or not config.stash.get(IS_USED, False):
        return
    try:
        client = Mayfly(_setting(config, "mayfly-url", "MAYFLY_URL"), retries=0, timeout=5)
        client.delete_inboxes({"session": config.stash[SESSION]})
    except MayflyError as error:
        warnings.warn(f"The inboxes of this run were not deleted: {error}", stacklevel=1)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of pytest-xdist has ended; one that crashed says nothing and may have made inboxes."""
    if getattr(node, "workeroutput", {USED: True}).get(USED):
        node.config.stash[IS_USED] = True


def _labels(request: pytest.FixtureRequest) -> dict[str, str]:
    session = request.config.stash[SESSION]
    return {
        "run": next((os.environ[name] for name in RUN_VARIABLES if os.environ.get(name)), session),
        "session": session,
        "worker": os.environ.get("PYTEST_XDIST_WORKER", "main"),
        # Labels take no control characters.
        "test": "".join(letter if letter.isprintable() else " " for letter in request.node.nodeid)[:MAX_LABEL],
    }


@pytest.fixture
def mail_inbox_factory(request: pytest.FixtureRequest, mayfly: Mayfly) -> InboxFactory:
    """Creates more inboxes; takes the arguments of Mayfly.create_inbox."""

    def create(*, labels: dict[str, str] | None = None, **options: Any) -> Inbox:
        options.setdefault("ttl_minutes", DEFAULT_TTL_MINUTES)
        request.config.stash[IS_USED] = True
        inbox = mayfly.create_inbox(labels={**_labels(request), **(labels or {})}, **options)
        request.node.stash.setdefault(INBOXES, []).append(inbox)
        return inbox

    return create


@pytest.fixture
def mail_inbox(mail_inbox_factory: InboxFactory) -> Inbox:
    """The inbox of this test."""
    return mail_inbox_factory()


@pytest.fixture
def mail_inbox_async(mail_inbox: Inbox) -> AsyncInbox:
    """The inbox of this test, with methods to be awaited."""
    return AsyncInbox(mail_inbox)


@pytest.fixture(scope="session")
def mayfly_smtp(pytestconfig: pytest.Config, mayfly: Mayfly) -> tuple[str, int]:
    """Host and port of the SMTP listener, for the settings of the application."""
    setting = _setting(pytestconfig, "mayfly-smtp", "MAYFLY_SMTP")
    host, _, port = (setting or urlsplit(mayfly.url).hostname or "127.0.0.1").partition(":")
    return host, int(port or DEFAULT_SMTP_PORT)


@pytest.fixture
def match_mail(request: pytest.FixtureRequest) -> MatchMail:
    """Compares what a mail says with its snapshot, or writes the snapshot where there is none.

    match_mail(mail, "welcome", mask={"first": "Ada"}); the file is __snapshots__/<test file>/welcome.mail.txt.
    `mask` are values that differ from run to run. `pytest --mail-update` writes all snapshots anew.
    """

    def match(mail: Message | MessageSummary, name: str, *, mask: dict[str, str] | None = None) -> None:
        __tracebackhide__ = True
        if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_ .-]*", name):
            raise ValueError(f'{name!r} is not a name for a snapshot. Use letters, digits, spaces, ".", "-" and "_".')
        full = mail if isinstance(mail, Message) else mail.read()
        given = SnapshotInput(full, full.lint(), mask or {})
        path = request.node.path
        file = path.parent / "__snapshots__" / path.name / f"{name}.mail.txt"
        difference = compare_snapshot(file.read_text("utf-8"), given) if file.exists() else ""
        if difference is None:
            return
        if difference and not request.config.getoption("--mail-update"):
            pytest.fail(f"The mail differs from {file}:\n\n{difference}", pytrace=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(write_snapshot(given), "utf-8")

    return match


def _report_of(inbox: Inbox) -> str:
    try:
        messages = inbox.messages()
    except MayflyError as error:
        return f"The mails could not be listed: {error}"
    if not messages:
        return f"No mail came.\nConsole: {inbox.console_url}"
    rows = []
    for message in messages[:MAX_MAILS]:
        sender = message.from_.address if message.from_ else "no sender"
        code = f"   code {message.codes[0].value}" if message.codes else ""
        rows.append(f"{message.received_at:%H:%M:%S}  {message.subject!r}   from {sender}{code}")
        rows.append(f"          {message.preview[:100]!r}")
    return "\n".join([*rows, f"Console: {inbox.console_url}"])


def _attach_to_allure(inbox: Inbox, text: str) -> None:
    """Only where the tests use Allure."""
    try:
        import allure  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return
    allure.attach(text, name=f"mail of {inbox.address}", attachment_type=allure.attachment_type.TEXT)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    # Fixtures wait for mail too, such as those that sign in.
    if report.when != "teardown" and report.failed:
        for inbox in item.stash.get(INBOXES, []):
            text = _report_of(inbox)
            report.sections.append((f"mail of {inbox.address}", text))
            _attach_to_allure(inbox, text)
