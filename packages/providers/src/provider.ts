/** The providers, by the names in their addresses: `/providers/{name}`. */
export type ProviderName = 'ses' | 'sendgrid' | 'resend' | 'postmark' | 'mailgun' | 'twilio';

/** A mail that an application hands to a provider. */
export interface Sending {
  /** The source (RFC 5322) with CRLF, and without Bcc. */
  raw: Uint8Array;
  mailFrom: string;
  /** Addresses, those of Bcc included. */
  recipients: readonly string[];
  /** The id by which the provider knows the mail in responses and events. */
  providerId: string;
  /** Epoch milliseconds; not before then is it in an inbox. */
  sendAt?: number | undefined;
  /** What the application wants back in events: tags, metadata, categories, by the provider's own names. */
  given: Readonly<Record<string, unknown>>;
}

/**
 * A kind of what an application keeps at its provider. `sent` and `received` are mails as the provider shows them, kept
 * as long as a key.
 */
export type KeptKind = 'template' | 'idempotency' | 'sent' | 'received';

/** What stands behind a call: the caller's account and inbox, and what it keeps at this provider. */
export interface Mailroom {
  /** Epoch milliseconds. */
  now(): number;
  /** A random UUID. */
  uuid(): string;
  /** The default domain of the server, where an inbox for SMS has its number as its local part. */
  domain: string;
  /**
   * Stores a mail where SMTP would have put it, or until its time.
   * @throws Refused 401 unknown credential, 404 no such recipient, 413 too large, 429 too many requests, 507 inbox full,
   *   503 for a while, and the status of a fault rule
   */
  send(sending: Sending): Promise<void>;
  /**
   * Sends a few mails in their order. None is stored before all have met what `send` checks.
   * @param refused is called for each mail for which `send` would throw; what it throws is thrown, and nothing stored
   *   unless the mail was refused by the store
   */
  sendTogether(sendings: readonly Sending[], refused: (error: unknown, index: number) => void): Promise<void>;
  /** A scheduled mail that is still held is given another time, or for `null` is cancelled. @returns false if none is */
  reschedule(providerId: string, sendAt: number | null): Promise<boolean>;
  /** What `keep` stored, undefined for an unknown name. */
  kept(kind: KeptKind, name: string): Promise<unknown>;
  /** All of a kind, by name. */
  keptOf(kind: KeptKind): Promise<{ name: string; value: unknown }[]>;
  /** Stores a JSON value under a name of this caller's account at this provider; null deletes it. */
  keep(kind: KeptKind, name: string, value: unknown): Promise<void>;
  /**
   * Stores a value unless the name has one already, in one step, so that two requests at once cannot both.
   * @returns what was stored before, undefined if this call stored it
   */
  keepFirst(kind: KeptKind, name: string, value: unknown): Promise<unknown>;
}

/** A request to a provider's interface. */
export interface Call {
  method: string;
  /** Parameters of the path. */
  path: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Uint8Array;
  mailroom: Mailroom;
}

export interface Reply {
  /** Default: 200. */
  status?: number;
  /** A string is sent as UTF-8. */
  body: string | Uint8Array;
  type: string;
  headers?: Record<string, string>;
}

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/providers/{name}`, with parameters as `:name`. */
  url: string;
  /** @throws Refused, which the provider's `refusal` answers */
  answer(call: Call): Promise<Reply>;
}

/** A request that is refused. Providers add details of their own by subclasses. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** What becomes of a mail after it was taken. */
export type Outcome = 'bounce' | 'soft-bounce' | 'complaint' | 'delay' | 'unsubscribe';

/** Something that happened to one recipient of a mail that was sent through a provider. */
export interface OutcomeEvent {
  /** The same in all attempts to deliver the event. */
  id: string;
  outcome: Outcome;
  recipient: string;
  /** Epoch milliseconds. */
  at: number;
  sending: Pick<Sending, 'providerId' | 'mailFrom' | 'given'> & {
    subject: string;
    recipients: readonly string[];
    sentAt: number;
  };
}

/** A mail that comes back to the application: a reply, in the format of the provider's inbound webhook. */
export interface InboundMail {
  id: string;
  at: number;
  /** The source with CRLF. */
  raw: Uint8Array;
  mailFrom: string;
  rcptTo: string;
  from: { name: string; address: string };
  to: readonly { name: string; address: string }[];
  cc: readonly { name: string; address: string }[];
  subject: string;
  text: string;
  /** '' without one. */
  html: string;
  /** The text without the quoted mail. */
  reply: string;
  messageId: string;
  headers: readonly { name: string; value: string }[];
  attachments: readonly { filename: string; contentType: string; contentId: string; content: Uint8Array }[];
}

/** Keys with which an account's events are signed: made once by `makeSecrets`, stored, and shown to the account. */
export type Secrets = Readonly<Record<string, string>>;

/** A request to the application. */
export interface Posting {
  headers: Record<string, string>;
  body: Uint8Array;
}

/** What signing an event needs. */
export interface Signing {
  secrets: Secrets;
  /** Now, epoch milliseconds. */
  now: number;
  /** Where this provider's public files are, such as certificates: `https://…/providers/{name}`. */
  baseUrl: string;
  /** The URL that the webhook is posted to. */
  url: string;
}

/** One provider: the only thing that the server knows of it. */
export interface Provider {
  name: ProviderName;
  /** As people write it: `Amazon SES`. */
  title: string;
  routes: readonly Route[];
  /** The credential where the provider's SDK puts it, without prefix; undefined without one. */
  credentialOf(headers: Call['headers']): string | undefined;
  /** An error in the provider's shape. */
  refusal(error: Refused, call: Pick<Call, 'headers' | 'path'> & { url: string }): Reply;
  makeSecrets(): Promise<Record<string, string>>;
  /** What `secrets` says that an application may see to verify events: `{signingSecret}`, `{publicKey}`, … */
  shown(secrets: Secrets): Record<string, string>;
  /** Undefined where the provider has no event for an outcome. */
  event(event: OutcomeEvent, signing: Signing): Posting | undefined;
  inbound(mail: InboundMail, signing: Signing): Posting;
  /** What the application fetches after `inbound` has announced a mail: it is kept as `received` by the mail's id. */
  received?(mail: InboundMail): unknown;
  /** What changes in a mail that is kept as `sent`, where the provider shows what became of it. */
  became?(outcome: Outcome | 'delivered'): object | undefined;
  /** What is posted to a webhook URL when it is set, before all events: SNS's request to confirm a subscription. */
  handshake?(id: string, signing: Signing): Posting;
  /** Files that need no credential, by path below `baseUrl`, with its slash: SNS's certificate. */
  files?(path: string, secrets: Secrets): { type: string; body: string } | undefined;
}
