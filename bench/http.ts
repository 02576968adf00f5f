import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild } from './support/child.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { realisticMail } from './support/mails.ts';
import { type Mayfly, withMayfly } from './support/mayfly.ts';
import { compared, type Row, skipped } from './support/rows.ts';
import { onTheWire, SmtpClient } from './support/smtp-client.ts';
import { NO_WRK, wrk, wrkProgram } from './support/wrk.ts';

const ROUNDS = 5;
const SECONDS = 2;
const MESSAGES = 20;
/** A time before all messages that differs from request to request: no answer can be a kept one. */
const NEVER_THE_SAME = `
request = function()
  return wrk.format("GET", wrk.path .. "?since=" .. string.format("%.0f", 1e11 + math.random(1, 900000000000)))
end
`;
const WHAT = `list ${MESSAGES} messages, and read one`;

/** List and read against bare node:http that answers the same bytes, those of the headers as well. */
export async function http(): Promise<Row[]> {
  if (wrkProgram === undefined) return [skipped(WHAT, NO_WRK)];
  return withMayfly({}, async (mayfly) => {
    const inbox = await mayfly.createInbox();
    const client = await SmtpClient.open(mayfly.smtpPort);
    const mail = onTheWire(await realisticMail());
    for (let i = 0; i < MESSAGES; i++) await client.send(inbox.address, mail);
    client.close();
    const list = `/v1/inboxes/${inbox.id}/messages`;
    const { messages, cursor } = await mayfly.get<{ messages: { id: string }[]; cursor: string }>(list);
    if (messages.length !== MESSAGES) throw new Error(`${messages.length} messages are listed`);
    return [
      ...(await against(mayfly, 'list the newest messages, the same again and again', list, 0.6)),
      ...(await against(mayfly, 'list messages, no request like another', list, 0.15, NEVER_THE_SAME)),
      ...(await against(mayfly, 'poll without news', `${list}?since=${encodeURIComponent(cursor)}`, 0.6)),
      ...(await against(mayfly, 'read a message in full', `${list}/${messages[0]?.id}`, 0.6)),
    ];
  });
}

async function against(
  mayfly: Mayfly,
  what: string,
  path: string,
  atLeast: number,
  lua?: string,
): Promise<Row[]> {
  const folder = makeFolder();
  const file = join(folder, 'answer');
  const script = lua === undefined ? {} : { script: join(folder, 'requests.lua') };
  if (lua !== undefined) writeFileSync(join(folder, 'requests.lua'), lua);
  const url = mayfly.url + path;
  const { key } = mayfly;
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  const bytes = await response.bytes();
  writeFileSync(file, bytes);
  const headers = Object.fromEntries(response.headers);
  for (const addedByNode of ['date', 'connection', 'keep-alive']) delete headers[addedByNode];
  const bare = await startChild({
    file: new URL('./support/bare-http.ts', import.meta.url),
    args: [file, JSON.stringify(headers)],
    ready: /ready on (\d+)/,
  });
  try {
    const bareUrl = `http://127.0.0.1:${bare.ready[0]}/`;
    const rounds: { ours: Measured; bare: Measured }[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const one = {
        bare: await wrk({ url: bareUrl, key, seconds: SECONDS, ...script }),
        ours: await wrk({ url, key, seconds: SECONDS, ...script }),
      };
      // The first one warms up.
      if (round > 0) rounds.push(one);
    }
    return rows(`${what} (${bytes.length} bytes)`, rounds, atLeast);
  } finally {
    await bare.stop();
    removeFolder(folder);
  }
}

interface Measured {
  rate: number;
  p99: number;
}

const rows = (what: string, rounds: { ours: Measured; bare: Measured }[], atLeast: number): Row[] => [
  compared(
    what,
    'requests/s',
    rounds.map(({ ours, bare }) => ({ ours: ours.rate, baseline: bare.rate })),
    { atLeast },
  ),
  compared(
    'its p99 with 32 requests at a time',
    'ms',
    rounds.map(({ ours, bare }) => ({ ours: ours.p99, baseline: bare.p99 })),
  ),
];
