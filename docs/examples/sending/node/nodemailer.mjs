import { createTransport } from 'nodemailer';

const { SMTP_HOST, SMTP_PORT, SMTP_USER, SMTP_PASSWORD, MAIL_TO } = process.env;

const transport = createTransport({
  host: SMTP_HOST,
  port: Number(SMTP_PORT),
  auth: SMTP_USER ? { user: SMTP_USER, pass: SMTP_PASSWORD } : undefined,
});
await transport.sendMail({
  from: 'Café Größe <hello@shop.example>',
  to: MAIL_TO,
  subject: 'Grüße: 482910 ist Ihr Code 🎉',
  text: 'Grüße! Ihr Code ist 482910.',
  html: '<p>Grüße! Ihr Code ist <b>482910</b>.</p>',
  attachments: [{ path: 'invoice.pdf' }],
});
