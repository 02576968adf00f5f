"""What the API returns. Generated from openapi.json: run `npm run openapi` after a change of the contract."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ._json import Result


@dataclass(frozen=True)
class Key(Result):
    """An API key, without its secret."""

    id: str
    """Identifier of an API key; not the key itself."""
    name: str
    """What the key is for."""
    scope: Literal["full", "read"]
    """`full`: all operations of the account."""
    prefix: str
    """The first characters of the key, to tell keys apart."""
    created_at: datetime
    """When the key was created."""
    expires_at: datetime | None
    """When the key expires; null for never."""
    last_used_at: datetime | None
    """When the key was last used, to within a minute; null if it was never used."""


@dataclass(frozen=True)
class Webhook(Result):
    """A webhook."""

    id: str
    """Identifier of a webhook."""
    url: str
    """URL to which events are sent by POST: `http` or `https`, without a user name."""
    inbox_id: str | None
    """The inbox whose messages it sends; null for all inboxes of the account."""
    description: str
    """Your note; '' without one."""
    enabled: bool
    """Whether new messages are delivered."""
    disabled_reason: str | None
    """Why the server disabled it: a 410 response, only failures for five days, or its inbox ended."""
    failing_since: datetime | None
    """The first failed attempt since the last success; null if the last attempt succeeded."""
    created_at: datetime
    """When the webhook was registered."""


@dataclass(frozen=True)
class DeliveryAttemptError(Result):
    """Why the attempt failed; null after a 2xx response."""

    code: str
    """The kind of failure, for programs."""
    message: str
    """The failure in words, for people."""


@dataclass(frozen=True)
class DeliveryAttempt(Result):
    """One request to an endpoint."""

    at: datetime
    """When the attempt began."""
    status: int | None
    """Status of the response; null if there was none."""
    duration_ms: int
    """Duration of the attempt in milliseconds."""
    error: DeliveryAttemptError | None
    """Why the attempt failed; null after a 2xx response."""
    response_start: str
    """The first kilobyte of the response body; '' without one."""


@dataclass(frozen=True)
class WebhookDelivery(Result):
    """One event for one webhook."""

    id: str
    """Identifier of the delivery."""
    event_id: str
    """Identifier of the event, sent as `webhook-id`; the same for every attempt."""
    inbox_id: str | None
    """The inbox of the message; null for a test event."""
    message_id: str | None
    """The message; null for a test event."""
    state: Literal["pending", "delivered", "failed", "cancelled"]
    """`pending`: to be attempted."""
    reason: str | None
    """Why it failed or was cancelled, for example `The inbox ended.`; null otherwise."""
    created_at: datetime
    """When it was recorded, in one transaction with its message."""
    next_attempt_at: datetime | None
    """When the next attempt is due; null after the last one, and during an attempt."""
    attempts: list[DeliveryAttempt]
    """The newest 100 attempts of all replays, oldest first."""


@dataclass(frozen=True)
class WebhookWithSecret(Result):
    """A webhook with its new secret."""

    id: str
    """Identifier of a webhook."""
    url: str
    """URL to which events are sent by POST: `http` or `https`, without a user name."""
    inbox_id: str | None
    """The inbox whose messages it sends; null for all inboxes of the account."""
    description: str
    """Your note; '' without one."""
    enabled: bool
    """Whether new messages are delivered."""
    disabled_reason: str | None
    """Why the server disabled it: a 410 response, only failures for five days, or its inbox ended."""
    failing_since: datetime | None
    """The first failed attempt since the last success; null if the last attempt succeeded."""
    created_at: datetime
    """When the webhook was registered."""
    secret: str
    """The signing secret (Standard Webhooks)."""


@dataclass(frozen=True)
class CreatedKey(Result):
    """A new API key with its secret."""

    id: str
    """Identifier of an API key; not the key itself."""
    name: str
    """What the key is for."""
    scope: Literal["full", "read"]
    """`full`: all operations of the account."""
    prefix: str
    """The first characters of the key, to tell keys apart."""
    created_at: datetime
    """When the key was created."""
    expires_at: datetime | None
    """When the key expires; null for never."""
    last_used_at: datetime | None
    """When the key was last used, to within a minute; null if it was never used."""
    key: str
    """The API key."""


@dataclass(frozen=True)
class AppliedFault(Result):
    """A fault rule that was applied."""

    rule: int
    """Which rule it was, from 1 on."""
    at: Literal["rcpt", "data", "end-of-data", "api"]
    """Where the rule applies: over SMTP `rcpt` in place of the reply to RCPT, `data` in place of the 354, `end-of-data` in place of the 250 to the final dot; `api` in place of the response of a provider."""
    delay_ms: int
    """Milliseconds for which the reply was delayed; 0 for none."""
    disconnect: bool
    """Whether the connection was closed."""


@dataclass(frozen=True)
class RefusedMail(Result):
    """Mail for the address of this inbox that was refused."""

    at: datetime
    """When it was refused."""
    address: str
    """The recipient, in lower case and without a tag; '' for a mail that was refused at MAIL for its size, before it named a recipient, and for an inbox id that was refused at AUTH."""
    reply: str
    """The SMTP reply to the sender; '' where a fault rule delayed the reply or closed the connection without one, and, without a fault rule, where the connection ended in the middle of the message."""
    fault: AppliedFault | None
    """The fault rule of the inbox that caused it; null where there was none."""
    mail_from: str
    """Reverse-path of the MAIL command; '' for a bounce."""
    helo: str
    """The host name that the client sent with HELO or EHLO."""
    remote_address: str
    """The IP address of the client."""
    via: Literal["ses", "sendgrid", "resend", "postmark", "mailgun", "twilio"] | None = None
    """The provider through whose interface it came, which told its caller; missing for SMTP."""


@dataclass(frozen=True)
class HeldCounts(Result):
    """How many ended, by whether they had a message."""

    with_messages: int
    """Those that returned at least one message."""
    empty: int
    """Those that ended without a message."""


@dataclass(frozen=True)
class RunReportTotals(Result):
    """Sums over all inboxes of the run, also those that `inboxes` leaves out."""

    inboxes: int
    """Inboxes of the run."""
    inboxes_without_mail: int
    """Inboxes that received nothing."""
    messages: int
    """Messages received."""
    waits_succeeded: int
    """Waits that succeeded."""
    waits_failed: int
    """Waits that failed."""
    lists: HeldCounts
    streams: HeldCounts
    refusals: int
    """Refused mails."""


@dataclass(frozen=True)
class ReportedWait(Result):
    """A wait that failed."""

    wait_id: str
    """Identifier of a wait that failed."""
    ended_at: datetime
    """When the wait ended."""
    waited_ms: int
    """How long it was held, milliseconds."""
    count: int
    """How many messages were wanted; 0 for silence."""
    match: dict[str, str]
    """The conditions of the wait as texts, cut after 100 characters."""
    reason: Literal["timeout", "unexpected_message"]
    """`unexpected_message`: a message came although none was wanted."""
    seen_count: int
    """How many messages arrived that did not match."""
    summary: str
    """Why it failed, in one or more sentences."""


@dataclass(frozen=True)
class ReportedInboxWaits(Result):
    """Ended waits of `POST /v1/inboxes/{id}/wait`; `lists` are those with `wait`, `streams` those of the inbox."""

    succeeded: int
    """Waits that succeeded."""
    failed: int
    """Waits that failed."""
    lists: HeldCounts
    streams: HeldCounts
    failures: list[ReportedWait]
    """The first 10 that failed, oldest first."""


@dataclass(frozen=True)
class ReportedRefusal(Result):
    """Mail for an inbox of the run that was refused."""

    at: datetime
    """When it was refused."""
    reply: str
    """The SMTP reply to the sender."""
    mail_from: str
    """Reverse-path of the MAIL command; '' for a bounce."""
    remote_address: str
    """The IP address of the client."""


@dataclass(frozen=True)
class ReportedInboxRefusals(Result):
    """Refused mail, also after the end of the inbox; not what faults of the inbox refused."""

    count: int
    """How often SMTP refused mail for the address, within the last 24 hours."""
    last: ReportedRefusal | None
    """The last one; null without any."""


@dataclass(frozen=True)
class ReportedInbox(Result):
    """An inbox of a run."""

    id: str
    """Identifier of an inbox."""
    address: str
    """The email address of the inbox."""
    labels: dict[str, str]
    created_at: datetime
    """When the inbox was created."""
    state: Literal["live", "expired", "deleted"]
    """Whether and how the inbox ended."""
    ended_at: datetime | None
    """When it ended; null for a live one."""
    message_count: int
    """Messages received so far, deleted ones included."""
    first_message_at: datetime | None
    """When the first message arrived; null before it."""
    first_message_after_ms: int | None
    """Milliseconds from the creation of the inbox to its first message; null before it."""
    waits: ReportedInboxWaits
    """Ended waits of `POST /v1/inboxes/{id}/wait`; `lists` are those with `wait`, `streams` those of the inbox."""
    refusals: ReportedInboxRefusals
    """Refused mail, also after the end of the inbox; not what faults of the inbox refused."""


@dataclass(frozen=True)
class RunReport(Result):
    """What became of the mail of a test run."""

    labels: dict[str, str]
    totals: RunReportTotals
    """Sums over all inboxes of the run, also those that `inboxes` leaves out."""
    problems: list[str]
    """What was wrong, in sentences that begin with the address: failed waits, then lists and streams of which none had a message, then refused mail."""
    inboxes: list[ReportedInbox]
    """Newest first, at most 1,000: those with a problem, then the newest others."""
    has_more: bool
    """True if `inboxes` leaves some out."""


@dataclass(frozen=True)
class Label(Result):
    """A label of live inboxes."""

    name: str
    """Name of the label."""
    value: str
    """Value of the label."""
    inboxes: int
    """Live inboxes with this label."""
    newest_at: datetime
    """When the newest of them was created."""


@dataclass(frozen=True)
class GeneratedAddress(Result):
    """A free address without an inbox."""

    address: str
    """The address."""
    local_part: str
    """The part before the @."""
    domain: str
    """The part after the @."""
    held_until: datetime
    """Until then only your account can create an inbox with this address."""


@dataclass(frozen=True)
class ProviderSettings(Result):
    """The settings of a provider for an account."""

    name: Literal["ses", "sendgrid", "resend", "postmark", "mailgun", "twilio"]
    """A provider whose interface Mayfly has."""
    webhook_url: str | None
    """Where events are posted; null if nowhere."""
    inbound_url: str | None
    """Where replies are posted; null if nowhere."""
    verification: dict[str, str]
    """What the application needs to verify events: a signing secret, a public key or a user name with its password, by the name that the provider has for it."""


@dataclass(frozen=True)
class PlanLimits(Result):
    """Limits of a plan."""

    requests_per_month: int | None
    """Requests per calendar month (UTC); null without a limit."""
    requests_per_second: int | None
    """Sustained requests per second; null without a limit."""
    burst: int | None
    """Requests that may be sent at once after a pause; null without a limit."""
    max_ttl_minutes: int
    """Longest lifetime of an inbox in minutes."""
    max_live_inboxes: int | None
    """Number of live inboxes; null without a limit."""
    max_messages_per_inbox: int
    """Number of messages that an inbox holds."""
    max_message_bytes: int
    """Size of the largest message in bytes."""
    max_webhooks: int | None
    """Number of webhooks, those of single inboxes included; null without a limit."""


@dataclass(frozen=True)
class UsagePeriod(Result):
    """The current calendar month."""

    start: datetime
    """Beginning of the month (UTC)."""
    end: datetime
    """Beginning of the next month (UTC), when the count starts again."""


@dataclass(frozen=True)
class UsageThreshold(Result):
    percent: int
    """Share of the monthly quota in percent: 80 or 100."""
    reached_at: datetime | None
    """When it was reached; null if it was not."""


@dataclass(frozen=True)
class UsageDay(Result):
    """The requests of one day."""

    day: str
    """A day in UTC."""
    requests: int
    """Number of counted requests."""


@dataclass(frozen=True)
class Usage(Result):
    """What the account has used of its plan."""

    plan: str
    """The plan's name."""
    limits: PlanLimits
    period: UsagePeriod
    """The current calendar month."""
    used: int
    """Counted requests of this month: all but 304, 429 and 5xx."""
    remaining: int | None
    """Requests left this month; null without a limit."""
    thresholds: list[UsageThreshold]
    """When 80 % and 100 % of the quota were reached."""
    days: list[UsageDay]
    """The last 31 days, newest first, including days without requests."""


@dataclass(frozen=True)
class ServedDomain(Result):
    """A domain that the account may use for inboxes."""

    domain: str
    """The domain."""
    default: bool
    """Whether new inboxes use this domain if the request names none."""
    shared: bool
    """True if every account may use it, false if only yours may."""


@dataclass(frozen=True)
class MailAddress(Result):
    """A mailbox of a header (RFC 5322 section 3.4)."""

    address: str
    """The address."""
    name: str
    """The display name, decoded; '' without one."""


@dataclass(frozen=True)
class MailCode(Result):
    """A one-time code found in a message."""

    value: str
    """The code."""
    context: str
    """The words around the code."""


@dataclass(frozen=True)
class MessageSummary(Result):
    """A message in a list."""

    id: str
    """Identifier of a message."""
    inbox_id: str
    """Identifier of an inbox."""
    from_: MailAddress | None
    """The first author of the From header; null without one."""
    to: list[MailAddress]
    """Recipients of the To header."""
    cc: list[MailAddress]
    """Recipients of the Cc header."""
    subject: str
    """The decoded Subject header; '' without one."""
    preview: str
    """The first 200 characters of the visible text."""
    received_at: datetime
    """When the message was stored."""
    size: int
    """Size of the raw source in bytes."""
    attachment_count: int
    """How many parts have disposition `attachment`."""
    inline_count: int
    """How many parts have disposition `inline`: pictures of the page, calendar entries, further alternatives."""
    has_attachments: bool
    """Whether `attachmentCount` is above 0."""
    codes: list[MailCode]
    """One-time codes in the message, best first; empty when unsure."""
    read_at: datetime | None
    """When the message was marked as read; null if it is not."""
    tags: list[str]
    """The tags of the message, as `PATCH` set them."""
    via: Literal["ses", "sendgrid", "resend", "postmark", "mailgun", "twilio"] | None = None
    """The provider through whose interface the message was sent; missing for SMTP and injected messages."""
    rcpt_to: list[str] | None = None
    """The envelope recipients of this inbox as given in RCPT TO, where they are not just its address: with a tag, or in a sink or a catch-all inbox."""


@dataclass(frozen=True)
class MailHeader(Result):
    """A header field."""

    name: str
    """Name as in the message."""
    value: str
    """Value, unfolded and decoded."""


@dataclass(frozen=True)
class MailLink(Result):
    """A link found in a message."""

    href: str
    """The target, exactly as in the message."""
    text: str
    """The visible words of the link; '' without any."""
    kind: Literal["verify", "reset", "sign-in", "unsubscribe", "other"]
    """The probable purpose of the link."""


@dataclass(frozen=True)
class InnerMessage(Result):
    """What an attachment of type `message/rfc822` says, such as a forwarded message or the original of a bounce; missing for other types."""

    subject: str
    """The decoded Subject header; '' without one."""
    from_: MailAddress | None
    """The first author of the From header; null without one."""
    to: list[MailAddress]
    """Recipients of the To header."""
    date: datetime | None
    """The Date header; null if it is missing or unreadable."""
    text: str | None
    """The text body; null when there is none."""
    html: str | None
    """The HTML body; null when there is none."""
    links: list[MailLink]
    """The links in the message."""
    codes: list[MailCode]
    """One-time codes in the message."""


@dataclass(frozen=True)
class Attachment(Result):
    """A part that is not the text or html body; inline parts included."""

    id: str
    """Identifier of an attachment within its message."""
    filename: str | None
    """File name as the sender declared it; null without one."""
    content_type: str
    """The media type, always `type/subtype` in lower case; `application/octet-stream` where the sender declared none that is valid."""
    parameters: dict[str, str]
    """Parameters of the media type, decoded; names in lower case."""
    size: int
    """Size of the decoded bytes, with the line ends as sent."""
    disposition: Literal["attachment", "inline"]
    """`inline`: meant to be shown within the text."""
    content_id: str | None
    """Content-ID without angle brackets; null without one."""
    sha256: str
    """SHA-256 of the decoded bytes, in hex."""
    url: str
    """URL of the decoded bytes."""
    message: InnerMessage | None = None
    content: str | None = None
    """The decoded bytes in base64; only with `include=attachmentContent`."""


@dataclass(frozen=True)
class MailImage(Result):
    """An image in the HTML body of a message."""

    src: str
    """The `src` attribute: a URL, or `cid:` and the `contentId` of an attachment."""
    alt: str | None
    """The `alt` attribute; null without one, '' for a decorative image."""


@dataclass(frozen=True)
class StructurePart(Result):
    """A part of the MIME structure of a message."""

    part: str
    """The place of the part, as in IMAP: `1`, and `2.1` for the first part within the second. '' for the outermost multipart."""
    content_type: str
    """The media type, `type/subtype` in lower case."""
    size: int
    """Bytes of the body as sent, not decoded."""
    disposition: str | None
    """Content-Disposition, in lower case; null without one."""
    filename: str | None
    """File name as declared; null without one."""
    content_id: str | None
    """Content-ID without angle brackets; null without one."""


@dataclass(frozen=True)
class Envelope(Result):
    """The SMTP envelope (RFC 5321 section 2.3.1)."""

    mail_from: str
    """Reverse-path of the MAIL command; '' for a bounce."""
    rcpt_to: list[str]
    """Recipients of the RCPT commands that this inbox received the message for, with their tags."""
    helo: str
    """The host name that the client sent with HELO or EHLO; '' for an injected message."""
    remote_address: str
    """The IP address of the SMTP or HTTP client."""
    tls: bool
    """Whether the SMTP connection used TLS."""
    via: Literal["ses", "sendgrid", "resend", "postmark", "mailgun", "twilio"] | None = None
    """The provider through whose interface the message was sent; missing for SMTP and injected messages."""
    provider_message_id: str | None = None
    """The id of the message in responses and events of that provider."""


@dataclass(frozen=True)
class Authentication(Result):
    """Results of sender authentication."""

    spf: str | None
    """Result of SPF (RFC 7208); null if it was not checked."""
    dkim: str | None
    """Result of DKIM (RFC 6376); null if it was not checked."""
    dmarc: str | None
    """Result of DMARC (RFC 9989); null if it was not checked."""


@dataclass(frozen=True)
class Message(Result):
    """A message in full."""

    id: str
    """Identifier of a message."""
    inbox_id: str
    """Identifier of an inbox."""
    from_: MailAddress | None
    """The first author of the From header; null without one."""
    to: list[MailAddress]
    """Recipients of the To header."""
    cc: list[MailAddress]
    """Recipients of the Cc header."""
    subject: str
    """The decoded Subject header; '' without one."""
    preview: str
    """The first 200 characters of the visible text."""
    received_at: datetime
    """When the message was stored."""
    size: int
    """Size of the raw source in bytes."""
    attachment_count: int
    """How many parts have disposition `attachment`."""
    inline_count: int
    """How many parts have disposition `inline`: pictures of the page, calendar entries, further alternatives."""
    has_attachments: bool
    """Whether `attachmentCount` is above 0."""
    codes: list[MailCode]
    """One-time codes in the message, best first; empty when unsure."""
    read_at: datetime | None
    """When the message was marked as read; null if it is not."""
    tags: list[str]
    """The tags of the message, as `PATCH` set them."""
    reply_to: list[MailAddress]
    """Addresses of the Reply-To header."""
    bcc: list[MailAddress]
    """Recipients of the Bcc header, if the message contains one."""
    sender: MailAddress | None
    """The Sender header; null without one."""
    date: datetime | None
    """The Date header; null if it is missing or unreadable."""
    rfc_message_id: str | None
    """The Message-ID header."""
    in_reply_to: str | None
    """The In-Reply-To header."""
    references: list[str]
    """The ids of the References header."""
    headers: list[MailHeader]
    """The header fields, in order: as many as 2 MiB hold, and about 2,000."""
    html: str | None
    """The HTML body as sent; null when there is none."""
    text: str | None
    """The text body as sent, `format=flowed` included, never made from the HTML; null when there is none."""
    html_text: str | None
    """The visible words of the HTML body: a line for each block, a tab between the cells of a row; hidden elements are left out."""
    attachments: list[Attachment]
    """All attachments, inline parts included."""
    links: list[MailLink]
    """The links in the message, each once, in order: the first 200 of at most 16,384 characters."""
    images: list[MailImage]
    """The images of the HTML body, in order."""
    structure: list[StructurePart]
    """The MIME structure: all parts in the order of the source, the message itself first."""
    envelope: Envelope
    authentication: Authentication | None
    """Results of sender authentication; null if the sender was not checked."""
    raw_url: str
    """URL of the raw source."""
    parse_error: str | None
    """Why the message could not be read in full; null if it could."""
    via: Literal["ses", "sendgrid", "resend", "postmark", "mailgun", "twilio"] | None = None
    """The provider through whose interface the message was sent; missing for SMTP and injected messages."""
    rcpt_to: list[str] | None = None
    """The envelope recipients of this inbox as given in RCPT TO, where they are not just its address: with a tag, or in a sink or a catch-all inbox."""
    truncated: bool | None = None
    """True if the response would have become too large."""


@dataclass(frozen=True)
class FailedCondition(Result):
    """A condition of a wait that a message did not meet."""

    condition: Literal["from", "to", "rcptTo", "subject", "text", "hasAttachments", "code", "link"]
    """Name of the condition in `match`."""
    expected: str
    """What the condition requires; truncated if long."""
    got: str
    """What the message has instead: '' for a missing field, `no code` or `no link` where there is none; truncated if long."""


@dataclass(frozen=True)
class SeenMessage(Result):
    """A message that arrived and did not match."""

    message: MessageSummary
    failed: list[FailedCondition]
    """All conditions that it did not meet."""


@dataclass(frozen=True)
class NearMiss(Result):
    """Mail sent to a similar address, possibly intended for this inbox: a typing error, missing dots or digits, a tag without a plus, another domain."""

    address: str
    """The similar address."""
    at: datetime
    """When the last mail for it was sent."""
    times: int
    """Number of mails."""
    outcome: Literal["refused", "received"]
    """`refused`: no inbox takes mail for the address."""
    inbox_id: str | None
    """The inbox that got the mail; null when none did, and for the sink where it is not the account’s own or the caller has a read token."""


@dataclass(frozen=True)
class OtherMail(Result):
    """Mail of the account that was possibly intended for this inbox, though its address is not similar."""

    address: str
    """The address that the mail was sent to, in lower case and without a tag."""
    at: datetime
    """When it arrived or was refused."""
    reason: Literal["same-recipient", "meets-conditions", "refused"]
    """`same-recipient`: it was sent to the address of this inbox, but another inbox has it: its sender had authenticated for that one by SMTP AUTH, or this inbox did not exist yet and the sink took it."""
    inbox_id: str | None
    """The inbox that has the mail; null for refused mail."""


@dataclass(frozen=True)
class WaitCause(Result):
    """Why a wait failed, or may have failed."""

    code: Literal["unexpected_message", "not_checked", "cut_short", "since_in_future", "before_since", "inbox_full", "too_large", "malformed", "too_many_recipients", "auth_failed", "fault_rule", "sender_left", "refused", "before_creation", "captured_elsewhere", "impossible_condition", "similar_address", "too_few", "not_matching", "deleted", "scheduled", "tls_failed", "other_recipient", "left_without_recipient", "nothing_connected", "nothing_arrived"]
    """The kind of the cause."""
    certainty: Literal["certain", "likely", "possible"]
    """`certain`: it happened to mail for this inbox, or it holds for the wait itself."""
    text: str
    """The cause in one or more sentences."""


@dataclass(frozen=True)
class FailedHandshake(Result):
    """A TLS handshake with the SMTP server that failed, after STARTTLS or on the TLS port."""

    at: datetime
    """When the handshake failed."""
    remote_address: str
    """The IP address of the client."""
    reason: str
    """The error."""


@dataclass(frozen=True)
class WaitExplanation(Result):
    """Why no message, or too few, matched."""

    reason: Literal["timeout", "unexpected_message", "server_stopping"]
    """Why the wait ended."""
    summary: str
    """The reason in words, for a log or the message of a failed assertion."""
    causes: list[WaitCause]
    """Why the wait failed, the most certain cause first; empty for `server_stopping`."""
    seen_count: int
    """Number of messages that arrived and did not match."""
    seen: list[SeenMessage]
    """The newest 20 of them, newest first."""
    refused: list[RefusedMail]
    """The newest 20 refusals of mail for this address after `since`, within 24 hours, newest first; also from up to 30 s before the inbox was created."""
    near_misses: list[NearMiss]
    """Up to 20 similar addresses that mail was sent to since 30 s before the wait began, the latest first."""
    other_mail: list[OtherMail]
    """Up to 5 mails of the account that this inbox did not get and that may be meant for it."""
    failed_handshakes: list[FailedHandshake]
    """The newest 20 TLS handshakes that failed after `since`, since 30 s before the wait began and since the inbox was created, newest first."""


@dataclass(frozen=True)
class Inbox(Result):
    """An inbox."""

    id: str
    """Identifier of an inbox."""
    address: str
    """The email address of the inbox."""
    phone_number: str | None
    """The telephone number at which the inbox takes SMS, in E.164 format: the local part of an address at the default domain that is a number."""
    catch_all: bool
    """Whether it takes mail for more than `address`: a catch-all inbox for every local part of its domain, the sink for every address that no other inbox takes."""
    domain: str
    """The domain of the address."""
    labels: dict[str, str]
    created_at: datetime
    """When the inbox was created."""
    expires_at: datetime
    """When the inbox expires."""
    ttl_minutes: int
    """The lifetime that was requested last, in minutes; 0 for the sink, which never expires."""
    max_expires_at: datetime
    """The latest time to which the inbox can be extended."""
    message_count: int
    """Number of messages in the inbox."""
    full: bool
    """True if the inbox holds as many messages as the plan allows: mail is refused with 452 until some are deleted."""
    eviction: Literal["none", "oldest"]
    """What happens when it is full: `none`: mail is refused, and nothing is dropped."""
    replay: Literal["none", "running", "cut"]
    """Of an inbox that was imported with `speed`: `running` while messages of the recording are still to come, `cut` when the rest of them will never come, because the server was stopped or a message could not be stored."""
    last_message_at: datetime | None
    """When the newest message arrived, even if it was deleted; null before the first message."""
    cursor: str
    """Position after the newest message: pass it as `since` to get later messages only."""


@dataclass(frozen=True)
class FailedWait(Result):
    """What a failed wait has explained."""

    id: str
    """Identifier of a wait that failed."""
    inbox_id: str
    """Identifier of an inbox."""
    ended_at: datetime
    """When the wait ended."""
    waited_ms: int
    """How long it was held, milliseconds."""
    count: int
    """How many messages were wanted; 0 for silence."""
    match: dict[str, str]
    """The conditions of the wait as texts, cut after 100 characters."""
    has_content: bool
    """False once the inbox has ended: then nothing that a message said is left."""
    explanation: WaitExplanation


@dataclass(frozen=True)
class FaultReply(Result):
    """The reply of a fault rule."""

    code: int
    """Reply code: 400 to 499 tells the sender to try again, 500 to 599 to give up."""
    text: str | None = None
    """Text after the code, printable ASCII; nothing is added to it, so put an enhanced status code in front where the sender should see one."""


@dataclass(frozen=True)
class FaultState(Result):
    """A fault rule and how often it still applies."""

    at: Literal["rcpt", "data", "end-of-data", "api"]
    """Where the rule applies: over SMTP `rcpt` in place of the reply to RCPT, `data` in place of the 354, `end-of-data` in place of the 250 to the final dot; `api` in place of the response of a provider."""
    reply: FaultReply | None
    """Null where the rule gives no reply."""
    delay_ms: int
    """Milliseconds before the reply; 0 for none."""
    disconnect: bool
    """Whether the connection is closed."""
    times: int
    """How often the rule was to apply."""
    left: int
    """How often it still applies."""


@dataclass(frozen=True)
class OutcomeState(Result):
    """A rule and how often it still applies."""

    outcome: Literal["bounce", "soft-bounce", "complaint", "delay", "unsubscribe"]
    """What becomes of the message after it was accepted: it bounces for good, bounces for now, is reported as spam, is delayed, or its recipient unsubscribes."""
    times: int
    """How often the rule was to apply."""
    left: int
    """How often it still applies."""


@dataclass(frozen=True)
class SentRecord(Result):
    """What an inbox sent back."""

    id: str
    """Its id."""
    type: Literal["event", "report", "reply"]
    """`event`: an event of a provider; `report`: a delivery status notification, a feedback report or a request to unsubscribe; `reply`: a reply."""
    message_id: str
    """Identifier of a message."""
    outcome: Literal["bounce", "soft-bounce", "complaint", "delay", "unsubscribe", None]
    """What it tells; null for a reply."""
    via: Literal["ses", "sendgrid", "resend", "postmark", "mailgun", "twilio", None]
    """The provider in whose format it is; null for mail."""
    to: list[str]
    """Addresses or the URL that it goes to; none until the first attempt."""
    subject: str
    """Of a reply; '' for others."""
    text: str
    """Of a reply, without the quoted message; '' for others."""
    rfc_message_id: str | None
    """The Message-ID of a reply; null for others."""
    state: Literal["pending", "delivered", "failed", "cancelled"]
    """Whether it was taken."""
    attempts: int
    """Attempts so far."""
    error: str | None
    """Why the last attempt failed, or there is none."""
    created_at: datetime
    """When it was made."""
    due_at: datetime | None
    """When the next attempt is due; null once it has ended."""


@dataclass(frozen=True)
class ThreadEntry(Result):
    """A message of a thread."""

    kind: Literal["received", "sent"]
    """A message of the inbox, or a reply from it."""
    id: str
    """Id of the message or of the sent record."""
    at: datetime
    """When it was received or made."""
    subject: str
    """Its subject."""


@dataclass(frozen=True)
class Thread(Result):
    """Messages and replies that belong together."""

    subject: str
    """The subject without prefixes such as `Re:`."""
    entries: list[ThreadEntry]
    """Oldest first."""


@dataclass(frozen=True)
class TimelineWebhook(Result):
    """The outcome of an attempt to deliver the event of a message."""

    webhook_id: str
    """Identifier of a webhook."""
    delivery_id: str
    """Id of the delivery."""
    attempt: int
    """Number of the attempt, from 1."""
    status: int | None
    """Status of the response; null without a response."""
    duration_ms: int
    """How long the attempt took, milliseconds."""
    error: str | None
    """Code of the error; null if and only if the attempt succeeded."""


@dataclass(frozen=True)
class TimelineEvent(Result):
    """One step of a message."""

    at: datetime | None
    """When it happened, by the clock that `clock` names; null where the message does not say."""
    event: Literal["date-header", "received-header", "earlier-attempt", "connected", "tls", "authenticated", "fault", "mail-from", "rcpt-to", "data", "injected", "provider-call", "imported", "end-of-data", "parsed", "sender-checked", "committed", "replied", "webhook-attempt", "sent-back"]
    """`date-header`: the Date header."""
    clock: Literal["sender", "relay", "mayfly"]
    """Whose clock `at` was read from: that of the sender, of another mail server, or of Mayfly."""
    since_previous_ms: int | None
    """Milliseconds since the event before that has a time; negative where the two clocks differ."""
    detail: str
    """What happened, in one line."""
    note: str | None
    """What is odd about the time, such as a Date header in the future or hops out of order; null where nothing is."""
    webhook: TimelineWebhook | None
    """Of a `webhook-attempt`; null for other events."""


@dataclass(frozen=True)
class LintFinding(Result):
    """A rule that a message breaks, once or more often."""

    rule: str
    """Name of the rule; it does not change."""
    severity: Literal["error", "warning", "info"]
    """`error`: against a standard."""
    message: str
    """What is wrong, and what to do about it."""
    where: str | None
    """A header field, a media type, an attachment, an address or a line of the raw source, or several of them; null for the message as a whole."""
    count: int
    """How often the message breaks the rule, of images and addresses in its first 1,000."""
    reference: str
    """Where the rule comes from: a section of a standard, or a data set."""


@dataclass(frozen=True)
class MessageReceivedEventDataInbox(Result):
    """The inbox that received the message."""

    id: str
    """Identifier of an inbox."""
    address: str
    """Address of the inbox."""
    labels: dict[str, str]


@dataclass(frozen=True)
class MessageReceivedEventDataMessage(Result):
    """The message, without the content of attachments."""

    id: str
    """Identifier of a message."""
    inbox_id: str
    """Identifier of an inbox."""
    from_: MailAddress | None
    """The first author of the From header; null without one."""
    to: list[MailAddress]
    """Recipients of the To header."""
    cc: list[MailAddress]
    """Recipients of the Cc header."""
    subject: str
    """The decoded Subject header; '' without one."""
    preview: str
    """The first 200 characters of the visible text."""
    received_at: datetime
    """When the message was stored."""
    size: int
    """Size of the raw source in bytes."""
    attachment_count: int
    """How many parts have disposition `attachment`."""
    inline_count: int
    """How many parts have disposition `inline`: pictures of the page, calendar entries, further alternatives."""
    has_attachments: bool
    """Whether `attachmentCount` is above 0."""
    codes: list[MailCode]
    """One-time codes in the message, best first; empty when unsure."""
    read_at: datetime | None
    """When the message was marked as read; null if it is not."""
    tags: list[str]
    """The tags of the message, as `PATCH` set them."""
    html: str | None
    """The HTML body as sent; null when there is none."""
    text: str | None
    """The text body as sent, `format=flowed` included, never made from the HTML; null when there is none."""
    links: list[MailLink]
    """The links in the message, each once, in order: the first 200 of at most 16,384 characters."""
    attachments: list[Attachment]
    """All attachments, inline parts included."""
    truncated: bool
    """True if something was left out: `html` and `text` have at most 256 KiB together, each list 64 KiB."""
    url: str
    """URL of the message in full; a path where the server has no `MAYFLY_PUBLIC_URL`."""
    via: Literal["ses", "sendgrid", "resend", "postmark", "mailgun", "twilio"] | None = None
    """The provider through whose interface the message was sent; missing for SMTP and injected messages."""
    rcpt_to: list[str] | None = None
    """The envelope recipients of this inbox as given in RCPT TO, where they are not just its address: with a tag, or in a sink or a catch-all inbox."""


@dataclass(frozen=True)
class MessageReceivedEventData(Result):
    """The inbox and the message."""

    inbox: MessageReceivedEventDataInbox
    """The inbox that received the message."""
    message: MessageReceivedEventDataMessage
    """The message, without the content of attachments."""


@dataclass(frozen=True)
class MessageReceivedEvent(Result):
    """A new message arrived."""

    id: str
    """Identifier of the event; the same as the header `webhook-id`."""
    type: Literal["message.received"]
    """The kind of event; there is only this one."""
    timestamp: datetime
    """When the message was stored."""
    data: MessageReceivedEventData
    """The inbox and the message."""
    test: bool | None = None
    """Only in test events, whose inbox and message do not exist."""
