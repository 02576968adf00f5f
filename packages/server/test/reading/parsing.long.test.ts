import { createHash } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MailSummary } from '../../src/mail/mail.ts';
import { readContent, type StoredContent } from '../../src/mail/stored-content.ts';
import type { ParsedBytes } from '../../src/reading/parse-worker.ts';
import { Parsing, type ParsingOptions } from '../../src/reading/parsing.ts';
import { parseBytes } from '../support/parse-bytes.ts';

const spoilt = new URL('./spoilt-parse-worker.ts', import.meta.url);

function start(options?: ParsingOptions): Parsing {
  const parsing = new Parsing(options);
  onTestFinished(() => parsing.close());
  return parsing;
}
/** One whose worker has the faults of a parser. */
const startSpoilt = (options: ParsingOptions = {}) =>
  start({ workerEntry: spoilt, limits: { slowMs: 20, timeLimitMs: 60_000 }, ...options });

/** A mail as the SMTP server hands it over. */
function mail(lines: string[], body = 'Hello'): Uint8Array {
  const text = ['From: Ada <ada@sender.test>', 'To: calm@mayfly.test', ...lines, '', body, ''].join('\r\n');
  return Buffer.from(text);
}

const json = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());
const read = async ({ summary, content, parseError }: ParsedBytes, raw: Uint8Array = new Uint8Array()) => ({
  summary: json(summary) as MailSummary,
  ...(await readContent(json(content) as StoredContent, raw)),
  parseError,
});
const subjectOf = async (parsed: Promise<ParsedBytes>) => (await read(await parsed)).summary.subject;

describe('parsing on worker threads', () => {
  it.each([
    ['lines of one character', 'a\r\n'],
    ['characters with a NUL after each', 'a\0'],
  ])('reads 12 MB of %s within the limits of memory and time', async (_, line) => {
    const raw = Buffer.concat([mail(['Subject: long']), Buffer.alloc(12_000_000, line)]);
    expect((await parseBytes(start(), raw)).parseError).toBeNull();
  });

  it('returns to each of 300 mails at once its own result', async () => {
    const parsing = start();
    const parsed = await Promise.all(
      Array.from({ length: 300 }, (_, i) => parseBytes(parsing, mail([`Subject: number ${i}`], `body ${i}`))),
    );
    for (const [i, one] of parsed.entries()) {
      const { summary, content } = await read(one);
      expect([summary.subject, content.text]).toEqual([`number ${i}`, `body ${i}\n`]);
    }
  });

  it('gives each mail results in buffers of its own', async () => {
    const { summary, content } = await parseBytes(start(), mail(['Subject: x']));
    expect(summary.buffer.byteLength).toBe(summary.length);
    expect(content.buffer.byteLength).toBe(content.length);
  });

  it('reads large mails like small ones and does not change them', async () => {
    const parsing = start();
    const file = Buffer.alloc(1_500_000, Buffer.from(Array.from({ length: 251 }, (_, i) => i)));
    const base64 = file.toString('base64').replaceAll(/.{76}/g, '$&\r\n');
    const line = 'Zeile mit Grüßen\r\n';
    const raw = mail(
      ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=x'],
      [
        `--x\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${line.repeat(40_000)}`,
        `--x\r\nContent-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64}`,
        '--x--',
      ].join('\r\n'),
    );
    const before = Buffer.from(raw);
    // More than once, as its memory is used again.
    for (let round = 0; round < 3; round++) {
      const { content, parseError } = await read(await parseBytes(parsing, raw));
      expect(parseError).toBeNull();
      expect(content.text).toBe(line.replace('\r', '').repeat(40_000));
      expect(content.attachments).toMatchObject([
        { size: file.length, sha256: createHash('sha256').update(file).digest('hex') },
      ]);
    }
    expect(Buffer.compare(raw, before)).toBe(0);
  });

  it('keeps one thread when nothing is slow', async () => {
    // A busy machine may hold any mail up; here that is not what "slow" means.
    const parsing = start({ threads: 1, limits: { slowMs: 20_000 } });
    await Promise.all(Array.from({ length: 100 }, () => parseBytes(parsing, mail(['Subject: x']))));
    expect(parsing.threads).toBe(1);
  });
});

describe('a mail on which the parser fails', () => {
  it.each([
    ['endless', /took longer/],
    ['memory', /memory/],
    ['crash', /ended unexpectedly/],
    ['throw', /ended unexpectedly/],
  ])(
    '%s: is answered by what its header tells, with the reason, and costs no other mail',
    async (fault, reason) => {
      // On a busy machine a second is not enough to fill the memory.
      const timeLimitMs = fault === 'endless' ? 1_000 : 20_000;
      const parsing = start({ workerEntry: spoilt, limits: { slowMs: 20, timeLimitMs, heapMb: 32 } });
      const before = [0, 1, 2].map((i) => parseBytes(parsing, mail([`Subject: before ${i}`])));
      const bad = parseBytes(parsing, mail(['Subject: the bad one', `X-Fault: ${fault}`]));
      const after = [0, 1, 2].map((i) => parseBytes(parsing, mail([`Subject: after ${i}`])));
      for (const [i, one] of (await Promise.all([...before, ...after])).entries()) {
        const { summary, parseError } = await read(one);
        expect(summary.subject).toBe(i < 3 ? `before ${i}` : `after ${i - 3}`);
        expect(parseError).toBeNull();
      }
      const { summary, content, parseError } = await read(await bad);
      expect(parseError).toMatch(reason);
      expect(summary).toMatchObject({ subject: 'the bad one', from: { address: 'ada@sender.test' } });
      expect(content).toMatchObject({ text: null, html: null, attachments: [] });
      // The pool goes on.
      expect((await read(await parseBytes(parsing, mail(['Subject: later'])))).parseError).toBeNull();
    },
  );

  it('a worker that ends after a mail costs neither that mail nor the next', async () => {
    const parsing = startSpoilt({ threads: 1 });
    for (let i = 0; i < 5; i++) {
      const fatal = await read(await parseBytes(parsing, mail(['Subject: fatal', 'X-Fault: afterwards'])));
      const next = await read(await parseBytes(parsing, mail(['Subject: next'])));
      expect([fatal.parseError, next.parseError, next.summary.subject]).toEqual([null, null, 'next']);
    }
  });

  it('a result beyond its bound costs its request only', async () => {
    const parsing = start({ workerEntry: spoilt });
    const lint = (line: string) => parsing.run('lint', [mail([line])]);
    const [bad, good] = [lint('X-Fault: long'), lint('Subject: x')];
    await expect(bad).rejects.toMatchObject({ code: 'unavailable' });
    expect(JSON.parse(Buffer.from(await good).toString())).toHaveProperty('findings');
  });

  it('does not delay the mails of its batch: another worker reads them meanwhile', async () => {
    const parsing = startSpoilt();
    await parseBytes(parsing, mail(['Subject: warm']));
    let ended = false;
    const bad = parseBytes(parsing, mail(['X-Fault: endless'])).then(() => {
      ended = true;
    });
    const others = Array.from({ length: 40 }, (_, i) => parseBytes(parsing, mail([`Subject: ${i}`])));
    expect((await Promise.all(others)).every(({ parseError }) => parseError === null)).toBe(true);
    expect(ended).toBe(false);
    await parsing.close();
    await bad;
  });

  it('does not cost a large mail behind it its bytes, which are transferred to the worker', async () => {
    const parsing = startSpoilt({ threads: 1 });
    const bad = parseBytes(parsing, mail(['X-Fault: endless']));
    await new Promise(setImmediate);
    const large = mail(['Content-Disposition: attachment; filename=a'], 'x'.repeat(300_000));
    const list = await parsing.run('attachments', [new Uint8Array(large)]);
    expect(json(list)).toMatchObject({ attachments: [{ filename: 'a' }] });
    await parsing.close();
    await bad;
  });

  it.each([
    ['several of them', 3, 100],
    ['a large one, which has threads of its own', 1, 1_200_000],
  ])('does not delay later small mails: %s', async (_, count, bytes) => {
    const parsing = startSpoilt();
    const bad = Array.from({ length: count }, () =>
      parseBytes(parsing, mail(['X-Fault: endless'], 'x'.repeat(bytes))),
    );
    expect(await subjectOf(parseBytes(parsing, mail(['Subject: later'])))).toBe('later');
    await parsing.close();
    for (const one of await Promise.all(bad)) expect(one.parseError).toMatch(/server stopped/);
  });

  it('rejects with unavailable when a part cannot be decoded', async () => {
    const parsing = start();
    const decoding = parsing.run('decode', [mail(['Subject: x']), 'base64']);
    const answer = expect(decoding).rejects.toMatchObject({ code: 'unavailable' });
    await parsing.close();
    await answer;
  });
});

describe('turns between senders', () => {
  /** One worker, which is never taken for slow. */
  const oneWorker = { threads: 1, limits: { slowMs: 20_000, timeLimitMs: 60_000 } };

  it('a small mail is read before the large ones that inboxes of another account wait with', async () => {
    const parsing = start(oneWorker);
    const order: string[] = [];
    const parse = async (name: string, bytes: number, flow: [string, string]) => {
      await parseBytes(parsing, mail([], 'x'.repeat(bytes)), { flow });
      order.push(name);
    };
    const large = Array.from({ length: 30 }, (_, i) => parse('large', 200_000, ['a', `${i}`]));
    await Promise.all([...large, parse('small', 10, ['b', 'c'])]);
    // Two large ones may have been given to the worker before.
    expect(order.indexOf('small')).toBeLessThanOrEqual(2);
  });

  it('a mail whose sender left is not read, whether it waits in the queue or at a worker', async () => {
    const parsing = start({ ...oneWorker, workerEntry: spoilt });
    const endless = parseBytes(parsing, mail(['X-Fault: endless']));
    await new Promise(setImmediate);
    const gone = new AbortController();
    const waiting = Array.from({ length: 20 }, (_, i) =>
      parseBytes(parsing, mail([`Subject: ${i}`]), { flow: ['a', `${i}`], signal: gone.signal }),
    );
    await new Promise(setImmediate);
    expect(parsing.jobs).toBe(21);
    gone.abort(new Error('the sender left'));
    for (const one of await Promise.allSettled(waiting))
      expect(one).toMatchObject({ status: 'rejected', reason: { message: 'the sender left' } });
    expect(parsing.jobs).toBe(1);
    await parsing.close();
    expect((await endless).parseError).toMatch(/server stopped/);
  });

  it('a mail whose sender left before the call is not read', async () => {
    const parsing = start();
    const signal = AbortSignal.abort(new Error('the sender left'));
    await expect(parseBytes(parsing, mail(['Subject: x']), { signal })).rejects.toThrow('the sender left');
    expect(parsing.jobs).toBe(0);
  });

  it('the others of a batch are read where one was dropped', async () => {
    const parsing = start(oneWorker);
    const gone = new AbortController();
    const dropped = parseBytes(parsing, mail(['Subject: dropped']), { signal: gone.signal });
    const others = [1, 2, 3].map((i) => parseBytes(parsing, mail([`Subject: ${i}`])));
    await new Promise(setImmediate);
    gone.abort(new Error('the sender left'));
    await expect(dropped).rejects.toThrow('the sender left');
    expect(await Promise.all(others.map(subjectOf))).toEqual(['1', '2', '3']);
  });
});

it('closing resolves waiting and later jobs with a parseError, and can be called twice', async () => {
  const parsing = start();
  const waiting = parseBytes(parsing, mail(['Subject: waiting']));
  await parsing.close();
  await parsing.close();
  expect(await read(await waiting)).toMatchObject({
    summary: { subject: 'waiting' },
    parseError: expect.stringMatching(/stopped/),
  });
  expect(await subjectOf(parseBytes(parsing, mail(['Subject: late'])))).toBe('late');
  expect(parsing.threads).toBe(0);
});
