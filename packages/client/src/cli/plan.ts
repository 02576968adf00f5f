import type { api, Mayfly, SearchQuery, Transport } from '@mayfly/client';
import { UsageError } from './arguments.ts';

/**
 * The mails that each recipient of a test run must have received, and no others. `{name}` stands for a field
 * of the recipient.
 */
export interface Plan {
  mails: Record<string, PlannedMail>;
  recipients: Recipient[];
}
interface PlannedMail {
  /** The complete subject. */
  subject: string;
  /** Strings that the text must contain. */
  text?: string | string[];
  /** String that the target of a link must contain. */
  link?: string;
}
interface Recipient {
  /** Address of the recipient. */
  to: string;
  /** Names of the mails that this recipient must receive. Default: all. */
  mails?: string[];
  [field: string]: unknown;
}

interface Expected {
  name: string;
  subject: string;
  texts: string[];
  link: string | undefined;
}

/** Full mails that are requested concurrently: each response has up to 8 MiB. */
const READERS = 8;
/** The largest number of mails that one wait returns. */
const MAX_COUNT = 50;
/** Problems that are listed; more would flood the log of a CI job. */
const MAX_LISTED = 100;
const PLAN_FIELDS = ['mails', 'recipients'];
const MAIL_FIELDS = ['subject', 'text', 'link'];
const FIELD = /\{(\w+)\}/g;

const isObject = (value: unknown): value is Record<string, unknown> =>
  Object.prototype.toString.call(value) === '[object Object]';
const asText = (value: string) => value.replace(/\s+/g, ' ').trim();
const keyOf = (address: string) => address.trim().toLowerCase();

function assertFields(value: unknown, known: string[], where: string): asserts value is object {
  if (!isObject(value)) throw new UsageError(`${where} must be an object.`);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`"${unknown}" is not a field of ${where}. There are: ${known.join(', ')}.`);
}

/** @throws UsageError if `plan` is not a valid plan */
export function assertPlan(plan: unknown): asserts plan is Plan {
  assertFields(plan, PLAN_FIELDS, 'the plan');
  const { mails, recipients } = plan as { mails?: unknown; recipients?: unknown };
  if (!isObject(mails) || Object.keys(mails).length === 0)
    throw new UsageError('The plan needs "mails", such as {"welcome": {"subject": "Welcome, {first}"}}.');
  for (const [name, mail] of Object.entries(mails)) {
    assertFields(mail, MAIL_FIELDS, `the mail "${name}"`);
    const { subject, text = [], link = '' } = mail as Record<string, unknown>;
    if (typeof subject !== 'string') throw new UsageError(`The mail "${name}" needs a "subject".`);
    if (![text, link].flat().every((part) => typeof part === 'string'))
      throw new UsageError(`"text" and "link" of the mail "${name}" must be strings.`);
  }
  if (!Array.isArray(recipients))
    throw new UsageError('The plan needs "recipients", such as [{"to": "ada@mayfly.test", "first": "Ada"}].');
  const seen = new Set<string>();
  for (const one of recipients) {
    if (!isObject(one) || typeof one.to !== 'string')
      throw new UsageError(`A recipient needs its address as "to": ${JSON.stringify(one)}`);
    if (seen.has(keyOf(one.to))) throw new UsageError(`${one.to} is more than once among the recipients.`);
    seen.add(keyOf(one.to));
  }
}

/** Replaces each `{name}`. @throws UsageError if the recipient has no such field */
function fill(template: string, recipient: Recipient): string {
  const filled = template.replace(FIELD, (_, name: string) => {
    const value = recipient[name];
    if (typeof value === 'string' || typeof value === 'number') return String(value);
    throw new UsageError(
      `The recipient ${recipient.to} has no field "${name}", which a mail of the plan uses.`,
    );
  });
  return asText(filled);
}

function expectedOf(plan: Plan, recipient: Recipient): Expected[] {
  const expected = (recipient.mails ?? Object.keys(plan.mails)).map((name) => {
    const mail = Object.hasOwn(plan.mails, name) ? plan.mails[name] : undefined;
    if (!mail) throw new UsageError(`The plan has no mail "${name}", which ${recipient.to} expects.`);
    const { subject, text = [], link } = mail;
    return {
      name,
      subject: fill(subject, recipient),
      texts: [text].flat().map((part) => fill(part, recipient)),
      link: link && fill(link, recipient),
    };
  });
  const subjects = expected.map(({ subject }) => subject);
  const twice = subjects.find((subject, index) => subjects.indexOf(subject) !== index);
  if (twice === undefined) return expected;
  throw new UsageError(
    `Two mails for ${recipient.to} have the subject ${JSON.stringify(twice)}, so they cannot be told apart.`,
  );
}

/** Source of a regular expression that matches the template filled for any recipient. */
const shapeOf = (template: string): string =>
  asText(template)
    .split(FIELD)
    // `split` with a group: every second part is the name of a field.
    .map((part, index) =>
      index % 2 ? String.raw`\S+(?: \S+){0,3}?` : part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
    )
    .join('');

/** Compares the mails of a run with a plan. Stores counts, not mails. */
export class PlanCheck {
  readonly #plan: Plan;
  /** By address; `counts` is by the name of the expected mail. */
  readonly #recipients: Map<string, { recipient: Recipient; counts: Record<string, number> }>;
  /** Maps a subject that exactly one recipient expects to the address of that recipient, and a shared subject to ''. */
  readonly #meantFor = new Map<string, string>();
  readonly problems: string[] = [];
  problemCount = 0;
  mailCount = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    // Reports errors of the plan before any mail is read.
    for (const one of plan.recipients)
      for (const { subject } of expectedOf(plan, one))
        this.#meantFor.set(subject, this.#meantFor.has(subject) ? '' : one.to);
    this.#recipients = new Map(plan.recipients.map((one) => [keyOf(one.to), { recipient: one, counts: {} }]));
  }

  problem(text: string): void {
    this.problemCount++;
    if (this.problems.length < MAX_LISTED) this.problems.push(text);
  }

  /**
   * Counts a mail of a recipient.
   * @returns a function that compares the full mail; undefined if its summary is enough
   */
  count(to: string, mail: api.MessageSummary): ((mail: api.Message) => void) | undefined {
    this.mailCount++;
    const known = this.#recipients.get(keyOf(to));
    const expected = known && expectedOf(this.#plan, known.recipient);
    const subject = asText(mail.subject);
    const exact = expected?.find((wanted) => wanted.subject === subject);
    const meantFor = exact ? undefined : this.#meantFor.get(subject);
    if (meantFor) {
      this.problem(`${to}: ${JSON.stringify(mail.subject)} came, which the plan has for ${meantFor}.`);
      return undefined;
    }
    const one = exact ?? this.#like(expected, subject);
    if (!known || !one) {
      const why = expected ? 'is not in the plan' : 'came, and the plan does not have the address';
      this.problem(`${to}: ${JSON.stringify(mail.subject)} ${why}.`);
      return undefined;
    }
    known.counts[one.name] = (known.counts[one.name] ?? 0) + 1;
    if (one.subject !== subject)
      this.problem(`${to}: the subject is ${JSON.stringify(subject)}, not ${JSON.stringify(one.subject)}.`);
    // The preview is the beginning of the text.
    const preview = asText(mail.preview);
    const left = one.texts.filter((text) => !preview.includes(text));
    return left.length > 0 || one.link ? (full) => this.#compare(to, one, left, full) : undefined;
  }

  /** The expected mail that has this subject when filled with the fields of another recipient. */
  #like(expected: Expected[] | undefined, subject: string): Expected | undefined {
    return expected?.find(({ name }) => {
      const template = this.#plan.mails[name]?.subject ?? '';
      // A subject that consists of fields only would match any subject.
      return /\w/.test(template.replace(FIELD, '')) && new RegExp(`^${shapeOf(template)}$`).test(subject);
    });
  }

  #compare(to: string, { name, subject, texts, link }: Expected, left: string[], mail: api.Message): void {
    const bodies = [mail.text, mail.htmlText].map((body) => asText(body ?? ''));
    const templates = [this.#plan.mails[name]?.text ?? []].flat();
    for (const text of left) {
      if (bodies.some((body) => body.includes(text))) continue;
      // The same text with other values of the fields.
      const template = templates[texts.indexOf(text)] ?? '';
      const shape = template.includes('{') ? new RegExp(shapeOf(template)) : /$^/;
      const found = bodies.flatMap((body) => shape.exec(body)?.[0] || [])[0];
      const instead = found === undefined ? '' : ` It has ${JSON.stringify(found)}.`;
      this.problem(`${to}: ${JSON.stringify(subject)} lacks ${JSON.stringify(text)}.${instead}`);
    }
    if (link === undefined || mail.links.some(({ href }) => href.includes(link))) return;
    const links = mail.links.map(({ href }) => href).join(' ') || 'no link';
    this.problem(`${to}: ${JSON.stringify(subject)} lacks a link with ${link}. It has ${links}.`);
  }

  /** Reports mails that are missing or arrived more than once. */
  finish(): void {
    for (const { recipient, counts } of this.#recipients.values())
      for (const { name, subject } of expectedOf(this.#plan, recipient)) {
        const count = counts[name] ?? 0;
        if (count === 0) this.problem(`${recipient.to}: ${JSON.stringify(subject)} did not come.`);
        if (count > 1) this.problem(`${recipient.to}: ${JSON.stringify(subject)} came ${count} times.`);
      }
  }
}

/** A mail whose text must be fetched to compare it. */
interface Open {
  mail: api.MessageSummary;
  compare: (mail: api.Message) => void;
}

/**
 * Fetches full mails of one inbox. Adjacent ones share a wait request, whose response has up to 50.
 * @param open newest first
 * @param page all mails of the account in the same period
 */
async function readOpen(transport: Transport, open: Open[], page: api.MessageSummary[]): Promise<void> {
  const [newest, oldest] = [open[0]?.mail, open.at(-1)?.mail];
  if (!newest || !oldest) return;
  const { inboxId } = oldest;
  const isBetween = ({ id, inboxId: of }: api.MessageSummary) =>
    of === inboxId && id >= oldest.id && id <= newest.id;
  const left = new Map(open.map(({ mail, compare }) => [mail.id, compare]));
  let since = String(Date.parse(oldest.receivedAt) - 1);
  for (let count = open.length > 1 ? page.filter(isBetween).length : 0; count > 0; count -= MAX_COUNT) {
    const body = { since, count: Math.min(count, MAX_COUNT), timeoutSeconds: 0 };
    const input = { path: { id: inboxId }, body };
    const { messages, cursor } = (await transport.send(
      'POST /v1/inboxes/{id}/wait',
      input,
    )) as api.WaitResult;
    since = cursor;
    for (const mail of messages) {
      if (mail.truncated) continue;
      left.get(mail.id)?.(mail);
      left.delete(mail.id);
    }
  }
  for (const [messageId, compare] of left) {
    const input = { path: { id: inboxId, messageId } };
    compare((await transport.send('GET /v1/inboxes/{id}/messages/{messageId}', input)) as api.Message);
  }
}

/**
 * Compares all mails in the live inboxes of a run with a plan. Fetches them page by page.
 * @param labels the labels of the inboxes
 */
export async function checkPlan(
  mayfly: Mayfly,
  labels: Record<string, string>,
  plan: Plan,
): Promise<PlanCheck> {
  const { transport } = mayfly;
  const check = new PlanCheck(plan);
  const addresses = new Map<string, string>();
  let oldest = Date.now();
  const query = Object.fromEntries(Object.entries(labels).map(([name, value]) => [`label.${name}`, value]));
  for await (const page of transport.pages<api.Inbox>('GET /v1/inboxes', 'inboxes', query))
    for (const { id, address, createdAt } of page) {
      addresses.set(id, address);
      oldest = Math.min(oldest, Date.parse(createdAt));
    }
  const { totals } = await mayfly.report(labels);
  const ended = totals.inboxes - addresses.size;
  if (ended > 0)
    check.problem(
      `${ended} of ${totals.inboxes} inboxes have ended with their mails. Compare before they are deleted.`,
    );
  // `since` is exclusive, and a mail may arrive in the millisecond of the creation.
  const since: SearchQuery = { since: String(oldest - 1) };
  for await (const page of transport.pages<api.MessageSummary>('GET /v1/messages', 'messages', since)) {
    const open = page.flatMap((mail): Open[] => {
      const address = addresses.get(mail.inboxId);
      const all = (address === undefined ? [] : (mail.rcptTo ?? [address])).map((to) =>
        check.count(to, mail),
      );
      const compare = (full: api.Message) => {
        for (const one of all) one?.(full);
      };
      return all.some(Boolean) ? [{ mail, compare }] : [];
    });
    const inboxes = new Set(open.map(({ mail }) => mail.inboxId)).values();
    const readNext = async () => {
      for (const id of inboxes) {
        const own = open.filter(({ mail }) => mail.inboxId === id);
        await readOpen(transport, own, page);
      }
    };
    await Promise.all(Array.from({ length: READERS }, readNext));
  }
  check.finish();
  return check;
}
