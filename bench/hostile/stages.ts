import type { Inbox, Mayfly } from '../support/mayfly.ts';

/** A mail that was sent over a connection of its own; times as `performance.now()` of this process tells them. */
export interface SentMail {
  /** Of no other mail in the inbox. */
  subject: string;
  begun: number;
  /** When its final dot was written. */
  dot: number;
  /** When its 250 came. */
  end: number;
}

/** Figures by name. */
export class Samples extends Map<string, number[]> {
  add(name: string, figure: number): void {
    this.set(name, [...(this.get(name) ?? []), figure]);
  }
}

interface Page {
  messages: { id: string; subject: string; receivedAt: string }[];
  cursor: string;
}

/** Mails that are looked at: their timelines are read one after the other. */
const MAX_MAILS = 200;

/**
 * Where mails spent their time, by what their senders saw and what their timelines say; the clocks are one.
 * @returns milliseconds by stage
 */
export async function stagesOf(mayfly: Mayfly, { id }: Inbox, sent: readonly SentMail[]): Promise<Samples> {
  const bySubject = new Map(sent.map((mail) => [mail.subject, mail]));
  const stages = new Samples();
  let looked = 0;
  let page = await mayfly.get<Page>(`/v1/inboxes/${id}/messages?limit=100`);
  while (page.messages.length > 0 && looked < MAX_MAILS) {
    for (const { id: message, subject, receivedAt } of page.messages) {
      const mail = bySubject.get(subject);
      if (!mail) continue;
      const steps = await timesOf(mayfly, `/v1/inboxes/${id}/messages/${message}/timeline`);
      const at = (time: number): number => performance.timeOrigin + time;
      const endOfData = steps.get('end-of-data') ?? Number.NaN;
      const parsed = steps.get('parsed') ?? Number.NaN;
      const note = (stage: string, ms: number) => stages.add(stage, Math.max(0, ms));
      note('from connecting to the final dot', mail.dot - mail.begun);
      note('until the server has read it', endOfData - at(mail.dot));
      note('until it is parsed', parsed - endOfData);
      note('until it is given to the store', Date.parse(receivedAt) - parsed);
      note('until it is committed and the 250 is here', at(mail.end) - Date.parse(receivedAt));
      looked++;
    }
    page = await mayfly.get<Page>(`/v1/inboxes/${id}/messages?limit=100&since=${page.cursor}`);
  }
  return stages;
}

async function timesOf(mayfly: Mayfly, path: string): Promise<Map<string, number>> {
  const { events } = await mayfly.get<{ events: { event: string; at: string | null }[] }>(path);
  return new Map(events.map(({ event, at }) => [event, at === null ? Number.NaN : Date.parse(at)]));
}
