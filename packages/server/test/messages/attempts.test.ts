import { expect, it } from 'vitest';
import { sendTo } from '../support/mail/smtp-mail.ts';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import type { TestApp } from '../support/start-app.ts';

type Event = { event: string; at: string; detail: string };

describeOnEngines('the timeline of a mail that its sender had to repeat', (engine) => {
  const { first, last } = useServers(engine);

  /** @returns the last reply; '' when the server closed the connection */
  const attempt = (app: TestApp, to: string, mailFrom: string, subject = 'Code'): Promise<string> =>
    sendTo(app.smtp.port, to, `From: ${mailFrom}\nSubject: ${subject}\n\nx`, mailFrom);
  async function eventsOfNewest(app: TestApp, inboxId: string) {
    const { messages } = (await app.api('GET', `/v1/inboxes/${inboxId}/messages`)).body;
    const path = `/v1/inboxes/${inboxId}/messages/${messages[0].id}/timeline`;
    return (await app.api('GET', path)).body.events as Event[];
  }
  const attemptsIn = (events: Event[]) =>
    events.flatMap(({ event, detail }) => (event === 'earlier-attempt' ? detail.replace(/^.*?: /, '') : []));

  it('shows the attempts before, of this sender and since its last mail only', async () => {
    const inbox = await first().createInbox();
    const rules = [
      { at: 'rcpt', reply: { code: 451, text: '4.7.1 Later' }, times: 2 },
      { at: 'end-of-data', disconnect: true },
      // Waits for its turn: the session before it gets as far as the data.
      { at: 'rcpt', reply: { code: 452, text: '4.7.2 Last' } },
    ];
    await first().api('PUT', `/v1/inboxes/${inbox.id}/faults`, { body: { rules } });
    expect(await attempt(first(), inbox.address, 'other@shop.example')).toMatch(/^451/);
    expect(await attempt(first(), inbox.address, 'app@shop.example')).toMatch(/^451/);
    expect(await attempt(last(), inbox.address, 'app@shop.example')).toBe('');
    expect(await attempt(first(), inbox.address, 'other@shop.example')).toMatch(/^452/);
    expect(await attempt(first(), inbox.address, 'app@shop.example')).toMatch(/^250/);
    await expect
      .poll(async () => attemptsIn(await eventsOfNewest(first(), inbox.id)))
      .toEqual(['451 4.7.1 Later (fault rule 1 at rcpt)', 'connection closed (fault rule 2 at end-of-data)']);
    await attempt(first(), inbox.address, 'app@shop.example', 'Another');
    expect(attemptsIn(await eventsOfNewest(first(), inbox.id))).toEqual([]);
  });

  it('has the time of the 250 on the server that sent it, also after the delay of a fault', async () => {
    const inbox = await first().createInbox();
    const rules = [{ at: 'end-of-data', delayMs: 60 }];
    await first().api('PUT', `/v1/inboxes/${inbox.id}/faults`, { body: { rules } });
    expect(await attempt(first(), inbox.address, 'app@shop.example')).toMatch(/^250/);
    const events = await eventsOfNewest(first(), inbox.id);
    const timeOf = (name: string): number => Date.parse(events.find(({ event }) => event === name)?.at ?? '');
    expect(timeOf('replied') - timeOf('committed')).toBeGreaterThanOrEqual(50);
    const elsewhere = await eventsOfNewest(last(), inbox.id);
    expect(elsewhere.some(({ event }) => event === 'replied')).toBe(engine.nodes === 1);
  });
});
