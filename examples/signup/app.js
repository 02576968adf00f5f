/*
 * The application under test: it knows nothing of Mayfly. Accounts are confirmed with a code, people sign in with a
 * link, and reset a password. It sends its mail to SMTP_HOST and SMTP_PORT, as any application does.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { createServer } from 'node:http';
import { createTransport } from 'nodemailer';

const PORT = Number(process.env.PORT ?? 3000);
const transport = createTransport({
  host: process.env.SMTP_HOST ?? '127.0.0.1',
  port: Number(process.env.SMTP_PORT ?? 2525),
});

/** By address: { code, isConfirmed, password }. */
const accounts = new Map();
/** By token: the address; each works once. */
const signInTokens = new Map();
const resetTokens = new Map();

const page = (title, body) =>
  `<!doctype html><meta charset="utf-8"><title>${title}</title><h1>${title}</h1>${body}`;
const form = (action, fields, button) =>
  `<form method="post" action="${action}">${fields}<button>${button}</button></form>`;
const field = (name, label, value = '') =>
  `<p><label>${label} <input name="${name}" value="${value.replaceAll(/[<>"&]/g, '')}"></label></p>`;

const send = (to, subject, text, html) =>
  transport.sendMail({ from: 'Shop <no-reply@shop.example>', to, subject, text, html });

const routes = {
  'GET /signup': () => page('Sign up', form('/signup', field('email', 'E-mail'), 'Sign up')),

  'POST /signup': async ({ email }) => {
    const code = String(randomInt(100_000, 1_000_000));
    accounts.set(email, { code, isConfirmed: false, password: '' });
    await send(email, 'Please confirm your account', `Your confirmation code is ${code}.`);
    return page(
      'Enter the code',
      form('/confirm', field('email', 'E-mail', email) + field('code', 'Code'), 'Continue'),
    );
  },

  'POST /confirm': async ({ email, code }) => {
    const account = accounts.get(email);
    if (!account || account.code !== code)
      return page('Wrong code', '<p><a href="/signup">Try again</a></p>');
    account.isConfirmed = true;
    await send(email, 'Welcome to Shop', 'Your account is confirmed.');
    return page('Welcome', `<p>${email.replaceAll('<', '')} is confirmed.</p>`);
  },

  'GET /login': () => page('Sign in', form('/login', field('email', 'E-mail'), 'Send me a link')),

  'POST /login': async ({ email }, origin) => {
    const token = randomBytes(16).toString('hex');
    signInTokens.set(token, email);
    const url = `${origin}/magic?token=${token}`;
    const html = `<h1>Hello</h1><p><a href="${url}">Sign in to Shop</a></p><p><a href="${origin}/unsubscribe">Unsubscribe</a></p>`;
    await send(email, 'Your link to sign in', `Sign in: ${url}`, html);
    return page('Look into your mail', '<p>We sent you a link.</p>');
  },

  'GET /magic': ({ token }) => {
    const email = signInTokens.get(token);
    signInTokens.delete(token);
    return email
      ? page('Signed in', `<p>Hello ${email.replaceAll('<', '')}</p>`)
      : page('This link was used', '');
  },

  'GET /forgot': () => page('Forgot your password?', form('/forgot', field('email', 'E-mail'), 'Send')),

  'POST /forgot': async ({ email }, origin) => {
    const token = randomBytes(16).toString('hex');
    resetTokens.set(token, email);
    const url = `${origin}/reset?token=${token}`;
    await send(
      email,
      'Reset your password',
      `Choose a new password: ${url}`,
      `<a href="${url}">Choose a new password</a>`,
    );
    return page('Look into your mail', '<p>We sent you a link.</p>');
  },

  'GET /reset': ({ token = '' }) =>
    page(
      'Choose a password',
      form('/reset', field('token', 'Token', token) + field('password', 'Password'), 'Save'),
    ),

  'POST /reset': ({ token, password }) => {
    const email = resetTokens.get(token);
    if (!email) return page('This link was used', '');
    resetTokens.delete(token);
    accounts.set(email, { ...accounts.get(email), password });
    return page('Welcome back', '<p>Your password was changed.</p>');
  },
};

const server = createServer(async (request, response) => {
  const origin = `http://${request.headers.host}`;
  const url = new URL(request.url, origin);
  const route = routes[`${request.method} ${url.pathname}`];
  if (!route) {
    response.writeHead(404).end('Not found');
    return;
  }
  try {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const input =
      request.method === 'POST' ? new URLSearchParams(Buffer.concat(chunks).toString()) : url.searchParams;
    const html = await route(Object.fromEntries(input), origin);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(html);
  } catch (error) {
    response.writeHead(500).end(`The mail could not be sent: ${error.message}`);
  }
});
server.listen(PORT, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`));
