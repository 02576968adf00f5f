import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHttp, type TestHttp, type TestInbox } from '../start-http.ts';

const MAIL = 'Subject: x\r\nContent-Type: text/html\r\n\r\n<p>Hello\r\n';

describe('while an account asks for ten previews at a time', () => {
  let http: TestHttp;
  let own: TestInbox;
  let foreign: TestInbox;
  let ownMessage: string;
  let foreignMessage: string;
  /** Ends the reading of the account's messages, which is held up until then. */
  let release: () => void;
  let reading = 0;
  beforeEach(async () => {
    http = await startHttp();
    own = await http.createInbox();
    foreign = await http.createInbox({}, http.keys.foreign);
    ownMessage = await http.deliverRaw(own, MAIL);
    foreignMessage = await http.deliverRaw(foreign, MAIL, http.foreignId);
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    reading = 0;
    const { messages } = http.store;
    const { readRaw } = messages;
    messages.readRaw = async (inboxId, ...rest) => {
      if (inboxId === own.id) {
        reading += 1;
        await released;
      }
      return readRaw(inboxId, ...rest);
    };
  });
  afterEach(() => http.stop());

  const preview = () =>
    http.api('POST', `/v1/inboxes/${own.id}/messages/${ownMessage}/preview`, { body: {} });
  const lint = (inbox: TestInbox, message: string, as: string) =>
    http.api('GET', `/v1/inboxes/${inbox.id}/messages/${message}/lint`, { as });

  it('the check of another account waits for none of them', async () => {
    const previews = Array.from({ length: 10 }, preview);
    await expect.poll(() => reading).toBe(2);
    expect((await lint(foreign, foreignMessage, http.keys.foreign)).status).toBe(200);
    expect(reading).toBe(2);
    release();
    expect((await Promise.all(previews)).map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect((await lint(own, ownMessage, http.keys.own)).status).toBe(200);
  });
});
