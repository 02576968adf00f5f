/** The providers; the names are part of their URLs: `/providers/{name}`. */
export type ProviderName = 'ses' | 'sendgrid' | 'resend' | 'postmark' | 'mailgun' | 'twilio';

/** A mail that an application sends through a provider. */
export interface Sending {
  /** The source (RFC 5322) with CRLF, without Bcc. */
  raw: Uint8Array;
  mailFrom: string;
  /** Addresses, including those of Bcc. */
  recipients: readonly string[];
  /** The provider's id of the mail, used in responses and events. */
  providerId: string;
  /** When the mail is delivered, epoch milliseconds; undefined for now. */
  sendAt?: number | undefined;
  /**
   * Data that events return to the application, such as tags, metadata and categories, by the provider's own
   * names.
   */
  given: Readonly<Record<string, unknown>>;
}

/**
 * Kind of an item that an application stores at its provider. `sent` and `received` are mails as the
 * provider's API shows them, kept as long as an idempotency key.
 */
export type KeptKind = 'template' | 'idempotency' | 'sent' | 'received';

/** The operations behind a call: the caller's account and inbox, and its items at this provider. */
export interface Mailroom {
  /** Epoch milliseconds. */
  now(): number;
  /** A random UUID. */
  uuid(): string;
  /** The server's default domain. The address of an SMS inbox is its number at this domain. */
  domain: string;
  /**
   * Delivers a mail as SMTP would, or schedules it. @throws Refused 401 unknown credential, 404 no such
   * recipient, 413 too large, 429 too many requests, 507 inbox full, 503 temporary failure, and the status of
   * a fault rule
   */
  send(sending: Sending): Promise<void>;
  /**
   * Sends a few mails in order. Checks all of them before the first is stored. @param refused is called for
   * each mail for which `send` would throw. An error that it throws is rethrown, and then no mail is stored,
   * unless the rejection came from the store
   */
  sendTogether(sendings: readonly Sending[], refused: (error: unknown, index: number) => void): Promise<void>;
  /** Changes the time of a pending scheduled mail; `null` cancels it. @returns false if there is none */
  reschedule(providerId: string, sendAt: number | null): Promise<boolean>;
  /** The item stored under a name; undefined if there is none. */
  kept(kind: KeptKind, name: string): Promise<unknown>;
  /** All items of a kind, with their names. */
  keptOf(kind: KeptKind): Promise<{ name: string; value: unknown }[]>;
  /** Stores a JSON value under a name, for the caller's account and this provider; null deletes it. */
  keep(kind: KeptKind, name: string, value: unknown): Promise<void>;
  /**
   * Stores a value unless the name has one; atomic, so that only one of two concurrent calls stores it.
   * @returns the existing value; undefined if this call stored its value
   */
  keepFirst(kind: KeptKind, name: string, value: unknown): Promise<unknown>;
}

/** A request to a provider's API. */
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
  /** Path below `/providers/{name}`, with parameters as `:name`. */
  url: string;
  /** @throws Refused, which `refusal` converts to a response */
  answer(call: Call): Promise<Reply>;
}

/** A rejected request. Subclasses add details of the provider. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Simulated outcome of an accepted mail. */
export type Outcome = 'bounce' | 'soft-bounce' | 'complaint' | 'delay' | 'unsubscribe';

/** An outcome for one recipient of a mail that was sent through a provider. */
export interface OutcomeEvent {
  /** The same in all delivery attempts. */
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

/** A reply to the application, for the provider's inbound webhook. */
export interface InboundMail {
  id: string;
  at: number;
  /** The raw source with CRLF. */
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
  /** The text without the quoted message. */
  reply: string;
  messageId: string;
  headers: readonly { name: string; value: string }[];
  attachments: readonly { filename: string; contentType: string; contentId: string; content: Uint8Array }[];
}

/** Keys that sign an account's events: created once by `makeSecrets`, stored, and shown to the account. */
export type Secrets = Readonly<Record<string, string>>;

/** A request to the application. */
export interface Posting {
  headers: Record<string, string>;
  body: Uint8Array;
}

/** Data for signing an event. */
export interface Signing {
  secrets: Secrets;
  /** Current time, epoch milliseconds. */
  now: number;
  /** Base URL of this provider's public files, such as certificates: `https://…/providers/{name}`. */
  baseUrl: string;
  /** The URL that the webhook is posted to. */
  url: string;
}

/** The interface of a provider; the server uses nothing else of it. */
export interface Provider {
  name: ProviderName;
  /** Display name, such as `Amazon SES`. */
  title: string;
  routes: readonly Route[];
  /** The credential from the header that the provider's SDK uses, without prefix; undefined without one. */
  credentialOf(headers: Call['headers']): string | undefined;
  /** Converts an error to the provider's format. */
  refusal(error: Refused, call: Pick<Call, 'headers' | 'path'> & { url: string }): Reply;
  makeSecrets(): Promise<Record<string, string>>;
  /** The parts of `secrets` that applications need to verify events: `{signingSecret}`, `{publicKey}`, … */
  shown(secrets: Secrets): Record<string, string>;
  /** Undefined if the provider has no event for this outcome. */
  event(event: OutcomeEvent, signing: Signing): Posting | undefined;
  inbound(mail: InboundMail, signing: Signing): Posting;
  /**
   * The record of a mail that applications fetch after `inbound`; stored as `received` under the mail's id.
   */
  received?(mail: InboundMail): unknown;
  /** Changes to the `sent` record of a mail after an outcome, if the provider's API shows them. */
  became?(outcome: Outcome | 'delivered'): object | undefined;
  /** The first request to a new webhook URL: SNS's subscription confirmation. */
  handshake?(id: string, signing: Signing): Posting;
  /** Public files, by path below `baseUrl` with its slash: SNS's certificate. */
  files?(path: string, secrets: Secrets): { type: string; body: string } | undefined;
}
