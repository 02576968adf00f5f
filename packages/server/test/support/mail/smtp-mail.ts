import type { Body } from '../api-client.ts';
import { smtpClient } from '../smtp-script.ts';
import type { TestApp } from '../start-app.ts';

/** The replies to a mail. */
export interface Sent {
  /** The replies to RCPT, one for each recipient. */
  replies: string[];
  /** The reply to the end of DATA; null when no recipient was accepted. */
  end: string | null;
}

/**
 * Sends one mail in a new session.
 * @param text header and body; lines may end with LF
 */
export async function sendMail(
  port: number,
  recipients: string[],
  text = 'Subject: hello\r\n\r\nhello',
  mailFrom = 'app@example.org',
): Promise<Sent> {
  const client = await smtpClient(port);
  try {
    await client.reply();
    await client.say('EHLO app.example.org');
    await client.say(`MAIL FROM:<${mailFrom}>`);
    const replies: string[] = [];
    for (const recipient of recipients) replies.push(await client.say(`RCPT TO:<${recipient}>`));
    if (!replies.some((reply) => reply.startsWith('250'))) return { replies, end: null };
    await client.say('DATA');
    return { replies, end: await client.say(`${text.replaceAll(/\r?\n/g, '\r\n')}\r\n.`) };
  } finally {
    client.close();
  }
}

/** Sends one mail to one address. @returns the reply to the end of DATA, or to RCPT if that was rejected */
export async function sendTo(
  port: number,
  address: string,
  text?: string,
  mailFrom?: string,
): Promise<string> {
  const { replies, end } = await sendMail(port, [address], text, mailFrom);
  return end ?? replies.join();
}

/** @returns the reply to a single RCPT; sends no mail */
export async function rcpt(port: number, address: string): Promise<string> {
  const client = await smtpClient(port);
  try {
    await client.reply();
    await client.say('EHLO app.example.org');
    await client.say('MAIL FROM:<app@example.org>');
    return await client.say(`RCPT TO:<${address}>`);
  } finally {
    client.close();
  }
}

/** @returns the recipients of each message of an inbox, newest first */
export async function recipientsOf(app: TestApp, { id }: { id: string }): Promise<string[][]> {
  const get = async (path: string) => (await app.api('GET', `/v1/inboxes/${id}/messages${path}`)).body;
  const full = (await get('')).messages.map((message: Body) => get(`/${message.id}`));
  return (await Promise.all(full)).map(({ envelope }) => envelope.rcptTo);
}
