import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY, type TestApp } from '../../server/test/support/start-app.ts';
import { compareRuns, toMarkdown } from '../src/cli/compare-runs.ts';
import { run } from '../src/cli/run.ts';
import type { SavedRun } from '../src/cli/saved-run.ts';
import { type Inbox, Mayfly } from '../src/index.ts';

let app: TestApp;
let mayfly: Mayfly;
const folder = mkdtempSync(join(tmpdir(), 'mayfly-runs-'));
beforeAll(async () => {
  app = await startApp({ MAYFLY_SMTP_STARTTLS: 'self-signed' });
  mayfly = new Mayfly({ url: app.url, apiKey: TEST_KEY });
});
afterAll(async () => {
  await app.stop();
  rmSync(folder, { recursive: true, force: true });
});

const send = (to: string, subject: string, text: string) =>
  createTransport({ ...app.smtp, ignoreTLS: true }).sendMail({
    from: 'shop@shop.example',
    to,
    subject,
    text,
  });
const TESTS = ['signs up', 'signs in', 'resets the password', 'orders'];
/** What each test of a good run does. */
const good = async (inbox: Inbox, test: string) => {
  await send(inbox.address, `Please confirm: ${test}`, `Hello, you have number ${inbox.address}.`);
  await inbox.waitForMessage({ subject: 'confirm', since: 'start' });
};

async function mf(args: string[], env: Record<string, string> = {}) {
  let out = '';
  const exitCode = await run(['report', ...args], {
    env: { MAYFLY_URL: app.url, MAYFLY_API_KEY: TEST_KEY, ...env },
    out: (text) => {
      out += text;
    },
    note: (text) => {
      out += text;
    },
    signal: new AbortController().signal,
  });
  return { exitCode, out };
}

let runs = 0;
type Play = (inbox: Inbox, test: string, others: Inbox[]) => Promise<unknown>;
/** Runs four tests, of which the first is another one; returns the saved run. */
async function saved(first: Play = good): Promise<SavedRun> {
  const id = `r${++runs}`;
  const inboxes = await Promise.all(TESTS.map((test) => mayfly.createInbox({ labels: { run: id, test } })));
  for (const [at, inbox] of inboxes.entries())
    await (at === 0 ? first : good)(inbox, TESTS[at] ?? '', inboxes);
  const file = join(folder, `${id}.json`);
  expect(await mf(['--run', id, '--save', file])).toEqual({ exitCode: 0, out: `Saved ${file}.\n` });
  const found: SavedRun = JSON.parse(readFileSync(file, 'utf8'));
  // Whatever the machine had to do meanwhile.
  for (const inbox of found.report.inboxes)
    if (inbox.firstMessageAfterMs !== null) inbox.firstMessageAfterMs = 200;
  return found;
}

const inVain = (inbox: Inbox, wait: object) =>
  inbox.waitForMessage({ timeout: 50, ...wait }).catch(() => undefined);
/** A mail that the server defers once, as a sender with retries sends it. */
const afterRetry = async (inbox: Inbox, text: string) => {
  await inbox.setFaults([{ at: 'rcpt', reply: { code: 451, text }, times: 1 }]);
  await expect(send(inbox.address, 'Please confirm', 'x')).rejects.toThrow(/451/);
  await good(inbox, 'signs up');
};
/** As if the first mail of these tests had come later. */
const later = (saved: SavedRun, ms: number, tests: string[]): SavedRun => ({
  ...saved,
  report: {
    ...saved.report,
    inboxes: saved.report.inboxes.map((inbox) =>
      tests.includes(inbox.labels.test ?? '')
        ? { ...inbox, firstMessageAfterMs: (inbox.firstMessageAfterMs ?? 0) + ms }
        : inbox,
    ),
  },
});

/** A sender that does not trust the certificate. */
async function failHandshake(to: string): Promise<void> {
  const transport = createTransport({ ...app.smtp, requireTLS: true, tls: { rejectUnauthorized: true } });
  const sent = transport.sendMail({ from: 'shop@shop.example', to, subject: 'Please confirm', text: 'x' });
  await expect(sent).rejects.toThrow(/certificate/);
}

/** Causes of flakes, each in the first test of a run. */
const SEEDED: Array<[cause: string, make: () => Promise<SavedRun>]> = [
  ['slow sender', async () => later(await saved(), 6_000, ['signs up'])],
  ['queue', async () => later(await saved(), 6_000, TESTS)],
  [
    'retry after 451',
    async () => later(await saved((inbox) => afterRetry(inbox, '4.3.0 Try later')), 6_000, ['signs up']),
  ],
  [
    'greylisting',
    async () => later(await saved((inbox) => afterRetry(inbox, '4.7.1 Greylisted')), 6_000, ['signs up']),
  ],
  [
    'wrong since',
    () =>
      saved(async (inbox, test) => {
        await good(inbox, test);
        await inVain(inbox, { subject: 'confirm', since: (await inbox.refresh()).cursor });
      }),
  ],
  [
    'clock',
    () =>
      saved(async (inbox, test) => {
        await good(inbox, test);
        await inVain(inbox, { subject: 'confirm', since: new Date(Date.now() + 3_600_000) });
      }),
  ],
  [
    'shared address',
    () =>
      saved(async (inbox, test) => {
        await good(inbox, test);
        await send(inbox.address, 'Your order', 'It is on its way.');
      }),
  ],
  [
    'TLS failure',
    () =>
      saved(async (inbox) => {
        await failHandshake(inbox.address);
        await inVain(inbox, { subject: 'confirm' });
      }),
  ],
  [
    'other words or language',
    () =>
      saved(async (inbox) => {
        await send(inbox.address, 'Bitte bestätigen: Anmeldung', 'Guten Tag');
        await inVain(inbox, { subject: 'confirm' });
      }),
  ],
  [
    'duplicate send',
    () =>
      saved(async (inbox, test) => {
        await good(inbox, test);
        await good(inbox, test);
      }),
  ],
];

describe('mf report --compare', () => {
  it('names nothing for a run like the one before', async () => {
    expect(compareRuns(await saved(), await saved())).toEqual([]);
  });

  it.each(SEEDED)('names the cause: %s', async (cause, make) => {
    const changes = compareRuns(await saved(), await make());
    expect(new Set(changes.map((change) => change.cause)), JSON.stringify(changes)).toEqual(new Set([cause]));
    expect(changes[0]?.text).toMatch(cause === 'queue' ? /4 of 4 tests\.$/ : /^signs up: /);
  });

  it('says with how much more time a wait may have passed', async () => {
    const before = await saved();
    const now = await saved(async (inbox, test) => {
      await inVain(inbox, { subject: 'confirm' });
      await good(inbox, test);
    });
    expect(compareRuns(before, now)).toEqual([
      {
        cause: 'slow sender',
        text: expect.stringMatching(
          /^signs up: a wait of 0\.\d s failed\. .* A mail came \d\.\d s later: with so much more time it may have passed\.$/,
        ),
      },
    ]);
  });

  it('writes Markdown, also into the summary of GitHub Actions, and a property for JUnit', async () => {
    const before = join(folder, 'main.json');
    // The other run is read from the server as it was: on a busy machine its mails may take seconds.
    writeFileSync(before, JSON.stringify(later(await saved(), 3_600_000, TESTS)));
    const now = await saved(async (inbox, test) => {
      await good(inbox, test);
      await good(inbox, test);
    });
    const [summary, junit] = [join(folder, 'summary.md'), join(folder, 'mail.xml')];
    const id = now.report.labels.run ?? '';
    const env = { GITHUB_STEP_SUMMARY: summary };
    const { exitCode, out } = await mf(['--run', id, '--compare', before, '--junit', junit], env);
    expect(exitCode).toBe(0);
    expect(out).toMatch(
      /^### Mail of this run\n\nCompared with the run of \S+: \n\n- \*\*duplicate send\*\*: signs up: 2 mails, 1 before\. 1 say the same as another one\.\n$/,
    );
    expect(readFileSync(summary, 'utf8')).toBe(`${out}\n`);
    expect(readFileSync(junit, 'utf8')).toContain(
      '<property name="mayfly.changes" value="duplicate send: signs up: 2 mails, 1 before. 1 say the same as another one."/>',
    );
  });

  it('keeps names of tests from being read as Markdown', async () => {
    const changes = [{ cause: 'queue', text: 'a [link](x) <b>\n# title' }];
    expect(toMarkdown(changes, await saved())).toContain('a \\[link\\](x) \\<b\\> # title\n');
  });

  it('rejects a file that is no saved run', async () => {
    const file = join(folder, 'wrong.json');
    for (const text of ['', '[]', '{"version":2}', '{"version":1}']) {
      writeFileSync(file, text);
      expect(await mf(['--run', 'x', '--compare', file])).toEqual({
        exitCode: 1,
        out: `${file} is no saved run. Write it with: mf report --run 4711 --save ${file}\n`,
      });
    }
  });
});
