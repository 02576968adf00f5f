// An agent checks the sign-up mail of an application, with nothing but requests (docs/agents.md, /llms.txt).
// It prints what it found, one JSON object a line. MAYFLY_URL, MAYFLY_API_KEY and SMTP_PORT where they differ.
import { sendWithRetries } from '../retries/mailer.js';

const URL_OF_API = process.env.MAYFLY_URL ?? 'http://127.0.0.1:8025';
const KEY = process.env.MAYFLY_API_KEY || 'dev';
const SMTP = { port: Number(process.env.SMTP_PORT ?? 2525) };
const LATER = { code: 451, text: '4.7.1 Greylisted, try again later' };

/** A request. @returns the parsed response, or its bytes for a zip @throws Error with what to do next */
async function api(method, path, body, type = 'application/json') {
  const response = await fetch(`${URL_OF_API}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${KEY}`, ...(body && { 'content-type': type }) },
    body: body && (type === 'application/json' ? JSON.stringify(body) : body),
  });
  if (response.status === 204) return null;
  const isZip = response.headers.get('content-type') === 'application/zip';
  const result = isZip ? new Uint8Array(await response.arrayBuffer()) : await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${result.detail}`);
  return result;
}

const report = (step, found) => process.stdout.write(`${JSON.stringify({ step, ...found })}\n`);

/** The application under test: it mails a code, and tries again when the server says so. */
const signUp = (address) =>
  sendWithRetries(
    { from: 'app@shop.example', to: address, subject: 'Confirm your account', text: 'Your code is 482913.' },
    SMTP,
  );

const inbox = await api('POST', '/inboxes', { ttlMinutes: 10, labels: { agent: 'sign-up' } });
const path = `/inboxes/${inbox.id}`;
const wait = (of, request) => api('POST', `/inboxes/${of}/wait`, { timeoutSeconds: 20, ...request });

// Does the application survive a server that is busy twice, and one that is slow?
await api('PUT', `${path}/faults`, {
  rules: [
    { at: 'rcpt', reply: LATER, times: 2 },
    { at: 'end-of-data', delayMs: 300 },
  ],
});
await signUp(inbox.address);
const { matched, messages, cursor, explanation } = await wait(inbox.id, {
  match: { subject: 'confirm', code: true },
});
if (!matched) throw new Error(explanation.summary);
const [mail] = messages;
const { rules } = await api('GET', `${path}/faults`);
report('retries', { code: mail.codes[0].value, faultsLeft: rules.map(({ left }) => left) });

// Is the mail well made?
const { findings } = await api('GET', `${path}/messages/${mail.id}/lint`);
report('lint', { findings: findings.map(({ rule, severity }) => `${severity} ${rule}`) });

// Where did the time go?
const { events } = await api('GET', `${path}/messages/${mail.id}/timeline`);
report('timeline', { events: events.map(({ event }) => event) });

// The same mail again, for code that reads it: a recording, replayed ten times as fast.
const recording = await api('GET', `${path}/export`);
const replayed = await api('POST', '/inboxes/import?speed=10', recording, 'application/zip');
const again = await wait(replayed.id, { match: { code: true } });
report('replay', { code: again.messages[0].codes[0].value, isNewInbox: replayed.id !== inbox.id });

// A wait in vain says why.
const vain = await wait(inbox.id, { since: cursor, match: { subject: 'reset' }, timeoutSeconds: 0 });
report('explanation', { summary: vain.explanation.summary });

for (const { id } of [inbox, replayed]) await api('DELETE', `/inboxes/${id}`);
