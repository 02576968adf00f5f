import { describe, expect, it } from 'vitest';
import { rcpt as replyToRcpt } from '../../support/mail/smtp-mail.ts';
import { ENGINES, useSite } from '../nodes/nodes.ts';

/** A delay that is longer than the test, milliseconds. */
const DELAY_MS = 300_000;

describe.each(ENGINES)('a server that is killed in the middle of faults, on $engine', ({ engine }) => {
  const site = useSite(1, { engine });

  it('has counted what it began, and goes on with what is left', async () => {
    let server = site().node(0);
    const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
      const { code } = await server.end(signal);
      server = await site().startNode({}, 0);
      return code;
    };
    const inbox = await server.createInbox();
    const path = `/v1/inboxes/${inbox.id}/faults`;
    const left = async (): Promise<number[]> =>
      (await server.api('GET', path)).body.rules.map((rule: { left: number }) => rule.left);
    const rcpt = () => replyToRcpt(server.smtpPort, inbox.address);
    const rules = [
      { at: 'rcpt', reply: { code: 451, text: 'one' }, times: 2 },
      { at: 'rcpt', reply: { code: 451, text: 'two' }, delayMs: DELAY_MS, times: 2 },
      { at: 'rcpt', reply: { code: 452, text: 'three' } },
    ];
    expect((await server.api('PUT', path, { body: { rules } })).status).toBe(200);
    expect(await rcpt()).toBe('451 one');
    await end('SIGKILL');
    expect(await left()).toEqual([1, 2, 1]);
    expect(await rcpt()).toBe('451 one');

    // A rule counts as applied when its delay begins; the sender sees a closed connection.
    const killed = rcpt();
    await expect.poll(left).toEqual([0, 1, 1]);
    await end('SIGKILL');
    expect(await killed).toBe('');
    expect(await left()).toEqual([0, 1, 1]);
    const { refusals } = (await server.api('GET', '/v1/refusals')).body;
    const replies = refusals.map(({ reply }: { reply: string }) => reply);
    expect(replies).toEqual(['451 two', '451 one', '451 one']);

    // A stop ends a delay, and does not wait for it.
    const stopped = rcpt();
    await expect.poll(left).toEqual([0, 0, 1]);
    expect(await end('SIGTERM')).toBe(0);
    expect(await stopped).toMatch(/^421 4\.3\.2/);
    expect(await rcpt()).toBe('452 three');
    expect(await rcpt()).toMatch(/^250 /);
  });
});
