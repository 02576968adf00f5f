// Generated from openapi.json by scripts/generate-api.ts: run `npm run openapi` after a change of the contract.

/** A page of messages of all inboxes of the account. */
export interface AccountMessageList {
  /** Newest first. */
  messages: MessageSummary[];
  /** Stands for the newest message that this response knows of, also when the list is empty. */
  cursor: string;
  /** True when older messages match too, or when the search has not looked at all of them yet: repeat the request with `before` set to the `before` of this response. */
  hasMore: boolean;
  /** Where to continue, to be passed as `before`; null when there is nothing more. */
  before: string | null;
  /** Only where a search took more than a second: the time of the oldest message that it looked at. */
  searchedTo?: string;
}

/** A span of time. */
export interface Advance {
  /** How much earlier everything that the inbox waits for comes. */
  minutes: number;
}

/** What an advance released. */
export interface Advanced {
  /** How many became due: scheduled messages, and attempts to send. */
  released: number;
}

/** A fault rule that was applied. */
export interface AppliedFault {
  /** Which rule it was, from 1 on. */
  rule: number;
  /** Where the rule applies: over SMTP `rcpt` in place of the reply to RCPT, `data` in place of the 354, `end-of-data` in place of the 250 to the final dot; `api` in place of the response of a provider. */
  at: "rcpt" | "data" | "end-of-data" | "api";
  /** Milliseconds for which the reply was delayed; 0 for none. */
  delayMs: number;
  /** Whether the connection was closed. */
  disconnect: boolean;
}

/** A part that is not the text or html body; inline parts included. */
export interface Attachment {
  /** Identifier of an attachment within its message. */
  id: string;
  /** File name as the sender declared it; null without one. */
  filename: string | null;
  /** The media type, always `type/subtype` in lower case; `application/octet-stream` where the sender declared none that is valid. */
  contentType: string;
  /** Parameters of the media type, decoded; names in lower case. */
  parameters: Record<string, string>;
  /** Size of the decoded bytes, with the line ends as sent. */
  size: number;
  /** `inline`: meant to be shown within the text. */
  disposition: "attachment" | "inline";
  /** Content-ID without angle brackets; null without one. */
  contentId: string | null;
  /** SHA-256 of the decoded bytes, in hex. */
  sha256: string;
  /** URL of the decoded bytes. */
  url: string;
  message?: InnerMessage;
  /** The decoded bytes in base64; only with `include=attachmentContent`. */
  content?: string;
}

/** Results of sender authentication. */
export interface Authentication {
  /** Result of SPF (RFC 7208); null if it was not checked. */
  spf: string | null;
  /** Result of DKIM (RFC 6376); null if it was not checked. */
  dkim: string | null;
  /** Result of DMARC (RFC 9989); null if it was not checked. */
  dmarc: string | null;
}

/** The account to create. */
export interface CreateAccount {
  /** Name of the account, for the operator. */
  name: string;
}

/** Properties of the new inbox. All fields are optional. */
export interface CreateInbox {
  /** Lifetime in minutes, from 1 to the maximum of your plan. */
  ttlMinutes?: number;
  /** A served domain; GET /v1/domains lists them. */
  domain?: string;
  /** The part before the @: 1 to 64 of the characters `a-z 0-9 . _ -` without a leading, trailing or double dot. */
  localPart?: string;
  /** The complete address, for example a generated one. */
  address?: string;
  /** Take mail for every local part of a domain: of a new sub-domain of its own (`*@brave-otter482136701.mayfly.test`), or, when `domain` names a domain that belongs to your account, of that whole domain, which can have one such inbox. */
  catchAll?: boolean;
  /** Give the inbox a random telephone number, `phoneNumber`, which takes the SMS that an application sends through `/providers/twilio`. */
  sms?: boolean;
  labels?: Labels;
  /** URL to which events are sent by POST: `http` or `https`, without a user name. */
  webhookUrl?: string;
}

/** The API key to create. */
export interface CreateKey {
  /** What the key is for. */
  name: string;
  /** `full`: all operations of the account. */
  scope?: "full" | "read";
  /** When the key expires; a time in the future. */
  expiresAt?: string;
}

/** Properties of the new webhook. */
export interface CreateWebhook {
  /** URL to which events are sent by POST: `http` or `https`, without a user name. */
  url: string;
  /** Send only messages of this inbox; the webhook ends with the inbox. */
  inboxId?: string;
  /** A note for people. */
  description?: string;
}

/** A new account with its first API key. */
export interface CreatedAccount {
  /** The account. */
  account: {
    /** Identifier of the account. */
    id: string;
    /** Name of the account. */
    name: string;
    /** Name of the plan of the account. */
    plan: string;
  };
  /** The first API key. */
  key: string;
}

/** A new inbox with its read token. */
export interface CreatedInbox extends Inbox {
  /** The read token: a bearer credential that reads this inbox and nothing else. */
  token: string;
  webhook?: InboxWebhook;
}

/** A new API key with its secret. */
export interface CreatedKey extends Key {
  /** The API key. */
  key: string;
}

/** Result of a deletion by label. */
export interface DeletedInboxes {
  /** Number of deleted inboxes. */
  deleted: number;
}

/** One request to an endpoint. */
export interface DeliveryAttempt {
  /** When the attempt began. */
  at: string;
  /** Status of the response; null if there was none. */
  status: number | null;
  /** Duration of the attempt in milliseconds. */
  durationMs: number;
  /** Why the attempt failed; null after a 2xx response. */
  error: {
    /** The kind of failure, for programs. */
    code: string;
    /** The failure in words, for people. */
    message: string;
  } | null;
  /** The first kilobyte of the response body; '' without one. */
  responseStart: string;
}

/** The domains that the account may use. */
export interface DomainList {
  /** The default first, then the others by name. */
  domains: ServedDomain[];
}

/** The SMTP envelope (RFC 5321 section 2.3.1). */
export interface Envelope {
  /** Reverse-path of the MAIL command; '' for a bounce. */
  mailFrom: string;
  /** Recipients of the RCPT commands that this inbox received the message for, with their tags. */
  rcptTo: string[];
  /** The host name that the client sent with HELO or EHLO; '' for an injected message. */
  helo: string;
  /** The IP address of the SMTP or HTTP client. */
  remoteAddress: string;
  /** Whether the SMTP connection used TLS. */
  tls: boolean;
  /** The provider through whose interface the message was sent; missing for SMTP and injected messages. */
  via?: "ses" | "sendgrid" | "resend" | "postmark" | "mailgun" | "twilio";
  /** The id of the message in responses and events of that provider. */
  providerMessageId?: string;
}

/** A condition of a wait that a message did not meet. */
export interface FailedCondition {
  /** Name of the condition in `match`. */
  condition: "from" | "to" | "rcptTo" | "subject" | "text" | "hasAttachments" | "code" | "link";
  /** What the condition requires; truncated if long. */
  expected: string;
  /** What the message has instead: '' for a missing field, `no code` or `no link` where there is none; truncated if long. */
  got: string;
}

/** A TLS handshake with the SMTP server that failed, after STARTTLS or on the TLS port. The sender usually gives up then, or tries again without TLS. */
export interface FailedHandshake {
  /** When the handshake failed. */
  at: string;
  /** The IP address of the client. */
  remoteAddress: string;
  /** The error. */
  reason: string;
}

/** What a failed wait has explained. */
export interface FailedWait {
  /** Identifier of a wait that failed. */
  id: string;
  /** Identifier of an inbox. */
  inboxId: string;
  /** When the wait ended. */
  endedAt: string;
  /** How long it was held, milliseconds. */
  waitedMs: number;
  /** How many messages were wanted; 0 for silence. */
  count: number;
  /** The conditions of the wait as texts, cut after 100 characters. */
  match: Record<string, string>;
  /** False once the inbox has ended: then nothing that a message said is left. */
  hasContent: boolean;
  explanation: WaitExplanation;
}

/** The reply of a fault rule. */
export interface FaultReply {
  /** Reply code: 400 to 499 tells the sender to try again, 500 to 599 to give up. */
  code: number;
  /** Text after the code, printable ASCII; nothing is added to it, so put an enhanced status code in front where the sender should see one. */
  text?: string;
}

/** One fault: at least one of `reply`, `delayMs` and `disconnect: true` is required. */
export interface FaultRule {
  /** Where the rule applies: over SMTP `rcpt` in place of the reply to RCPT, `data` in place of the 354, `end-of-data` in place of the 250 to the final dot; `api` in place of the response of a provider. */
  at: "rcpt" | "data" | "end-of-data" | "api";
  reply?: FaultReply;
  /** Wait so long before the reply. */
  delayMs?: number;
  /** Close the connection, after the `reply` if there is one. */
  disconnect?: boolean;
  /** How often the rule applies before the next one does. */
  times?: number;
}

/** A fault rule and how often it still applies. */
export interface FaultState {
  /** Where the rule applies: over SMTP `rcpt` in place of the reply to RCPT, `data` in place of the 354, `end-of-data` in place of the 250 to the final dot; `api` in place of the response of a provider. */
  at: "rcpt" | "data" | "end-of-data" | "api";
  /** Null where the rule gives no reply. */
  reply: FaultReply | null;
  /** Milliseconds before the reply; 0 for none. */
  delayMs: number;
  /** Whether the connection is closed. */
  disconnect: boolean;
  /** How often the rule was to apply. */
  times: number;
  /** How often it still applies. */
  left: number;
}

/** The fault rules of an inbox. */
export interface Faults {
  /** All rules in their order, also those of which nothing is left. */
  rules: FaultState[];
}

/** Which address to generate. All fields are optional. */
export interface GenerateAddress {
  /** A served domain; GET /v1/domains lists them. */
  domain?: string;
}

/** A free address without an inbox. */
export interface GeneratedAddress {
  /** The address. */
  address: string;
  /** The part before the @. */
  localPart: string;
  /** The part after the @. */
  domain: string;
  /** Until then only your account can create an inbox with this address. */
  heldUntil: string;
}

/** How many ended, by whether they had a message. */
export interface HeldCounts {
  /** Those that returned at least one message. */
  withMessages: number;
  /** Those that ended without a message. */
  empty: number;
}

/** A new inbox with the messages of a recording. */
export interface ImportedInbox extends CreatedInbox {
  /** Number of messages in the recording. */
  recordedMessages: number;
  /** When the last message will be delivered, with `speed`; null without, since all messages are in the inbox then. */
  replayEndsAt: string | null;
}

/** An inbox. */
export interface Inbox {
  /** Identifier of an inbox. */
  id: string;
  /** The email address of the inbox. */
  address: string;
  /** The telephone number at which the inbox takes SMS, in E.164 format: the local part of an address at the default domain that is a number. */
  phoneNumber: string | null;
  /** Whether it takes mail for more than `address`: a catch-all inbox for every local part of its domain, the sink for every address that no other inbox takes. */
  catchAll: boolean;
  /** The domain of the address. */
  domain: string;
  labels: Labels;
  /** When the inbox was created. */
  createdAt: string;
  /** When the inbox expires. */
  expiresAt: string;
  /** The lifetime that was requested last, in minutes; 0 for the sink, which never expires. */
  ttlMinutes: number;
  /** The latest time to which the inbox can be extended. */
  maxExpiresAt: string;
  /** Number of messages in the inbox. */
  messageCount: number;
  /** True if the inbox holds as many messages as the plan allows: mail is refused with 452 until some are deleted. */
  full: boolean;
  /** What happens when it is full: `none`: mail is refused, and nothing is dropped. */
  eviction: "none" | "oldest";
  /** Of an inbox that was imported with `speed`: `running` while messages of the recording are still to come, `cut` when the rest of them will never come, because the server was stopped or a message could not be stored. */
  replay: "none" | "running" | "cut";
  /** When the newest message arrived, even if it was deleted; null before the first message. */
  lastMessageAt: string | null;
  /** Position after the newest message: pass it as `since` to get later messages only. */
  cursor: string;
}

/** A page of inboxes. */
export interface InboxList {
  /** Live inboxes, newest first. */
  inboxes: Inbox[];
  /** True if older entries match too: repeat the request with `before` set to the id of the last entry. */
  hasMore: boolean;
}

/** The webhook that was registered with an inbox. */
export interface InboxWebhook {
  /** Identifier of a webhook. */
  id: string;
  /** URL to which events are sent by POST: `http` or `https`, without a user name. */
  url: string;
  /** The signing secret (Standard Webhooks). */
  secret: string;
}

/** What an attachment of type `message/rfc822` says, such as a forwarded message or the original of a bounce; missing for other types. Messages within it are not read, and of one message at most 20 attached ones are. */
export interface InnerMessage {
  /** The decoded Subject header; '' without one. */
  subject: string;
  /** The first author of the From header; null without one. */
  from: MailAddress | null;
  /** Recipients of the To header. */
  to: MailAddress[];
  /** The Date header; null if it is missing or unreadable. */
  date: string | null;
  /** The text body; null when there is none. */
  text: string | null;
  /** The HTML body; null when there is none. */
  html: string | null;
  /** The links in the message. */
  links: MailLink[];
  /** One-time codes in the message. */
  codes: MailCode[];
}

/** An API key, without its secret. */
export interface Key {
  /** Identifier of an API key; not the key itself. */
  id: string;
  /** What the key is for. */
  name: string;
  /** `full`: all operations of the account. */
  scope: "full" | "read";
  /** The first characters of the key, to tell keys apart. */
  prefix: string;
  /** When the key was created. */
  createdAt: string;
  /** When the key expires; null for never. */
  expiresAt: string | null;
  /** When the key was last used, to within a minute; null if it was never used. */
  lastUsedAt: string | null;
}

/** The API keys of the account. */
export interface KeyList {
  /** Newest first. */
  keys: Key[];
}

/** A label of live inboxes. */
export interface Label {
  /** Name of the label. */
  name: string;
  /** Value of the label. */
  value: string;
  /** Live inboxes with this label. */
  inboxes: number;
  /** When the newest of them was created. */
  newestAt: string;
}

/** Labels of live inboxes. */
export interface LabelList {
  /** Those of the newest inboxes first. */
  labels: Label[];
  /** True if there are more labels than `limit`. */
  hasMore: boolean;
}

/** Up to 16 short name and value pairs, to find and delete by test run. */
export type Labels = Record<string, string>;

/** Conditions that one link must meet together. */
export interface LinkMatch {
  /** The probable purpose of the link. */
  kind?: "verify" | "reset" | "sign-in" | "unsubscribe" | "other";
  /** Text that the target of the link must contain. */
  href?: string;
  /** Text that the visible words of the link must contain. */
  text?: string;
}

/** HTML or CSS of a message, and which mail clients support it. */
export interface LintFeature {
  /** What is used. */
  feature: string;
  /** The page with the tests and notes. */
  reference: string;
  /** The share of mail clients that support it, percent; partial support counts half. */
  share: number;
  /** The first lines of the decoded HTML that use it, up to five. */
  lines: number[];
  /** Mail clients that support it, with their platforms. */
  full: string[];
  /** Those that support it in part. */
  partial: string[];
  /** Those that do not. */
  none: string[];
}

/** A rule that a message breaks, once or more often. */
export interface LintFinding {
  /** Name of the rule; it does not change. */
  rule: string;
  /** `error`: against a standard. */
  severity: "error" | "warning" | "info";
  /** What is wrong, and what to do about it. */
  message: string;
  /** A header field, a media type, an attachment, an address or a line of the raw source, or several of them; null for the message as a whole. */
  where: string | null;
  /** How often the message breaks the rule, of images and addresses in its first 1,000. */
  count: number;
  /** Where the rule comes from: a section of a standard, or a data set. */
  reference: string;
}

/** What is wrong with a message, and how mail clients support what its HTML uses. */
export interface LintReport {
  /** One for each rule that the message breaks, the most severe first; empty for a well-made message. */
  findings: LintFinding[];
  /** Everything in the HTML, up to 60 features, that not all mail clients support, whether or not that is a finding. */
  features: LintFeature[];
}

/** A mailbox of a header (RFC 5322 section 3.4). */
export interface MailAddress {
  /** The address. */
  address: string;
  /** The display name, decoded; '' without one. */
  name: string;
}

/** A one-time code found in a message. */
export interface MailCode {
  /** The code. */
  value: string;
  /** The words around the code. */
  context: string;
}

/** A header field. */
export interface MailHeader {
  /** Name as in the message. */
  name: string;
  /** Value, unfolded and decoded. */
  value: string;
}

/** An image in the HTML body of a message. */
export interface MailImage {
  /** The `src` attribute: a URL, or `cid:` and the `contentId` of an attachment. */
  src: string;
  /** The `alt` attribute; null without one, '' for a decorative image. */
  alt: string | null;
}

/** A link found in a message. */
export interface MailLink {
  /** The target, exactly as in the message. */
  href: string;
  /** The visible words of the link; '' without any. */
  text: string;
  /** The probable purpose of the link. */
  kind: "verify" | "reset" | "sign-in" | "unsubscribe" | "other";
}

/** Marks to change. */
export interface MarkMessage {
  /** True marks the message as read, now if it is not yet; false marks it as unread. */
  read?: boolean;
  /** Replaces all tags. */
  tags?: string[];
}

/** A message in full. */
export interface Message extends MessageSummary {
  /** Addresses of the Reply-To header. */
  replyTo: MailAddress[];
  /** Recipients of the Bcc header, if the message contains one. */
  bcc: MailAddress[];
  /** The Sender header; null without one. */
  sender: MailAddress | null;
  /** The Date header; null if it is missing or unreadable. */
  date: string | null;
  /** The Message-ID header. */
  rfcMessageId: string | null;
  /** The In-Reply-To header. */
  inReplyTo: string | null;
  /** The ids of the References header. */
  references: string[];
  /** The header fields, in order: as many as 2 MiB hold, and about 2,000. */
  headers: MailHeader[];
  /** The HTML body as sent; null when there is none. */
  html: string | null;
  /** The text body as sent, `format=flowed` included, never made from the HTML; null when there is none. */
  text: string | null;
  /** The visible words of the HTML body: a line for each block, a tab between the cells of a row; hidden elements are left out. */
  htmlText: string | null;
  /** All attachments, inline parts included. */
  attachments: Attachment[];
  /** The links in the message, each once, in order: the first 200 of at most 16,384 characters. */
  links: MailLink[];
  /** The images of the HTML body, in order. */
  images: MailImage[];
  /** The MIME structure: all parts in the order of the source, the message itself first. */
  structure: StructurePart[];
  envelope: Envelope;
  /** Results of sender authentication; null if the sender was not checked. */
  authentication: Authentication | null;
  /** URL of the raw source. */
  rawUrl: string;
  /** Why the message could not be read in full; null if it could. */
  parseError: string | null;
  /** True if the response would have become too large. */
  truncated?: boolean;
}

/** A page of messages. */
export interface MessageList {
  /** Newest first. */
  messages: MessageSummary[];
  /** Position after the newest message at the time of this response, also if the list is empty. */
  cursor: string;
  /** True if older entries match too: repeat the request with `before` set to the id of the last entry. */
  hasMore: boolean;
  /** Only where a search took more than a second: the time of the oldest message that it looked at. */
  searchedTo?: string;
}

/** Conditions that a message must meet together; without any, every message matches. Texts match anywhere in a field, and case is ignored. */
export interface MessageMatch {
  /** Only messages whose author (address or name) contains this. */
  from?: string;
  /** Only messages with a recipient (address or name, To, Cc or envelope) that contains this. */
  to?: string;
  /** Only messages with a recipient of the SMTP envelope that contains this; of a catch-all inbox, the address that the mail was sent to. */
  rcptTo?: string;
  /** Only messages whose subject contains this. */
  subject?: string;
  /** Only messages whose plain text part or visible words of the HTML contain this. */
  text?: string;
  /** Only messages with attachments, or only those without. */
  hasAttachments?: boolean;
  /** Only messages with a one-time code, or only those without. */
  code?: boolean;
  /** Only messages with a link (true), without one (false), or with a link that meets the given conditions. */
  link?: boolean | LinkMatch;
}

/** A new message arrived. */
export interface MessageReceivedEvent {
  /** Identifier of the event; the same as the header `webhook-id`. */
  id: string;
  /** The kind of event; there is only this one. */
  type: "message.received";
  /** When the message was stored. */
  timestamp: string;
  /** Only in test events, whose inbox and message do not exist. */
  test?: boolean;
  /** The inbox and the message. */
  data: {
    /** The inbox that received the message. */
    inbox: {
      /** Identifier of an inbox. */
      id: string;
      /** Address of the inbox. */
      address: string;
      labels: Labels;
    };
    /** The message, without the content of attachments. */
    message: MessageSummary & {
      /** The HTML body as sent; null when there is none. */
      html: string | null;
      /** The text body as sent, `format=flowed` included, never made from the HTML; null when there is none. */
      text: string | null;
      /** The links in the message, each once, in order: the first 200 of at most 16,384 characters. */
      links: MailLink[];
      /** All attachments, inline parts included. */
      attachments: Attachment[];
      /** True if something was left out: `html` and `text` have at most 256 KiB together, each list 64 KiB. */
      truncated: boolean;
      /** URL of the message in full; a path where the server has no `MAYFLY_PUBLIC_URL`. */
      url: string;
    };
  };
}

/** A message in a list. */
export interface MessageSummary {
  /** Identifier of a message. */
  id: string;
  /** Identifier of an inbox. */
  inboxId: string;
  /** The first author of the From header; null without one. */
  from: MailAddress | null;
  /** Recipients of the To header. */
  to: MailAddress[];
  /** Recipients of the Cc header. */
  cc: MailAddress[];
  /** The decoded Subject header; '' without one. */
  subject: string;
  /** The first 200 characters of the visible text. */
  preview: string;
  /** When the message was stored. */
  receivedAt: string;
  /** Size of the raw source in bytes. */
  size: number;
  /** How many parts have disposition `attachment`. */
  attachmentCount: number;
  /** How many parts have disposition `inline`: pictures of the page, calendar entries, further alternatives. */
  inlineCount: number;
  /** Whether `attachmentCount` is above 0. */
  hasAttachments: boolean;
  /** One-time codes in the message, best first; empty when unsure. */
  codes: MailCode[];
  /** When the message was marked as read; null if it is not. */
  readAt: string | null;
  /** The tags of the message, as `PATCH` set them. */
  tags: string[];
  /** The provider through whose interface the message was sent; missing for SMTP and injected messages. */
  via?: "ses" | "sendgrid" | "resend" | "postmark" | "mailgun" | "twilio";
  /** The envelope recipients of this inbox as given in RCPT TO, where they are not just its address: with a tag, or in a sink or a catch-all inbox. */
  rcptTo?: string[];
}

/** Mail sent to a similar address, possibly intended for this inbox: a typing error, missing dots or digits, a tag without a plus, another domain. */
export interface NearMiss {
  /** The similar address. */
  address: string;
  /** When the last mail for it was sent. */
  at: string;
  /** Number of mails. */
  times: number;
  /** `refused`: no inbox takes mail for the address. */
  outcome: "refused" | "received";
  /** The inbox that got the mail; null when none did, and for the sink where it is not the account’s own or the caller has a read token. */
  inboxId: string | null;
}

/** Mail of the account that was possibly intended for this inbox, though its address is not similar. */
export interface OtherMail {
  /** The address that the mail was sent to, in lower case and without a tag. */
  address: string;
  /** When it arrived or was refused. */
  at: string;
  /** `same-recipient`: it was sent to the address of this inbox, but another inbox has it: its sender had authenticated for that one by SMTP AUTH, or this inbox did not exist yet and the sink took it. */
  reason: "same-recipient" | "meets-conditions" | "refused";
  /** The inbox that has the mail; null for refused mail. */
  inboxId: string | null;
}

/** What becomes of the next messages. */
export interface OutcomeRule {
  /** What becomes of the message after it was accepted: it bounces for good, bounces for now, is reported as spam, is delayed, or its recipient unsubscribes. */
  outcome: "bounce" | "soft-bounce" | "complaint" | "delay" | "unsubscribe";
  /** How many messages get it before the next rule applies. */
  times?: number;
}

/** A rule and how often it still applies. */
export interface OutcomeState {
  /** What becomes of the message after it was accepted: it bounces for good, bounces for now, is reported as spam, is delayed, or its recipient unsubscribes. */
  outcome: "bounce" | "soft-bounce" | "complaint" | "delay" | "unsubscribe";
  /** How often the rule was to apply. */
  times: number;
  /** How often it still applies. */
  left: number;
}

/** The outcomes of an inbox. */
export interface Outcomes {
  /** All rules in their order, also those of which nothing is left. */
  rules: OutcomeState[];
}

/** Limits of a plan. */
export interface PlanLimits {
  /** Requests per calendar month (UTC); null without a limit. */
  requestsPerMonth: number | null;
  /** Sustained requests per second; null without a limit. */
  requestsPerSecond: number | null;
  /** Requests that may be sent at once after a pause; null without a limit. */
  burst: number | null;
  /** Longest lifetime of an inbox in minutes. */
  maxTtlMinutes: number;
  /** Number of live inboxes; null without a limit. */
  maxLiveInboxes: number | null;
  /** Number of messages that an inbox holds. */
  maxMessagesPerInbox: number;
  /** Size of the largest message in bytes. */
  maxMessageBytes: number;
  /** Number of webhooks, those of single inboxes included; null without a limit. */
  maxWebhooks: number | null;
}

/** A link to a message as a browser shows it. */
export interface Preview {
  /** URL of the page. */
  url: string;
  /** When the link ends. */
  expiresAt: string;
  /** Number of images, fonts, style sheets and other resources on other servers. */
  remoteCount: number;
}

/** How the message is shown. All fields are optional. */
export interface PreviewRequest {
  /** Whether the page may load images, fonts and style sheets from other servers; their operators then see that the message was opened. */
  remoteContent?: boolean;
}

/** Why a request failed (RFC 9457). */
export interface Problem {
  /** URI of the kind of problem. */
  type: string;
  /** The kind of problem in words; the same for all problems of a kind. */
  title: string;
  /** The HTTP status. */
  status: number;
  /** What was wrong with this request and what to do next, for people. */
  detail: string;
  /** The kind of problem, for programs to branch on. */
  code: "invalid_request" | "invalid_since" | "malformed_json" | "unauthorized" | "insufficient_scope" | "cross_site_request" | "not_found" | "method_not_allowed" | "address_taken" | "idempotency_in_progress" | "idempotency_key_reused" | "inbox_expired" | "inbox_full" | "last_key" | "limit_reached" | "permanent_inbox" | "message_too_large" | "payload_too_large" | "unsupported_media_type" | "malformed_message" | "malformed_recording" | "unknown_recipient" | "webhook_disabled" | "webhook_url_refused" | "rate_limited" | "quota_exceeded" | "unavailable" | "storage_damaged" | "server_stopping" | "range_not_satisfiable" | "request_timeout" | "headers_too_large" | "internal_error";
  /** Identifier of the request, also in `X-Request-Id` and in the log of the server. */
  requestId: string;
  /** The invalid places of an invalid request, at most 20. */
  errors?: ProblemField[];
  /** When the inbox expired (`inbox_expired`). */
  expiredAt?: string;
}

/** One invalid place of the request. */
export interface ProblemField {
  /** JSON pointer into the body, or a parameter's name. */
  path: string;
  /** What is wrong there and what is right. */
  message: string;
}

/** The settings of a provider for an account. */
export interface ProviderSettings {
  /** A provider whose interface Mayfly has. */
  name: "ses" | "sendgrid" | "resend" | "postmark" | "mailgun" | "twilio";
  /** Where events are posted; null if nowhere. */
  webhookUrl: string | null;
  /** Where replies are posted; null if nowhere. */
  inboundUrl: string | null;
  /** What the application needs to verify events: a signing secret, a public key or a user name with its password, by the name that the provider has for it. */
  verification: Record<string, string>;
}

/** Mail that SMTP refused. */
export interface RefusalList {
  /** Newest first. */
  refusals: RefusedMail[];
  /** True if there are older ones: raise `limit`, or name an `address`. */
  hasMore: boolean;
}

/** Mail for the address of this inbox that was refused. */
export interface RefusedMail {
  /** When it was refused. */
  at: string;
  /** The recipient, in lower case and without a tag; '' for a mail that was refused at MAIL for its size, before it named a recipient, and for an inbox id that was refused at AUTH. */
  address: string;
  /** The SMTP reply to the sender; '' where a fault rule delayed the reply or closed the connection without one, and, without a fault rule, where the connection ended in the middle of the message. */
  reply: string;
  /** The fault rule of the inbox that caused it; null where there was none. */
  fault: AppliedFault | null;
  /** Reverse-path of the MAIL command; '' for a bounce. */
  mailFrom: string;
  /** The host name that the client sent with HELO or EHLO. */
  helo: string;
  /** The IP address of the client. */
  remoteAddress: string;
  /** The provider through whose interface it came, which told its caller; missing for SMTP. */
  via?: "ses" | "sendgrid" | "resend" | "postmark" | "mailgun" | "twilio";
}

/** Which deliveries to replay. */
export interface ReplayDeliveries {
  /** Replay the deliveries in this state. */
  state: "failed" | "cancelled" | "delivered";
  /** Only deliveries that were recorded at this time or later: an RFC 3339 time, or milliseconds since 1970. */
  since?: string;
}

/** The result of a replay. */
export interface ReplayedDeliveries {
  /** How many deliveries are pending again. */
  replayed: number;
}

/** A reply. */
export interface Reply {
  /** What the recipient answers, without the quoted message. */
  text: string;
  /** The same as HTML. */
  html?: string;
  /** True replies to the other recipients (To, Cc), too. */
  all?: boolean;
  /** Files. */
  attachments?: Array<{
    /** Its name. */
    filename: string;
    /** Its media type. */
    contentType?: string;
    /** Its bytes in base64. */
    content: string;
  }>;
  /** The mail program whose way of quoting the reply has. */
  style?: "gmail" | "outlook" | "apple";
  /** How the reply reaches the application: `smtp`, or in the inbound format of a provider at its `inboundUrl`. */
  to?: "smtp" | "ses" | "sendgrid" | "resend" | "postmark" | "mailgun" | "twilio";
}

/** An inbox of a run. */
export interface ReportedInbox {
  /** Identifier of an inbox. */
  id: string;
  /** The email address of the inbox. */
  address: string;
  labels: Labels;
  /** When the inbox was created. */
  createdAt: string;
  /** Whether and how the inbox ended. */
  state: "live" | "expired" | "deleted";
  /** When it ended; null for a live one. */
  endedAt: string | null;
  /** Messages received so far, deleted ones included. */
  messageCount: number;
  /** When the first message arrived; null before it. */
  firstMessageAt: string | null;
  /** Milliseconds from the creation of the inbox to its first message; null before it. */
  firstMessageAfterMs: number | null;
  /** Ended waits of `POST /v1/inboxes/{id}/wait`; `lists` are those with `wait`, `streams` those of the inbox. */
  waits: {
    /** Waits that succeeded. */
    succeeded: number;
    /** Waits that failed. */
    failed: number;
    lists: HeldCounts;
    streams: HeldCounts;
    /** The first 10 that failed, oldest first. */
    failures: ReportedWait[];
  };
  /** Refused mail, also after the end of the inbox; not what faults of the inbox refused. */
  refusals: {
    /** How often SMTP refused mail for the address, within the last 24 hours. */
    count: number;
    /** The last one; null without any. */
    last: ReportedRefusal | null;
  };
}

/** Mail for an inbox of the run that was refused. */
export interface ReportedRefusal {
  /** When it was refused. */
  at: string;
  /** The SMTP reply to the sender. */
  reply: string;
  /** Reverse-path of the MAIL command; '' for a bounce. */
  mailFrom: string;
  /** The IP address of the client. */
  remoteAddress: string;
}

/** A wait that failed. */
export interface ReportedWait {
  /** Identifier of a wait that failed. */
  waitId: string;
  /** When the wait ended. */
  endedAt: string;
  /** How long it was held, milliseconds. */
  waitedMs: number;
  /** How many messages were wanted; 0 for silence. */
  count: number;
  /** The conditions of the wait as texts, cut after 100 characters. */
  match: Record<string, string>;
  /** `unexpected_message`: a message came although none was wanted. */
  reason: "timeout" | "unexpected_message";
  /** How many messages arrived that did not match. */
  seenCount: number;
  /** Why it failed, in one or more sentences. */
  summary: string;
}

/** What became of the mail of a test run. */
export interface RunReport {
  labels: Labels;
  /** Sums over all inboxes of the run, also those that `inboxes` leaves out. */
  totals: {
    /** Inboxes of the run. */
    inboxes: number;
    /** Inboxes that received nothing. */
    inboxesWithoutMail: number;
    /** Messages received. */
    messages: number;
    /** Waits that succeeded. */
    waitsSucceeded: number;
    /** Waits that failed. */
    waitsFailed: number;
    lists: HeldCounts;
    streams: HeldCounts;
    /** Refused mails. */
    refusals: number;
  };
  /** What was wrong, in sentences that begin with the address: failed waits, then lists and streams of which none had a message, then refused mail. */
  problems: string[];
  /** Newest first, at most 1,000: those with a problem, then the newest others. */
  inboxes: ReportedInbox[];
  /** True if `inboxes` leaves some out. */
  hasMore: boolean;
}

/** A message that arrived and did not match. */
export interface SeenMessage {
  message: MessageSummary;
  /** All conditions that it did not meet. */
  failed: FailedCondition[];
}

/** A page of what an inbox sent. */
export interface SentList {
  /** Newest first. */
  sent: SentRecord[];
  /** True if older entries match too: repeat the request with `before` set to the id of the last entry. */
  hasMore: boolean;
}

/** What an inbox sent back. */
export interface SentRecord {
  /** Its id. */
  id: string;
  /** `event`: an event of a provider; `report`: a delivery status notification, a feedback report or a request to unsubscribe; `reply`: a reply. */
  type: "event" | "report" | "reply";
  /** Identifier of a message. */
  messageId: string;
  /** What it tells; null for a reply. */
  outcome: "bounce" | "soft-bounce" | "complaint" | "delay" | "unsubscribe" | null;
  /** The provider in whose format it is; null for mail. */
  via: "ses" | "sendgrid" | "resend" | "postmark" | "mailgun" | "twilio" | null;
  /** Addresses or the URL that it goes to; none until the first attempt. */
  to: string[];
  /** Of a reply; '' for others. */
  subject: string;
  /** Of a reply, without the quoted message; '' for others. */
  text: string;
  /** The Message-ID of a reply; null for others. */
  rfcMessageId: string | null;
  /** Whether it was taken. */
  state: "pending" | "delivered" | "failed" | "cancelled";
  /** Attempts so far. */
  attempts: number;
  /** Why the last attempt failed, or there is none. */
  error: string | null;
  /** When it was made. */
  createdAt: string;
  /** When the next attempt is due; null once it has ended. */
  dueAt: string | null;
}

/** A domain that the account may use for inboxes. */
export interface ServedDomain {
  /** The domain. */
  domain: string;
  /** Whether new inboxes use this domain if the request names none. */
  default: boolean;
  /** True if every account may use it, false if only yours may. */
  shared: boolean;
}

/** The fault rules of an inbox. They replace the ones before. */
export interface SetFaults {
  /** Applied in this order, each `times` times. */
  rules: FaultRule[];
}

/** The outcomes of an inbox. They replace the ones before. */
export interface SetOutcomes {
  /** Applied in this order, each to `times` messages. */
  rules: OutcomeRule[];
}

/** Where events and replies go. A URL that is not given is removed. */
export interface SetProvider {
  /** URL to which events are sent by POST: `http` or `https`, without a user name. */
  webhookUrl?: string;
  /** URL to which events are sent by POST: `http` or `https`, without a user name. */
  inboundUrl?: string;
}

/** The data of an event: a new message. */
export interface StreamedMessage {
  /** Identifier of an inbox. */
  inboxId: string;
  message: MessageSummary;
}

/** A part of the MIME structure of a message. */
export interface StructurePart {
  /** The place of the part, as in IMAP: `1`, and `2.1` for the first part within the second. '' for the outermost multipart. */
  part: string;
  /** The media type, `type/subtype` in lower case. */
  contentType: string;
  /** Bytes of the body as sent, not decoded. */
  size: number;
  /** Content-Disposition, in lower case; null without one. */
  disposition: string | null;
  /** File name as declared; null without one. */
  filename: string | null;
  /** Content-ID without angle brackets; null without one. */
  contentId: string | null;
}

/** Messages and replies that belong together. */
export interface Thread {
  /** The subject without prefixes such as `Re:`. */
  subject: string;
  /** Oldest first. */
  entries: ThreadEntry[];
}

/** A message of a thread. */
export interface ThreadEntry {
  /** A message of the inbox, or a reply from it. */
  kind: "received" | "sent";
  /** Id of the message or of the sent record. */
  id: string;
  /** When it was received or made. */
  at: string;
  /** Its subject. */
  subject: string;
}

/** The threads of an inbox. */
export interface ThreadList {
  /** The thread with the newest message first. */
  threads: Thread[];
}

/** When what happened to a message. */
export interface Timeline {
  /** In the order in which they must have happened: the Date header, the hops, the SMTP session, webhooks. */
  events: TimelineEvent[];
}

/** One step of a message. */
export interface TimelineEvent {
  /** When it happened, by the clock that `clock` names; null where the message does not say. */
  at: string | null;
  /** `date-header`: the Date header. */
  event: "date-header" | "received-header" | "earlier-attempt" | "connected" | "tls" | "authenticated" | "fault" | "mail-from" | "rcpt-to" | "data" | "injected" | "provider-call" | "imported" | "end-of-data" | "parsed" | "sender-checked" | "committed" | "replied" | "webhook-attempt" | "sent-back";
  /** Whose clock `at` was read from: that of the sender, of another mail server, or of Mayfly. */
  clock: "sender" | "relay" | "mayfly";
  /** Milliseconds since the event before that has a time; negative where the two clocks differ. */
  sincePreviousMs: number | null;
  /** What happened, in one line. */
  detail: string;
  /** What is odd about the time, such as a Date header in the future or hops out of order; null where nothing is. */
  note: string | null;
  /** Of a `webhook-attempt`; null for other events. */
  webhook: TimelineWebhook | null;
}

/** The outcome of an attempt to deliver the event of a message. */
export interface TimelineWebhook {
  /** Identifier of a webhook. */
  webhookId: string;
  /** Id of the delivery. */
  deliveryId: string;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Status of the response; null without a response. */
  status: number | null;
  /** How long the attempt took, milliseconds. */
  durationMs: number;
  /** Code of the error; null if and only if the attempt succeeded. */
  error: string | null;
}

/** Fields to change. */
export interface UpdateInbox {
  /** New lifetime in minutes from now, from 1 to the maximum of your plan; the inbox never lives longer than `maxExpiresAt`. */
  ttlMinutes: number;
}

/** Fields to change. */
export interface UpdateWebhook {
  /** URL to which events are sent by POST: `http` or `https`, without a user name. */
  url?: string;
  /** False cancels pending deliveries and sends no new ones. */
  enabled?: boolean;
  /** A note for people. */
  description?: string;
}

/** What the account has used of its plan. */
export interface Usage {
  /** The plan's name. */
  plan: string;
  limits: PlanLimits;
  /** The current calendar month. */
  period: {
    /** Beginning of the month (UTC). */
    start: string;
    /** Beginning of the next month (UTC), when the count starts again. */
    end: string;
  };
  /** Counted requests of this month: all but 304, 429 and 5xx. */
  used: number;
  /** Requests left this month; null without a limit. */
  remaining: number | null;
  /** When 80 % and 100 % of the quota were reached. */
  thresholds: Array<{
    /** Share of the monthly quota in percent: 80 or 100. */
    percent: number;
    /** When it was reached; null if it was not. */
    reachedAt: string | null;
  }>;
  /** The last 31 days, newest first, including days without requests. */
  days: UsageDay[];
}

/** The requests of one day. */
export interface UsageDay {
  /** A day in UTC. */
  day: string;
  /** Number of counted requests. */
  requests: number;
}

/** Why a wait failed, or may have failed. */
export interface WaitCause {
  /** The kind of the cause. */
  code: "unexpected_message" | "not_checked" | "cut_short" | "since_in_future" | "before_since" | "inbox_full" | "too_large" | "malformed" | "too_many_recipients" | "auth_failed" | "fault_rule" | "sender_left" | "refused" | "before_creation" | "captured_elsewhere" | "impossible_condition" | "similar_address" | "too_few" | "not_matching" | "deleted" | "scheduled" | "tls_failed" | "other_recipient" | "left_without_recipient" | "nothing_connected" | "nothing_arrived";
  /** `certain`: it happened to mail for this inbox, or it holds for the wait itself. */
  certainty: "certain" | "likely" | "possible";
  /** The cause in one or more sentences. */
  text: string;
}

/** Why no message, or too few, matched. */
export interface WaitExplanation {
  /** Why the wait ended. */
  reason: "timeout" | "unexpected_message" | "server_stopping";
  /** The reason in words, for a log or the message of a failed assertion. */
  summary: string;
  /** Why the wait failed, the most certain cause first; empty for `server_stopping`. */
  causes: WaitCause[];
  /** Number of messages that arrived and did not match. */
  seenCount: number;
  /** The newest 20 of them, newest first. */
  seen: SeenMessage[];
  /** The newest 20 refusals of mail for this address after `since`, within 24 hours, newest first; also from up to 30 s before the inbox was created. */
  refused: RefusedMail[];
  /** Up to 20 similar addresses that mail was sent to since 30 s before the wait began, the latest first. */
  nearMisses: NearMiss[];
  /** Up to 5 mails of the account that this inbox did not get and that may be meant for it. */
  otherMail: OtherMail[];
  /** The newest 20 TLS handshakes that failed after `since`, since 30 s before the wait began and since the inbox was created, newest first. */
  failedHandshakes: FailedHandshake[];
}

/** What to wait for. All fields are optional. */
export interface WaitRequest {
  match?: MessageMatch;
  /** Only messages strictly newer than this: a `cursor` of this inbox, a message id, an RFC 3339 time, or milliseconds since 1970. */
  since?: string;
  /** How many messages must match. */
  count?: number;
  /** Longest time to wait, in seconds, which may have a fraction; 0 does not wait. */
  timeoutSeconds?: number;
  /** How long earlier requests of the same wait were held, where a client holds several in a row: an explanation then speaks of the whole wait. */
  waitedSeconds?: number;
  /** How long the test wanted to wait, where its client has less time, such as the rest of the time limit of the test: an explanation then says that the wait was cut. */
  askedSeconds?: number;
}

/** Result of a wait; without success it has an `explanation`. */
export interface WaitResult {
  /** Whether the wait succeeded. */
  matched: boolean;
  /** Matching messages in full, oldest first: exactly `count` if the wait succeeded, otherwise all that there were. */
  messages: Message[];
  /** Position after the last message here, or after all messages that were checked: pass it as `since` to continue. */
  cursor: string;
  /** True if a message of `messages` was too large to be returned in full; it is marked likewise. */
  truncated?: boolean;
  explanation?: WaitExplanation;
  /** Of a wait that failed: what it has explained can be read for 24 hours with `GET /v1/inboxes/{id}/waits/{waitId}`. */
  waitId?: string;
}

/** A webhook. */
export interface Webhook {
  /** Identifier of a webhook. */
  id: string;
  /** URL to which events are sent by POST: `http` or `https`, without a user name. */
  url: string;
  /** The inbox whose messages it sends; null for all inboxes of the account. */
  inboxId: string | null;
  /** Your note; '' without one. */
  description: string;
  /** Whether new messages are delivered. */
  enabled: boolean;
  /** Why the server disabled it: a 410 response, only failures for five days, or its inbox ended. */
  disabledReason: string | null;
  /** The first failed attempt since the last success; null if the last attempt succeeded. */
  failingSince: string | null;
  /** When the webhook was registered. */
  createdAt: string;
}

/** One event for one webhook. */
export interface WebhookDelivery {
  /** Identifier of the delivery. */
  id: string;
  /** Identifier of the event, sent as `webhook-id`; the same for every attempt. */
  eventId: string;
  /** The inbox of the message; null for a test event. */
  inboxId: string | null;
  /** The message; null for a test event. */
  messageId: string | null;
  /** `pending`: to be attempted. */
  state: "pending" | "delivered" | "failed" | "cancelled";
  /** Why it failed or was cancelled, for example `The inbox ended.`; null otherwise. */
  reason: string | null;
  /** When it was recorded, in one transaction with its message. */
  createdAt: string;
  /** When the next attempt is due; null after the last one, and during an attempt. */
  nextAttemptAt: string | null;
  /** The newest 100 attempts of all replays, oldest first. */
  attempts: DeliveryAttempt[];
}

/** A page of deliveries. */
export interface WebhookDeliveryList {
  /** Newest first. */
  deliveries: WebhookDelivery[];
  /** True if older entries match too: repeat the request with `before` set to the id of the last entry. */
  hasMore: boolean;
}

/** A page of webhooks. */
export interface WebhookList {
  /** Newest first. */
  webhooks: Webhook[];
  /** True if older entries match too: repeat the request with `before` set to the id of the last entry. */
  hasMore: boolean;
}

/** A webhook with its new secret. */
export interface WebhookWithSecret extends Webhook {
  /** The signing secret (Standard Webhooks). */
  secret: string;
}

/** Every operation of the API but streams: what goes in and what comes out. */
export interface Operations {
  'POST /v1/inboxes': { body?: CreateInbox; result: CreatedInbox };
  'GET /v1/inboxes': { query?: { q?: string; address?: string; limit?: number; before?: string; [label: `label.${string}`]: string | undefined }; result: InboxList };
  'DELETE /v1/inboxes': { query?: { [label: `label.${string}`]: string | undefined }; result: DeletedInboxes };
  'GET /v1/inboxes/{id}': { path: { id: string }; result: Inbox };
  'PATCH /v1/inboxes/{id}': { path: { id: string }; body: UpdateInbox; result: Inbox };
  'DELETE /v1/inboxes/{id}': { path: { id: string }; result: undefined };
  'POST /v1/inboxes/{id}/expire': { path: { id: string }; result: undefined };
  'POST /v1/addresses/generate': { body?: GenerateAddress; result: GeneratedAddress };
  'PUT /v1/inboxes/{id}/faults': { path: { id: string }; body: SetFaults; result: Faults };
  'DELETE /v1/inboxes/{id}/faults': { path: { id: string }; result: undefined };
  'GET /v1/inboxes/{id}/faults': { path: { id: string }; result: Faults };
  'GET /v1/inboxes/{id}/export': { path: { id: string }; result: Uint8Array };
  'PUT /v1/inboxes/{id}/outcomes': { path: { id: string }; body: SetOutcomes; result: Outcomes };
  'GET /v1/inboxes/{id}/outcomes': { path: { id: string }; result: Outcomes };
  'DELETE /v1/inboxes/{id}/outcomes': { path: { id: string }; result: undefined };
  'POST /v1/inboxes/{id}/advance': { path: { id: string }; body: Advance; result: Advanced };
  'POST /v1/inboxes/{id}/messages/{messageId}/reply': { path: { id: string; messageId: string }; body: Reply; result: SentRecord };
  'GET /v1/inboxes/{id}/sent': { path: { id: string }; query?: { limit?: number; before?: string }; result: SentList };
  'GET /v1/inboxes/{id}/threads': { path: { id: string }; result: ThreadList };
  'PUT /v1/providers/{name}': { path: { name: "ses" | "sendgrid" | "resend" | "postmark" | "mailgun" | "twilio" }; body?: SetProvider; result: ProviderSettings };
  'GET /v1/providers/{name}': { path: { name: "ses" | "sendgrid" | "resend" | "postmark" | "mailgun" | "twilio" }; result: ProviderSettings };
  'DELETE /v1/providers/{name}': { path: { name: "ses" | "sendgrid" | "resend" | "postmark" | "mailgun" | "twilio" }; result: undefined };
  'GET /v1/reports/runs': { query?: { [label: `label.${string}`]: string | undefined }; result: RunReport };
  'GET /v1/labels': { query?: { name?: string; limit?: number }; result: LabelList };
  'GET /v1/inboxes/{id}/messages': { path: { id: string }; query?: { since?: string; before?: string; limit?: number; wait?: number; q?: string; from?: string; to?: string; rcptTo?: string; subject?: string; text?: string; hasAttachments?: boolean }; result: MessageList };
  'DELETE /v1/inboxes/{id}/messages': { path: { id: string }; result: undefined };
  'POST /v1/inboxes/{id}/messages': { path: { id: string }; query?: { mailFrom?: string; rcptTo?: string }; body: string | Uint8Array; result: Message };
  'GET /v1/messages': { query?: { q?: string; since?: string; before?: string; limit?: number; wait?: number; from?: string; to?: string; rcptTo?: string; subject?: string; text?: string; hasAttachments?: boolean }; result: AccountMessageList };
  'GET /v1/inboxes/{id}/messages/{messageId}': { path: { id: string; messageId: string }; query?: { include?: "attachmentContent" }; result: Message };
  'PATCH /v1/inboxes/{id}/messages/{messageId}': { path: { id: string; messageId: string }; body?: MarkMessage; result: MessageSummary };
  'DELETE /v1/inboxes/{id}/messages/{messageId}': { path: { id: string; messageId: string }; result: undefined };
  'GET /v1/inboxes/{id}/messages/{messageId}/raw': { path: { id: string; messageId: string }; result: Uint8Array };
  'GET /v1/inboxes/{id}/messages/{messageId}/lint': { path: { id: string; messageId: string }; result: LintReport };
  'GET /v1/inboxes/{id}/messages/{messageId}/attachments/{attachmentId}': { path: { id: string; messageId: string; attachmentId: string }; result: Uint8Array };
  'POST /v1/inboxes/{id}/messages/{messageId}/preview': { path: { id: string; messageId: string }; body?: PreviewRequest; result: Preview };
  'GET /v1/inboxes/{id}/messages/{messageId}/timeline': { path: { id: string; messageId: string }; result: Timeline };
  'GET /v1/refusals': { query?: { since?: string; address?: string; limit?: number }; result: RefusalList };
  'POST /v1/inboxes/{id}/wait': { path: { id: string }; body?: WaitRequest; result: WaitResult };
  'GET /v1/inboxes/{id}/waits/{waitId}': { path: { id: string; waitId: string }; result: FailedWait };
  'POST /v1/webhooks': { body: CreateWebhook; result: WebhookWithSecret };
  'GET /v1/webhooks': { query?: { limit?: number; before?: string }; result: WebhookList };
  'GET /v1/webhooks/{id}': { path: { id: string }; result: Webhook };
  'DELETE /v1/webhooks/{id}': { path: { id: string }; result: undefined };
  'PATCH /v1/webhooks/{id}': { path: { id: string }; body?: UpdateWebhook; result: Webhook };
  'POST /v1/webhooks/{id}/rotate-secret': { path: { id: string }; result: WebhookWithSecret };
  'POST /v1/webhooks/{id}/test': { path: { id: string }; result: WebhookDelivery };
  'GET /v1/webhooks/{id}/deliveries': { path: { id: string }; query?: { limit?: number; before?: string; state?: "pending" | "delivered" | "failed" | "cancelled" }; result: WebhookDeliveryList };
  'POST /v1/webhooks/{id}/deliveries/{deliveryId}/replay': { path: { id: string; deliveryId: string }; result: WebhookDelivery };
  'POST /v1/webhooks/{id}/deliveries/replay': { path: { id: string }; body: ReplayDeliveries; result: ReplayedDeliveries };
  'POST /v1/keys': { body: CreateKey; result: CreatedKey };
  'GET /v1/keys': { result: KeyList };
  'DELETE /v1/keys/{id}': { path: { id: string }; result: undefined };
  'GET /v1/usage': { result: Usage };
  'GET /v1/domains': { result: DomainList };
  'POST /v1/accounts': { body: CreateAccount; result: CreatedAccount };
  'POST /v1/inboxes/import': { query?: { speed?: number; ttlMinutes?: number; domain?: string; localPart?: string }; body: string | Uint8Array; result: ImportedInbox };
}
