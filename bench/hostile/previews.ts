import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Mayfly, withMayfly } from '../support/mayfly.ts';
import { alone, compared, type Row } from '../support/rows.ts';
import { percentile } from '../support/stats.ts';
import { makeAccount } from './accounts.ts';

const USES = 300;
const IMAGE_BYTES = 750_000;
/** A page of references, each a few times its length. */
const MAX_PAGE_KB = 100;
/** What one small mail may take when somebody looks at it, MiB. */
const MAX_MEMORY_MIB = 100;

const NESTED_BYTES = 500_000;
const PREVIEWS = 10;
/** A preview is made twice: for its link and for its page. */
const MADE = 2;
const MAX_MS_PER_MB = 100;

const LOOPS = 10;
const ROUNDS = 3;
const ROUND_MS = 5_000;
/** The pace of the other account. */
const EVERY_MS = 50;
const MAX_LINT_MS = 100;

const html = (page: string): string => `Subject: x\r\nContent-Type: text/html\r\n\r\n${page}\r\n`;
/** Elements within each other that are never closed, as many as fit. */
const nested = (tags: string): string => html(tags.repeat(NESTED_BYTES / tags.length));

/** What previews of one account can do to the server and to another account. */
export async function hostilePreviews(): Promise<Row[]> {
  return [...(await oneImage()), ...(await nesting()), ...(await manyPreviews())];
}

/** Sends a request and reads all of its answer. @throws Error for any status but 200 and 201 */
async function request(
  { url, key }: Pick<Mayfly, 'url' | 'key'>,
  method: string,
  path: string,
  mail?: string,
) {
  const response = await fetch(new URL(path, url), {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(method === 'POST' && {
        'content-type': mail === undefined ? 'application/json' : 'message/rfc822',
      }),
    },
    ...(method === 'POST' && { body: mail ?? '{}' }),
  });
  const body = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${body.slice(0, 200)}`);
  return body;
}

/** Puts a mail into an inbox. @returns the path of the message */
async function inject(
  server: Pick<Mayfly, 'url' | 'key'>,
  inbox: { id: string },
  mail: string,
): Promise<string> {
  const path = `/v1/inboxes/${inbox.id}/messages`;
  const { id } = JSON.parse(await request(server, 'POST', path, mail)) as { id: string };
  return `${path}/${id}`;
}

/** Makes a link and opens it. @returns bytes of the page */
async function preview(server: Pick<Mayfly, 'url' | 'key'>, message: string): Promise<number> {
  const { url } = JSON.parse(await request(server, 'POST', `${message}/preview`)) as { url: string };
  return Buffer.byteLength(await request(server, 'GET', url));
}

function oneImage(): Promise<Row[]> {
  const image = Buffer.alloc(IMAGE_BYTES, 1).toString('base64').replaceAll(/.{76}/g, '$&\r\n');
  const mail = `Subject: x\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n${'<img src="cid:a">'.repeat(USES)}\r\n--b\r\nContent-Type: image/png\r\nContent-ID: <a>\r\nContent-Transfer-Encoding: base64\r\n\r\n${image}\r\n--b--\r\n`;
  return withMayfly({}, async (mayfly) => {
    const message = await inject(mayfly, await mayfly.createInbox(), mail);
    const before = mayfly.memory().now;
    const bytes = await preview(mayfly, message);
    const what = `a preview with one image of 750 KB ${USES} times`;
    return [
      alone(`${what}: its page`, 'KB', [bytes / 1_000], { atMost: MAX_PAGE_KB }),
      alone(`${what}: memory taken`, 'MiB', [Math.max(0, mayfly.memory().peak - before)], {
        atMost: MAX_MEMORY_MIB,
      }),
    ];
  });
}

function nesting(): Promise<Row[]> {
  const kinds = { '<div>': nested('<div>'), '<svg>': nested('<svg>'), tables: nested('<table><tr><td>') };
  return withMayfly({}, async (mayfly) => {
    const inbox = await mayfly.createInbox();
    const rows: Row[] = [];
    for (const [name, mail] of Object.entries(kinds)) {
      const message = await inject(mayfly, inbox, mail);
      await preview(mayfly, message);
      const before = mayfly.cpuSeconds();
      for (let count = 0; count < PREVIEWS; count++) await preview(mayfly, message);
      const ms = ((mayfly.cpuSeconds() - before) * 1_000) / (PREVIEWS * MADE);
      rows.push(
        alone(
          `CPU of a preview of 500 KB of nested ${name}, for each MB`,
          'ms',
          [(ms * 1_000_000) / NESTED_BYTES],
          {
            atMost: MAX_MS_PER_MB,
          },
        ),
      );
    }
    return rows;
  });
}

function manyPreviews(): Promise<Row[]> {
  return withMayfly({ env: { MAYFLY_SIGNUP_PLAN: 'unlimited' } }, async (mayfly) => {
    const other = await makeAccount(mayfly);
    const server = { url: mayfly.url, key: other.key };
    const linted = await inject(server, other.inbox, html('<p>Your code is 482913.</p>'));
    const shown = await inject(mayfly, await mayfly.createInbox(), nested('<div>'));
    const lint = async (): Promise<number> => {
      const times: number[] = [];
      for (const end = performance.now() + ROUND_MS; performance.now() < end; await sleep(EVERY_MS)) {
        const begun = performance.now();
        await request(server, 'GET', `${linted}/lint`);
        times.push(performance.now() - begun);
      }
      return percentile(times, 0.99);
    };
    await lint();
    const rounds: { ours: number; baseline: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const baseline = await lint();
      let isOver = false;
      const loops = Array.from({ length: LOOPS }, async () => {
        while (!isOver) await request(mayfly, 'POST', `${shown}/preview`);
      });
      const ours = await lint();
      isOver = true;
      await Promise.all(loops);
      rounds.push({ ours, baseline });
    }
    return [
      {
        ...compared(
          `another account's lint beside ${LOOPS} loops of previews of 500 KB of one account, p99; baseline without them`,
          'ms',
          rounds,
        ),
        ...budgetOf(rounds.map(({ ours }) => ours)),
      },
    ];
  });
}

function budgetOf(values: readonly number[]): Pick<Row, 'budget' | 'met'> {
  const { budget, met } = alone('', 'ms', values, { atMost: MAX_LINT_MS });
  return { budget, met };
}
