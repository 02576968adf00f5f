import { BOMBS, type Bomb } from '../../packages/server/test/hostile/bombs.ts';
import { type Mayfly, withMayfly } from '../support/mayfly.ts';
import { alone, type Row } from '../support/rows.ts';
import { anyOnTheWire, onTheWire, SmtpClient } from '../support/smtp-client.ts';

const BYTES = 48 * 1_000_000;
/** The limit of the plan, and what the end of the message takes. */
const MAX_WIRE_BYTES = 50 * 1024 * 1024 + 5;
/** No request may hold up the main thread for longer, milliseconds. */
const MAX_BLOCK_MS = 20;
/** Every so many of the list of bombs is sent: all of them at this size would take ten minutes. */
const EACH_BOMB = 16;
/** Bombs that are sent at the same time. */
const SENDERS = 4;
/** What a server with 1 GiB can spare beside all else, MiB. */
const MAX_MEMORY_MIB = 600;

const LINE = `${'lorem ipsum '.repeat(6)}\r\n`;
const header = (type: string, encoding: string, more = '') =>
  `From: a@example.com\r\nSubject: large\r\nMIME-Version: 1.0\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n${more}\r\n`;
const filled = (head: string, line: string, end = ''): Buffer => {
  const count = Math.floor((BYTES - head.length - end.length) / line.length);
  return Buffer.from(head + line.repeat(count) + end, 'latin1');
};
const FILE = 'Content-Disposition: attachment; filename=large.bin\r\n';
const MULTIPART = 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n';

/** Mails of 48 MB of which a different part is large. */
const KINDS: Record<string, () => Buffer> = {
  text: () => filled(header('text/plain', '7bit'), LINE),
  page: () => filled(header('text/html', '7bit'), `<p class="x">${LINE.trim()}</p>\r\n`),
  'base64 file': () =>
    filled(header('image/png', 'base64', FILE), `${'QUJDREVGR0hJSktM'.repeat(4)}QUJDREVGR0hJ\r\n`),
  'quoted-printable file': () =>
    filled(header('image/png', 'quoted-printable', FILE), `${'=41b'.repeat(18)}=\r\n`),
  'uuencoded file': () =>
    filled(
      `${header('image/png', 'x-uuencode', FILE)}begin 644 a\r\n`,
      `M${'#0V%T'.repeat(10)}\r\n`,
      '`\r\nend\r\n',
    ),
  'attached message': () =>
    filled(
      `${MULTIPART}--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\n`,
      LINE,
      '\r\n--b--\r\n',
    ),
};

type Request = [method: string, path: string, body?: object];
/** The routes that read a message, by the path of its inbox and its own. */
const ROUTES: Record<string, (inbox: string, message: string) => Request> = {
  'read it in full': (_, message) => ['GET', message],
  'with its attachments': (_, message) => ['GET', `${message}?include=attachmentContent`],
  'its raw source': (_, message) => ['GET', `${message}/raw`],
  'an attachment': (_, message) => ['GET', `${message}/attachments/att_1`],
  lint: (_, message) => ['GET', `${message}/lint`],
  preview: (_, message) => ['POST', `${message}/preview`, {}],
  timeline: (_, message) => ['GET', `${message}/timeline`],
  'a list': (inbox) => ['GET', `${inbox}/messages`],
  'a list by text': (inbox) => ['GET', `${inbox}/messages?text=needle`],
  'an explained wait': (inbox) => ['POST', `${inbox}/wait`, { timeoutSeconds: 0 }],
  export: (inbox) => ['GET', `${inbox}/export`],
};

/** What a mail of 48 MB costs others, while it comes in and when it is read. */
export async function largeMails(): Promise<Row[]> {
  return [...(await longestBlocks()), ...(await memoryOfBombs())];
}

/** Sends a request and reads the whole answer. @returns the longest block of the main thread meanwhile */
async function blockOf(mayfly: Mayfly, [method, path, body]: Request): Promise<number> {
  await mayfly.watchBlocks();
  const response = await fetch(`${mayfly.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${mayfly.key}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  for await (const _ of response.body ?? []);
  if (response.status >= 500) throw new Error(`${method} ${path}: ${response.status}`);
  return mayfly.longestBlock();
}

function longestBlocks(): Promise<Row[]> {
  const blocks = new Map<string, number[]>();
  const note = (what: string, ms: number) => blocks.set(what, [...(blocks.get(what) ?? []), ms]);
  return withMayfly({}, async (mayfly) => {
    for (const make of Object.values(KINDS)) {
      const inbox = await mayfly.createInbox();
      const wire = onTheWire(make());
      const client = await SmtpClient.open(mayfly.smtpPort);
      await mayfly.watchBlocks();
      await client.send(inbox.address, wire);
      note('while it comes in', await mayfly.longestBlock());
      client.close();
      const list = await mayfly.get<{ messages: { id: string }[] }>(`/v1/inboxes/${inbox.id}/messages`);
      const base = `/v1/inboxes/${inbox.id}`;
      for (const [what, request] of Object.entries(ROUTES)) {
        note(what, await blockOf(mayfly, request(base, `${base}/messages/${list.messages[0]?.id}`)));
      }
    }
    return [...blocks].map(([what, times]) =>
      alone(
        `a mail of 48 MB, ${Object.keys(KINDS).length} kinds, longest block of the main thread, CPU time: ${what}`,
        'ms',
        times,
        {
          atMost: MAX_BLOCK_MS,
        },
      ),
    );
  });
}

/** A bomb as large as it may be: some grow by the line ends that SMTP demands. */
function largestOnTheWire({ mail }: Bomb): Buffer {
  const wire = anyOnTheWire(mail(BYTES));
  return wire.length <= MAX_WIRE_BYTES ? wire : anyOnTheWire(mail(BYTES / 2 - 1_000_000));
}

function memoryOfBombs(): Promise<Row[]> {
  const bombs = BOMBS.filter((_, index) => index % EACH_BOMB === 0);
  return withMayfly({}, async (mayfly) => {
    const { address } = await mayfly.createInbox();
    const before = mayfly.memory().now;
    const waiting = [...bombs];
    let taken = 0;
    const sendAll = async (): Promise<void> => {
      for (let bomb = waiting.shift(); bomb; bomb = waiting.shift()) {
        const client = await SmtpClient.open(mayfly.smtpPort);
        // A sender that is too slow for the others is sent away, as on a machine that is busy.
        const isTaken = await client.send(address, largestOnTheWire(bomb)).then(
          () => true,
          () => false,
        );
        if (isTaken) taken++;
        client.close();
      }
    };
    await mayfly.watchBlocks();
    await Promise.all(Array.from({ length: SENDERS }, sendAll));
    const longest = await mayfly.longestBlock();
    return [
      alone(
        `memory taken while bombs of 48 MB are read, ${SENDERS} senders at once; ${taken} of ${bombs.length} were taken`,
        'MiB',
        [mayfly.memory().peak - before],
        { atMost: MAX_MEMORY_MIB },
      ),
      alone('longest block of the main thread meanwhile, CPU time', 'ms', [longest]),
    ];
  });
}
