import { readFile } from 'node:fs/promises';

const { API, KEY, ID } = process.env;

const response = await fetch(`${API}/v1/inboxes/${ID}/messages`, {
  method: 'POST',
  headers: { authorization: `Bearer ${KEY}`, 'content-type': 'message/rfc822' },
  body: await readFile('mail.eml'),
});
const message = await response.json();
if (!response.ok) throw new Error(`${message.code}: ${message.detail}`);
console.log(message.id, message.subject);
