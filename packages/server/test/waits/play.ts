import { expect } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { plainResponse, type SmtpClient, smtpClient } from '../support/smtp-script.ts';
import { startApp, TEST_KEY, type TestApp } from '../support/start-app.ts';
import type { Mail, Situation, Step } from './situations.ts';

const SECOND = 1_000;
/** Between two situations: what happened in one is of another time for the next. */
const BETWEEN = 30 * 60 * SECOND;
const DEFAULT_WAIT = 10;
const LIMITS = { maxMessageBytes: 65_536 };

const COMMON = {
  MAYFLY_DOMAINS: 'mayfly.test,second.test',
  MAYFLY_SMTP_STARTTLS: 'self-signed',
  MAYFLY_METRICS: 'on',
};
const SMALL = { free: LIMITS, developer: LIMITS, unlimited: { ...LIMITS, maxMessagesPerInbox: 3 } };
const SERVE = { ...COMMON, MAYFLY_SMTP_AUTH: 'inbox', MAYFLY_PLANS: JSON.stringify(SMALL) };
const SETTINGS: Record<Situation['server'], Record<string, string>> = {
  dev: {
    ...COMMON,
    MAYFLY_SINK: 'on',
    MAYFLY_SMTP_AUTH: 'any',
    MAYFLY_SMTP_BARE_LINE_ENDINGS: 'normalise',
  },
  serve: SERVE,
  shared: { ...SERVE, MAYFLY_SIGNUP_PLAN: 'unlimited' },
};

/** What came of a situation: the response to the wait, and the stored wait after the steps that follow. */
export interface Outcome {
  status: number;
  body: Body;
  stored: Body;
}

/** A server on which situations are played one after the other. */
export class Stage {
  readonly app: TestApp;
  readonly clock: FakeClock;
  readonly #foreignKey: string | null;

  private constructor(app: TestApp, clock: FakeClock, foreignKey: string | null) {
    this.app = app;
    this.clock = clock;
    this.#foreignKey = foreignKey;
  }

  static async open(kind: Situation['server']): Promise<Stage> {
    const clock = new FakeClock();
    const app = await startApp(SETTINGS[kind], { clock });
    const store = await app.openStore();
    const first = await store.accounts.findFirst();
    await store.domains.add({ domain: 'team.test', accountId: first?.id ?? '', createdAt: clock.now() });
    await store.close();
    const signUp = { as: null, body: { name: 'second' } };
    const second = kind === 'shared' ? await app.api('POST', '/v1/accounts', signUp) : null;
    return new Stage(app, clock, second?.body.key ?? null);
  }

  async play(situation: Situation): Promise<Outcome> {
    await this.clock.leap(BETWEEN);
    const play = new Play(this.app, this.clock, this.#foreignKey);
    return play.run(situation).finally(() => play.close());
  }
}

/** The rest of a message, from the Content-Type on. */
function contentOf({ html, attachment, bytes, text = 'Hello.' }: Mail): string {
  if (html) return `Content-Type: text/html; charset=utf-8\r\n\r\n${html}`;
  if (attachment)
    return `Content-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<img src="cid:logo">\r\n--b\r\nContent-Type: image/png\r\nContent-ID: <logo>\r\nContent-Disposition: ${attachment}; filename=logo.png\r\n\r\nPNG\r\n--b--`;
  return `\r\n${bytes ? `${'x'.repeat(70)}\r\n`.repeat(bytes / 72) : text}`;
}

/** A message as it is sent after DATA, dot included. */
function textOf(mail: Mail): string {
  const { to, from = 'app@shop.example', subject = 'Hello', raw, bareLf } = mail;
  const head = `From: Shop <${from}>\r\nTo: ${to}\r\nSubject: ${subject}\r\nMIME-Version: 1.0`;
  const whole = raw || `${head}\r\n${contentOf(mail)}`;
  return `${bareLf ? whole.replaceAll('\r\n', '\n') : whole}\r\n.`;
}

/** One situation while it is played. */
class Play {
  readonly #app: TestApp;
  readonly #clock: FakeClock;
  readonly #foreignKey: string | null;
  /** What `{name}` stands for. */
  readonly #names = new Map<string, string>();
  readonly #staying: SmtpClient[] = [];
  #noise = 0;

  constructor(app: TestApp, clock: FakeClock, foreignKey: string | null) {
    this.#app = app;
    this.#clock = clock;
    this.#foreignKey = foreignKey;
  }

  async run({ me, as, earlier = [], before = [], wait = {}, during = [], after = [] }: Situation) {
    for (const step of earlier) await this.#do(step);
    await this.#createMine(me);
    for (const step of before) await this.#do(step);
    const { since, timeoutSeconds = DEFAULT_WAIT, ...asked } = wait;
    const { id, token, credential } = this.#mine(as);
    const from = since === undefined ? undefined : await this.#sinceOf(since);
    const body = { ...asked, timeoutSeconds, since: from };
    const begun = this.#clock.now();
    let isOver = false;
    const held = this.#app.api('POST', `/v1/inboxes/${id}/wait`, { as: credential, body }).finally(() => {
      isOver = true;
    });
    await expect.poll(async () => isOver || (await this.#gauge('http_requests_held')) > 0).toBe(true);
    for (const step of during) await this.#do(step);
    const left = begun + timeoutSeconds * SECOND - this.#clock.now();
    if (left > 0 && !isOver) await this.#clock.leap(left);
    // A wait that was reading the store sleeps only now, until a time that has passed.
    await expect.poll(() => this.#clock.advance(0).then(() => isOver)).toBe(true);
    const answer = await held;
    for (const step of after) await this.#do(step);
    const { waitId } = answer.body;
    const path = `/v1/inboxes/${id}/waits/${waitId}`;
    const stored = waitId ? (await this.#app.api('GET', path, { as: token })).body : undefined;
    return { status: answer.status, body: answer.body, stored };
  }

  close(): void {
    for (const client of this.#staying) client.close();
  }

  /** With the names of the situation replaced. */
  fill(text: string): string {
    return text.replaceAll(/\{([^}]+)\}/g, (_, name) => this.#names.get(name) ?? `{${name}}`);
  }

  async #createMine(me: Situation['me']): Promise<void> {
    const [localPart, domain] = typeof me === 'string' ? me.split('@') : [];
    const body = typeof me === 'string' ? { localPart, ...(domain && { domain }) } : { catchAll: true };
    const inbox: Body = await this.#app.createInbox(body);
    this.#names.set('me', inbox.address).set('id', inbox.id).set('token', inbox.token);
    this.#names.set('domain', inbox.domain);
    // One letter is missing.
    this.#names.set('domain-1', inbox.domain.slice(0, 3) + inbox.domain.slice(4));
  }

  #mine(as: 'token' | undefined) {
    const [id = '', token = ''] = [this.#names.get('id'), this.#names.get('token')];
    return { id, token, credential: as === 'token' ? token : TEST_KEY };
  }

  async #sinceOf(since: number | 'cursor'): Promise<string> {
    if (since !== 'cursor') return new Date(this.#clock.now() + since * SECOND).toISOString();
    return (await this.#app.api('GET', `/v1/inboxes/${this.#names.get('id')}`)).body.cursor;
  }

  async #do(step: Step): Promise<void> {
    if ('pass' in step) await this.#clock.advance(step.pass * SECOND);
    else if ('send' in step) {
      for (let n = 0; n < (step.times ?? 1); n++) {
        this.#names.set('n', String(n));
        await this.#send(step.send);
      }
    } else if ('session' in step) (await this.#say(step.session, step.ip)).close();
    else if ('staying' in step) this.#staying.push(await this.#say(step.staying));
    else if ('distrust' in step) for (let n = 0; n < step.distrust; n++) await this.#distrust(step);
    else if ('inbox' in step) await this.#createOther(step.inbox, step.domain);
    else if ('foreignInbox' in step) await this.#createForeign(step.foreignInbox);
    else if ('refusedElsewhere' in step) await this.#refuseStrangers(step.refusedElsewhere);
    else if ('noise' in step) await this.#makeNoise(step.noise, step.subject);
    else await this.#call(step.call, step.body);
    if (!('pass' in step)) await this.#settled();
  }

  /** The server has seen the end of all connections but those that stay. */
  async #settled(): Promise<void> {
    await expect.poll(() => this.#gauge('smtp_connections_open')).toBe(this.#staying.length);
  }

  async #gauge(name: string): Promise<number> {
    const { body } = await this.#app.api('GET', '/metrics', { as: null });
    return Number(new RegExp(`^mayfly_${name} (\\d+)`, 'm').exec(body)?.[1]);
  }

  async #send(mail: Mail): Promise<void> {
    const { to, from = 'app@shop.example', ip, helo = 'app.example.org', others } = mail;
    const auth = mail.auth && plainResponse(this.fill(mail.auth[0]), this.fill(mail.auth[1]));
    const size = mail.declares ? ` SIZE=${mail.declares}` : '';
    const lines = [
      `EHLO ${helo}`,
      ...(auth ? [`AUTH PLAIN ${auth}`] : []),
      `MAIL FROM:<${from}>${size}`,
      ...Array.from({ length: others?.count ?? 0 }, (_, at) => `RCPT TO:<${others?.of}+${at}@mayfly.test>`),
      `RCPT TO:<${to}>`,
      'DATA',
      textOf(mail),
      'QUIT',
    ];
    const client = await smtpClient(this.#app.smtp.port, ip ? { localAddress: ip } : {});
    await client.reply();
    for (const line of lines) {
      const reply = await client.say(this.fill(line));
      if (/^[45]/.test(reply) && !(others && line.startsWith('RCPT'))) break;
    }
    client.close();
  }

  /** Lines with a reply each, but those that begin with an exclamation mark. */
  async #say(lines: string[], ip?: string): Promise<SmtpClient> {
    const client = await smtpClient(this.#app.smtp.port, ip ? { localAddress: ip } : {});
    await client.reply();
    for (const line of lines.map((one) => this.fill(one))) {
      const asleep = this.#clock.sleepers;
      if (line.startsWith('!')) await client.send(`${line.slice(1)}\r\n`);
      else await client.say(line);
      // The reply that a fault rule delays: the server has read the command when it sleeps.
      if (line.startsWith('!RCPT')) await this.#clock.untilSleeping(asleep + 1);
    }
    return client;
  }

  async #distrust({ ip, helo = 'sender.example' }: { ip?: string; helo?: string }): Promise<void> {
    const client = await this.#say([`EHLO ${helo}`, 'STARTTLS'], ip);
    await expect(client.startTls()).rejects.toThrow(/certificate/);
    client.close();
  }

  async #createOther(name: string, domain?: string): Promise<void> {
    const body = { ...(name === '*' ? { catchAll: true } : { localPart: name }), ...(domain && { domain }) };
    const { id, address, token } = await this.#app.createInbox(body);
    this.#names.set(name, address).set(`${name} token`, token).set(`${name} id`, id);
  }

  async #createForeign(localPart: string): Promise<void> {
    const options = { as: this.#foreignKey, body: { localPart } };
    expect((await this.#app.api('POST', '/v1/inboxes', options)).status).toBe(201);
  }

  async #makeNoise(count: number, subject = 'Noise'): Promise<void> {
    for (let n = 0; n < count; n++) {
      const { address } = await this.#app.createInbox({ localPart: `noise.${++this.#noise}.${Date.now()}` });
      await this.#send({ to: address, subject });
    }
  }

  /** Several in a session, which the server ends after a number of errors. */
  async #refuseStrangers(count: number): Promise<void> {
    for (let n = 0; n < count; ) {
      const client = await this.#say(['EHLO stranger.example', 'MAIL FROM:<a@b.example>']);
      while (n < count && (await client.say(`RCPT TO:<stranger-${n}-unknown@mayfly.test>`)).startsWith('550'))
        n++;
      client.close();
    }
  }

  async #call(call: string, body?: object): Promise<void> {
    const [method = '', path = ''] = call.split(' ');
    const names = path.matchAll(/\/inboxes\/\{([^}]+)\}/g);
    let url = path;
    for (const [, name = ''] of names) {
      if (name !== 'id') url = url.replace(`{${name}}`, this.#names.get(`${name} id`) ?? '');
    }
    if (url.includes('{newest}')) {
      const list = await this.#app.api('GET', `/v1/inboxes/${this.#names.get('id')}/messages`);
      url = url.replace('{newest}', list.body.messages[0].id);
    }
    const answer = await this.#app.api(method, this.fill(url), body ? { body } : {});
    expect(answer.status, call).toBeLessThan(300);
  }
}
