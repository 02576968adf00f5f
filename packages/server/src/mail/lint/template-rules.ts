import { fieldKey } from '../mime/header.ts';
import type { Case, LintedMail, Rule } from './finding.ts';

/** Placeholders of Mustache and its kin, Jinja, ERB, JavaScript, PHP mailers and Mailchimp; and a printed object. */
const PLACEHOLDER =
  /\{\{[^{}\n]{1,60}\}\}|\{%[^%\n]{1,60}%\}|<%[^%\n]{1,60}%>|\$\{[\w.]{1,60}\}|%%[\w ]{1,40}%%|\*\|[\w:]{1,40}\|\*|\[object Object\]/;
/** The same in an address, as sent or percent-encoded; and a value that JavaScript did not have. */
const IN_ADDRESS =
  /\{\{[^{}]{1,60}\}\}|%7B%7B.{1,60}?%7D%7D|\$\{[\w.]{1,60}\}|\*\|[\w:]{1,40}\|\*|\[object(?: |%20)Object\]|^https?:\/\/undefined\b|\/undefined(?=[/?#]|$)/i;
/** A line that greets one person by name. */
const GREETING =
  /^(?:hi|hello|hey|dear|hallo|liebe[rs]?|guten tag|bonjour|hola|olá|ciao|beste|cześć|hej|merhaba)\b/i;
/** What programs print where there is no name. */
const NO_NAME = /\b(?:undefined|null|None|NaN)\b/;
const EMPTY_NAME = /^(?:hi|hello|hey|dear|hallo) ,/i;
/** A greeting is at the top, and short. */
const MAX_LINES = 12;
const MAX_GREETING = 80;
/** Characters searched for those lines. */
const MAX_READ = 4 * 1024;

const finding = (found: string, where: string): Case => ({
  message: `"${found}" stands where a value belongs. Check that the template gets its data, under the names that it uses.`,
  where,
});

/** The line that greets without a name, or undefined. */
function brokenGreeting(text: string): string | undefined {
  const lines = text.slice(0, MAX_READ).split('\n').slice(0, MAX_LINES);
  return lines
    .map((line) => line.trim())
    .filter((line) => line.length <= MAX_GREETING && GREETING.test(line))
    .find((line) => PLACEHOLDER.test(line) || NO_NAME.test(line) || EMPTY_NAME.test(line));
}

/** Answers and mails of lists repeat what people write, also about templates. */
function isOfPeople({ source, parts, mail }: LintedMail): boolean {
  const keys = parts.header.fields.map((field) => fieldKey(source, field));
  const isAnswer = mail.content.inReplyTo !== null || mail.content.references.length > 0;
  return (
    isAnswer || keys.includes('list-id') || /^\s*(?:re|fwd?|aw|wg|tr|rv)\s*:/i.test(mail.summary.subject)
  );
}

export const TEMPLATE_RULES: readonly Rule[] = [
  {
    name: 'unfilled-template',
    severity: 'warning',
    reference: 'Placeholders of Mustache, Jinja, ERB, JavaScript and Mailchimp',
    check: (linted) => {
      const { summary, content } = linted.mail;
      const inSubject = isOfPeople(linted) ? undefined : PLACEHOLDER.exec(summary.subject)?.[0];
      const greeting = brokenGreeting(content.text ?? '') ?? brokenGreeting(content.htmlText ?? '');
      const links = content.links.filter(({ href }) => IN_ADDRESS.test(href));
      return [
        ...(inSubject === undefined ? [] : [finding(inSubject, 'Subject')]),
        ...(greeting === undefined ? [] : [finding(greeting, 'greeting')]),
        ...links.map(({ href }) => finding(IN_ADDRESS.exec(href)?.[0] ?? '', href.slice(0, 100))),
      ];
    },
  },
];
