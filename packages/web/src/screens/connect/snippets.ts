/** Values of this server that snippets are filled with. */
export interface Values {
  host: string;
  port: number;
  address: string;
  inboxId: string;
  /** Base URL of the API. */
  url: string;
}

/** Settings and test code for frameworks, to copy. */
export const SNIPPETS: readonly { id: string; label: string; text: (values: Values) => string }[] = [
  {
    id: 'swaks',
    label: 'Shell',
    text: ({ host, port, address, inboxId, url }) => `# Send a mail
swaks --server ${host}:${port} --to ${address} --header "Subject: Hello" --body "Your code is 482913"

# Wait for it, up to 30 seconds
curl -X POST ${url}/v1/inboxes/${inboxId}/wait \\
  -H "Authorization: Bearer \${MAYFLY_API_KEY:-dev}" \\
  -H "Content-Type: application/json" -d '{"match": {"code": true}}'`,
  },
  {
    id: 'nodemailer',
    label: 'Node.js',
    text: ({ host, port, address }) => `import { createTransport } from 'nodemailer';

const mail = createTransport({ host: '${host}', port: ${port} });
await mail.sendMail({
  from: 'no-reply@app.example',
  to: '${address}',
  subject: 'Hello',
  text: 'Your code is 482913',
});`,
  },
  {
    id: 'playwright',
    label: 'Playwright',
    text: ({ url }) => `import { test } from '@mayfly/playwright';

test.use({ mayflyUrl: '${url}' });

test('signs up', async ({ page, inbox }) => {
  await page.goto('/sign-up');
  await page.getByLabel('E-mail').fill(inbox.address);
  await page.getByRole('button', { name: 'Sign up' }).click();
  await page.getByLabel('Code').fill(await inbox.waitForCode());
});`,
  },
  {
    id: 'cypress',
    label: 'Cypress',
    text: () => `// In cypress.config.js, from '@mayfly/cypress': setupNodeEvents: (on, config) => mayfly(on, config)
import '@mayfly/cypress/commands';

it('signs up', () => {
  cy.createInbox().then((inbox) => {
    cy.visit('/sign-up');
    cy.get('[name=email]').type(inbox.address + '{enter}');
    cy.waitForCode(inbox).then((code) => cy.get('[name=code]').type(code));
  });
});`,
  },
  {
    id: 'pytest',
    label: 'pytest',
    text: ({ host, port }) => `import smtplib
from email.message import EmailMessage

def test_mail(mail_inbox):
    message = EmailMessage()
    message["From"], message["To"] = "no-reply@app.example", mail_inbox.address
    message["Subject"] = "Hello"
    message.set_content("Your code is 482913")
    with smtplib.SMTP("${host}", ${port}) as smtp:
        smtp.send_message(message)
    assert mail_inbox.wait_for_code() == "482913"`,
  },
  {
    id: 'django',
    label: 'Django',
    text: ({ host, port }) => `# settings.py
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_HOST = "${host}"
EMAIL_PORT = ${port}
EMAIL_USE_TLS = False`,
  },
  {
    id: 'rails',
    label: 'Rails',
    text: ({ host, port }) => `# config/environments/test.rb
config.action_mailer.delivery_method = :smtp
config.action_mailer.smtp_settings = { address: "${host}", port: ${port} }`,
  },
  {
    id: 'laravel',
    label: 'Laravel',
    text: ({ host, port }) => `# .env
MAIL_MAILER=smtp
MAIL_HOST=${host}
MAIL_PORT=${port}
MAIL_USERNAME=null
MAIL_PASSWORD=null
MAIL_ENCRYPTION=null`,
  },
  {
    id: 'spring',
    label: 'Spring Boot',
    text: ({ host, port }) => `# application-test.properties
spring.mail.host=${host}
spring.mail.port=${port}`,
  },
  {
    id: 'dotnet',
    label: '.NET',
    text: ({ host, port, address }) => `using var client = new MailKit.Net.Smtp.SmtpClient();
await client.ConnectAsync("${host}", ${port}, MailKit.Security.SecureSocketOptions.None);
var message = new MimeKit.MimeMessage();
message.From.Add(MimeKit.MailboxAddress.Parse("no-reply@app.example"));
message.To.Add(MimeKit.MailboxAddress.Parse("${address}"));
message.Subject = "Hello";
message.Body = new MimeKit.TextPart("plain") { Text = "Your code is 482913" };
await client.SendAsync(message);`,
  },
  {
    id: 'go',
    label: 'Go',
    text: ({ host, port, address }) => `err := smtp.SendMail("${host}:${port}", nil, "no-reply@app.example",
	[]string{"${address}"},
	[]byte("To: ${address}\\r\\nSubject: Hello\\r\\n\\r\\nYour code is 482913\\r\\n"))`,
  },
  {
    id: 'php',
    label: 'PHP',
    text: ({ host, port, address }) => `$mail = new PHPMailer\\PHPMailer\\PHPMailer(true);
$mail->isSMTP();
$mail->Host = '${host}';
$mail->Port = ${port};
$mail->setFrom('no-reply@app.example');
$mail->addAddress('${address}');
$mail->Subject = 'Hello';
$mail->Body = 'Your code is 482913';
$mail->send();`,
  },
];
