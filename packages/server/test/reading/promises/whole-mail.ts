import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Body } from '../../support/api-client.ts';
import { type SmtpClient, smtpClient } from '../../support/smtp-script.ts';

const TEMPLATE = readFileSync(join(import.meta.dirname, 'whole-mail.eml'), 'utf8').replaceAll('\n', '\r\n');

/** A mail of which each field that a reading finds has something to find. @param id in its subject, texts and link */
export const wholeMail = (id: string): string => TEMPLATE.replaceAll('@ID@', id);

/** What lists, waits and streams say of it. */
export const summaryOf = (id: string): Body => ({
  ...{ subject: id, from: { address: 'shop@example.org', name: 'Shop' } },
  ...{ preview: expect.stringContaining(id), codes: [{ value: '482913' }], attachmentCount: 1 },
});

/** What a message in full, a wait and a webhook say of it. */
export const contentOf = (id: string): Body => ({
  ...summaryOf(id),
  text: expect.stringContaining(id),
  html: expect.stringContaining(id),
  links: [{ href: `https://shop.example/verify?t=${id}`, kind: 'verify' }],
  attachments: [{ filename: 'a.txt', size: 'a file'.length }],
});

/** A connection that has said EHLO. */
export async function openSender(port: number): Promise<SmtpClient> {
  const client = await smtpClient(port);
  await client.play(['→ 220', 'EHLO app.example.org → 250']);
  return client;
}

/** Sends a mail as it is. @returns the reply to its end, or the earlier one that refused it */
export async function send(client: SmtpClient, to: string, mail: string | Buffer): Promise<string> {
  for (const line of ['MAIL FROM:<app@example.org>', `RCPT TO:<${to}>`]) {
    const reply = await client.say(line);
    if (!reply.startsWith('250')) return reply;
  }
  const reply = await client.say('DATA');
  if (!reply.startsWith('354')) return reply;
  const stuffed = Buffer.from(Buffer.from(mail).toString('latin1').replaceAll('\r\n.', '\r\n..'), 'latin1');
  void client.send(stuffed);
  await client.send(stuffed.subarray(-2).equals(Buffer.from('\r\n')) ? '.\r\n' : '\r\n.\r\n');
  return client.reply();
}

/** Sends one mail on a connection of its own. @returns the last reply */
export async function sendOne(port: number, to: string, mail: string | Buffer): Promise<string> {
  const client = await openSender(port);
  try {
    return await send(client, to, mail);
  } finally {
    client.close();
  }
}
