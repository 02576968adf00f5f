import { beforeEach, describe, expect, test } from 'vitest';
import { parseCidrs } from '../../src/text/networks.ts';
import { plainResponse, type SmtpClient, type Step } from '../support/smtp-script.ts';
import { trustedCertificate } from '../support/tls/certificates.ts';
import {
  CAPTURING,
  clientOfTest,
  connectedOfTest,
  hello,
  mailTo,
  type SmtpTestOptions,
  type StartedSmtp,
  smtpOfTest,
} from './start-smtp.ts';

/*
 * The grammar of AUTH (RFC 4954) and its mechanisms, on raw sockets. Who may authenticate for which inbox is
 * in capture.test.ts.
 */

let smtp: StartedSmtp;
let client: SmtpClient;

const base64 = (text: string) => Buffer.from(text).toString('base64');
const RIGHT = plainResponse('inbox', 'secret');
const WRONG = plainResponse('inbox', 'wrong');
/** What a client of AUTH LOGIN sends. */
const [USER, PASSWORD] = [base64('inbox'), base64('secret')];
const MAIL = 'MAIL FROM:<s@example.com>';
const ASK_USERNAME = '334 VXNlcm5hbWU6';
const ASK_PASSWORD = '334 UGFzc3dvcmQ6';

async function connect(options: SmtpTestOptions = {}): Promise<void> {
  ({ smtp, client } = await connectedOfTest({ smtpAuth: 'inbox', ...options }));
}
/** A connection after EHLO. */
async function begin(options: SmtpTestOptions = {}): Promise<void> {
  await connect(options);
  await client.play(hello);
}
beforeEach(() => begin());

const inboxesOfMails = () =>
  smtp.receiver.mails.flatMap(({ recipients }) => recipients.map(({ inboxId }) => inboxId));

describe('AUTH succeeds', () => {
  test.each<[string, Step[]]>([
    ['PLAIN with an initial response', [`AUTH PLAIN ${RIGHT} → 235 2.7.0`]],
    ['in lower case', [`auth plain ${RIGHT} → 235 2.7.0`]],
    ['PLAIN without', [{ send: 'AUTH PLAIN', expect: /^334 ?$/ }, `${RIGHT} → 235 2.7.0`]],
    ['PLAIN as its own user', [`AUTH PLAIN ${plainResponse('inbox', 'secret', 'inbox')} → 235 2.7.0`]],
    ['LOGIN', [`AUTH LOGIN → ${ASK_USERNAME}`, `${USER} → ${ASK_PASSWORD}`, `${PASSWORD} → 235 2.7.0`]],
    ['LOGIN with an initial response', [`AUTH LOGIN ${USER} → ${ASK_PASSWORD}`, `${PASSWORD} → 235 2.7.0`]],
    ['after a failure', [`AUTH PLAIN ${WRONG} → 535 5.7.8`, `AUTH PLAIN ${RIGHT} → 235 2.7.0`]],
    ['after MAIL and RSET', [`${MAIL} → 250`, 'RSET → 250', `AUTH PLAIN ${RIGHT} → 235 2.7.0`]],
  ])('%s, and the session’s mail goes to its inbox', async (_name, steps) => {
    await client.play([...steps, ...mailTo('anyone@example.org')]);
    expect(smtp.receiver.mails[0]?.recipients).toMatchObject([
      { inboxId: CAPTURING.id, rcptTo: 'anyone@example.org' },
    ]);
    expect(smtp.metrics.authentications.at(-1)).toBe('captured');
  });

  test('for every mail of the session, also after RSET and EHLO', async () => {
    await client.play([
      `AUTH PLAIN ${RIGHT} → 235`,
      ...mailTo('a@mayfly.test'),
      'RSET → 250',
      ...mailTo('nobody@mayfly.test', 'postmaster', 'user@[192.0.2.1]'),
      'EHLO again → 250',
      ...mailTo('"quoted user"@example.org'),
    ]);
    expect(inboxesOfMails()).toEqual(Array(5).fill(CAPTURING.id));
  });

  test('but a recipient must still be an address', async () => {
    await client.play([`AUTH PLAIN ${RIGHT} → 235`, `${MAIL} → 250`, 'RCPT TO:<not an address> → 501 5.1.3']);
  });

  test('and the size limit of the inbox applies; the rejection is recorded for its address', async () => {
    await client.play([
      `AUTH PLAIN ${RIGHT} → 235`,
      `${MAIL} → 250`,
      'RCPT TO:<one@example.org> → 250',
      'RCPT TO:<two@example.org> → 250',
      'DATA → 354',
      `${'x'.repeat(1001)}\r\n. → 552 5.3.4`,
    ]);
    expect(smtp.receiver.refusals).toMatchObject([{ address: CAPTURING.address }]);
  });
});

describe('AUTH is rejected', () => {
  test.each<[string, Step[]]>([
    ['wrong credentials', [`AUTH PLAIN ${WRONG} → 535 5.7.8`]],
    ['wrong LOGIN credentials', [`AUTH LOGIN ${USER} → ${ASK_PASSWORD}`, `${base64('wrong')} → 535 5.7.8`]],
    ['to act as another user', [`AUTH PLAIN ${plainResponse('inbox', 'secret', 'admin')} → 535 5.7.8`]],
    ['no mechanism', ['AUTH → 501 5.5.4']],
    ['no mechanism but a space', ['AUTH  → 501 5.5.4']],
    ['an unknown mechanism', ['AUTH CRAM-MD5 → 504 5.5.4']],
    ['a mechanism by the name of a property', ['AUTH constructor → 504 5.5.4']],
    ['too many arguments', [`AUTH PLAIN ${RIGHT} ${RIGHT} → 501 5.5.4`]],
    ['bad base64', ['AUTH PLAIN ab$d → 501 5.5.2']],
    ['base64 without its padding', ['AUTH LOGIN YQ → 501 5.5.2']],
    ['base64 with more behind its padding', ['AUTH LOGIN YQ==YQ== → 501 5.5.2']],
    ['bad base64 as an answer', [`AUTH LOGIN → ${ASK_USERNAME}`, 'inbox → 501 5.5.2']],
    ['an empty PLAIN response', ['AUTH PLAIN = → 501 5.5.2']],
    ['an empty line for PLAIN', ['AUTH PLAIN → 334', ' → 501 5.5.2']],
    ['PLAIN without NUL', [`AUTH PLAIN ${base64('inbox secret')} → 501 5.5.2`]],
    ['PLAIN with one NUL', [`AUTH PLAIN ${base64('inbox\0secret')} → 501 5.5.2`]],
    ['PLAIN with three NULs', [`AUTH PLAIN ${base64('\0inbox\0secret\0')} → 501 5.5.2`]],
    ['PLAIN without a user', [`AUTH PLAIN ${plainResponse('', 'secret')} → 501 5.5.2`]],
    ['PLAIN without a password', [`AUTH PLAIN ${plainResponse('inbox', '')} → 501 5.5.2`]],
    ['LOGIN with empty answers', [`AUTH LOGIN = → ${ASK_PASSWORD}`, ' → 535 5.7.8']],
    ['what was cancelled', ['AUTH PLAIN → 334', '* → 501 5.7.0']],
    ['what was cancelled at the password', [`AUTH LOGIN ${USER} → ${ASK_PASSWORD}`, '* → 501 5.7.0']],
    ['in a mail transaction', [`${MAIL} → 250`, `AUTH PLAIN ${RIGHT} → 503 5.5.1`, 'RSET → 250']],
    ['bytes that are no UTF-8', [{ send: Buffer.from('AUTH PLAIN \xff\xfe\r\n', 'latin1'), expect: 501 }]],
    ['a control character', [{ send: Buffer.from('AUTH PLAIN a\0b\r\n'), expect: '500 5.5.2' }]],
    [
      'a mail command as an answer, which is not carried out',
      ['AUTH PLAIN → 334', `${MAIL} → 501 5.5.2`, 'RCPT TO:<a@mayfly.test> → 503 5.5.1'],
    ],
  ])('%s; the session goes on without it', async (_name, steps) => {
    await client.play([...steps, ...mailTo('a@mayfly.test')]);
    expect(inboxesOfMails()).toEqual(['inb_a']);
  });

  test('with 454 while the storage is down, and for a defect, whose text stays secret', async () => {
    for (const password of ['down', 'broken']) {
      const send = `AUTH PLAIN ${plainResponse('inbox', password)}`;
      await client.play([{ send, expect: /^454 4\.7\.0 (?!.*secret)/ }]);
    }
    await client.play([`AUTH PLAIN ${RIGHT} → 235`]);
  });

  test('and after five failures the connection is closed', async () => {
    await client.play([...Array(5).fill(`AUTH PLAIN ${WRONG} → 535 5.7.8`), '→ 421 4.7.0']);
    expect(await client.closed()).toBe('');
    expect(smtp.metrics.authentications).toEqual(Array(5).fill('refused'));
  });

  test('and exchanges that are only begun and cancelled end too', async () => {
    await client.send('AUTH LOGIN\r\n*\r\n'.repeat(1000));
    expect(await client.closed()).toMatch(/421 4\.7\.0 Too many errors\r\n$/);
  });
});

describe('lines of an exchange', () => {
  const long = (bytes: number) => base64('x'.repeat((bytes / 4) * 3));

  test('may have 12288 octets, in the command and in an answer', async () => {
    const room = 12_288 - 'AUTH LOGIN '.length - 1;
    await client.play([
      `AUTH LOGIN ${long(room - (room % 4))} → ${ASK_PASSWORD}`,
      `${long(12_288)} → 535 5.7.8`,
      'NOOP → 250',
    ]);
  });

  test.each<[string, Step[]]>([
    ['an answer', ['AUTH LOGIN → 334', `${long(12_292)} → 500 5.5.6`]],
    ['the command', [`AUTH LOGIN ${long(12_288)} → 500 5.5.6`]],
    ['a much longer one', ['AUTH LOGIN → 334', `${long(60_000)} → 500 5.5.6`]],
  ])('have no more: %s; the exchange is over, the session is not', async (_name, steps) => {
    await client.play([...steps, 'NOOP → 250']);
  });

  test('without an end close the connection', async () => {
    await client.play(['AUTH LOGIN → 334']);
    await client.send('x'.repeat(200_000));
    expect(await client.closed()).toMatch(/421 4\.7\.0 /);
  });
});

const OFFERED = /^250-AUTH PLAIN LOGIN$/m;

describe('AUTH is offered', () => {
  const NOT_OFFERED = /^(?!.*AUTH)250-/s;

  test('on loopback, and no more after it succeeded', async () => {
    await client.play([
      { send: 'EHLO c', expect: OFFERED },
      `AUTH PLAIN ${RIGHT} → 235`,
      { send: 'EHLO c', expect: NOT_OFFERED },
    ]);
  });

  const { tls, trust } = trustedCertificate();
  const smtpProxyFrom = parseCidrs('127.0.0.1/32');
  const PROXY = 'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25 → 220';

  test('not without TLS to another machine: the address that counts is the client’s, not the proxy’s', async () => {
    await connect({ tls, smtpProxyFrom });
    await client.play([
      PROXY,
      { send: 'EHLO c', expect: NOT_OFFERED },
      `AUTH PLAIN ${RIGHT} → 538 5.7.11`,
      `${MAIL} AUTH=<> → 555 5.5.4`,
      'STARTTLS → 220',
    ]);
    await client.startTls(trust);
    await client.play([{ send: 'EHLO c', expect: OFFERED }, `AUTH PLAIN ${RIGHT} → 235`]);
  });

  test('to another machine without TLS where the operator allows it', async () => {
    await connect({ smtpAuthPlaintext: 'on', smtpProxyFrom });
    await client.play([PROXY, { send: 'EHLO c', expect: OFFERED }, `AUTH PLAIN ${RIGHT} → 235`]);
  });

  test('on the TLS port', async () => {
    smtp = await smtpOfTest({ smtpAuth: 'inbox', tls, smtpsPort: 0 });
    client = await clientOfTest(smtp.tlsPort ?? 0, { tls: trust });
    await client.play([...hello, `AUTH PLAIN ${RIGHT} → 235`]);
  });
});

test('STARTTLS forgets who the client was (RFC 3207 section 4.2)', async () => {
  const { tls, trust } = trustedCertificate();
  await begin({ tls });
  await client.play([`AUTH PLAIN ${RIGHT} → 235`, 'STARTTLS → 220']);
  await client.startTls(trust);
  await client.play([
    `AUTH PLAIN ${RIGHT} → 503 5.5.1`,
    { send: 'EHLO c', expect: OFFERED },
    ...mailTo('a@mayfly.test'),
    `AUTH PLAIN ${RIGHT} → 235`,
    ...mailTo('a@mayfly.test'),
  ]);
  expect(inboxesOfMails()).toEqual(['inb_a', CAPTURING.id]);
});

describe('with `any`', () => {
  beforeEach(() => begin({ smtpAuth: 'any' }));

  test.each([
    ['unknown credentials', plainResponse('app', 'password')],
    ['a wrong password of an inbox', WRONG],
    ['an identity to act as', plainResponse('inbox', 'secret', 'admin')],
  ])('%s are accepted and change nothing', async (_name, response) => {
    await client.play([
      `AUTH PLAIN ${response} → 235 2.7.0`,
      `${MAIL} → 250`,
      'RCPT TO:<anyone@example.org> → 550 5.1.1',
      'RSET → 250',
      ...mailTo('a@mayfly.test'),
    ]);
    expect(inboxesOfMails()).toEqual(['inb_a']);
    expect(smtp.metrics.authentications).toEqual(['accepted']);
  });

  test('credentials of an inbox capture', async () => {
    await client.play([`AUTH PLAIN ${RIGHT} → 235`, ...mailTo('anyone@example.org')]);
    expect(inboxesOfMails()).toEqual([CAPTURING.id]);
  });

  test('bad grammar is still rejected', async () => {
    const down = plainResponse('inbox', 'down');
    await client.play(['AUTH PLAIN ab$d → 501 5.5.2', `AUTH PLAIN ${down} → 454 4.7.0`]);
  });
});

describe('the AUTH parameter of MAIL (RFC 4954 section 5)', () => {
  const VALID = ['AUTH=<>', 'AUTH=e+3Dmc2@example.com', 'SIZE=10 auth=<> BODY=8BITMIME'];
  test.each(VALID)('is ignored: %s', async (parameters) => {
    const mail = `${MAIL} ${parameters} → 250`;
    await client.play([mail, 'RSET → 250', `AUTH PLAIN ${RIGHT} → 235`, mail]);
  });

  test.each(['AUTH', 'AUTH=', 'AUTH=<> AUTH=<>'])('must have a value, once: %s', async (parameters) => {
    await client.play([`${MAIL} ${parameters} → 501 5.5.4`]);
  });
});
