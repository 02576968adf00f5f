/**
 * `node bench/mime-differences.ts OTHER`: how this tree and another checkout of the project (a folder with
 * its dependencies installed) read the same mails. Prints every field that differs, mail by mail.
 * docs/internals/mime-differences.md judges those between the first reader of our own and the library before it.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseMail } from '../packages/server/src/mail/parse.ts';
import { attachmentBytes } from '../packages/server/test/mail/support/mails.ts';
import { oddMails } from './support/odd-mails.ts';

const CORPORA = resolve(import.meta.dirname, '../../shared/corpora');
const FOLDERS = ['cpython-test-email', 'cutiemail-torture', 'mime4j'];
const IS_MAIL = /\.(?:eml|msg)$|\/msg_\d+\w*\.txt$/;
/** What is shown of a value, characters. */
const MAX_SHOWN = 300;

type Reading = Record<string, unknown>;
type OurMail = ReturnType<typeof parseMail>;

function collected(): Map<string, Buffer> {
  const mails = new Map<string, Buffer>();
  for (const folder of FOLDERS) {
    for (const entry of readdirSync(join(CORPORA, folder), { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      if (!entry.isFile() || !IS_MAIL.test(file)) continue;
      const bytes = readFileSync(file);
      // Mail has CRLF; files that were kept with the line ends of Unix get them back.
      const text = bytes.toString('latin1');
      mails.set(
        relative(CORPORA, file),
        text.includes('\r') ? bytes : Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1'),
      );
    }
  }
  return mails;
}

/** What SMTP delivers ends with a line end. */
const asDelivered = (raw: Buffer) => (raw.at(-1) === 0x0a ? raw : Buffer.concat([raw, Buffer.from('\r\n')]));

/** One level of fields, with a line for each attachment and header field, so that differences are short. */
function flatten(mail: unknown): Map<string, string[]> {
  const { summary, content, parseError } = mail as Record<'summary' | 'content', Reading> & Reading;
  const { attachments, headers, ...rest } = content;
  const flat = new Map<string, string[]>();
  for (const [key, value] of Object.entries({ parseError, ...summary, ...rest }))
    flat.set(key, [JSON.stringify(value)]);
  flat.set(
    'headers',
    (headers as Reading[]).map(({ name, value }) => `${name}: ${value}`),
  );
  flat.set('attachments', (attachments as Reading[]).map(shownAttachment));
  return flat;
}

const shownAttachment = ({ filename, contentType, size, disposition, contentId, sha256 }: Reading): string =>
  `${disposition} ${contentType} ${JSON.stringify(filename)} ${contentId} ${size} bytes ${String(sha256).slice(0, 8)}`;

/** The attachment as it would be listed if its line ends were line feeds, as the first reader had them. */
function withLineFeeds(raw: Buffer, mail: OurMail, index: number): string {
  const one = mail.content.attachments[index];
  const bytes = Buffer.from(attachmentBytes(raw, mail.index, one?.id ?? '') ?? '').toString('latin1');
  const changed = Buffer.from(bytes.replaceAll('\r\n', '\n'), 'latin1');
  return shownAttachment({
    ...one,
    size: changed.length,
    sha256: createHash('sha256').update(changed).digest('hex'),
  });
}

/** What only one of two lists holds. */
function difference(before: readonly string[], after: readonly string[]): string[] {
  const left = after.slice();
  const gone = before.filter((one) => {
    const at = left.indexOf(one);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  return [...gone.map((one) => `- ${shown(one)}`), ...left.map((one) => `+ ${shown(one)}`)];
}

const shown = (text: string) =>
  text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}… (${text.length})` : text;

const [other] = process.argv.slice(2);
if (other === undefined) {
  console.error('Usage: node bench/mime-differences.ts OTHER-CHECKOUT');
  process.exit(2);
}
const { parseMail: theirs } = await import(join(resolve(other), 'packages/server/src/mail/parse.ts'));

const mails = new Map([...collected(), ...(await oddMails())]);
let differing = 0;
const lineEnds: string[] = [];
for (const [name, kept] of mails) {
  const raw = asDelivered(kept);
  const before = flatten(await theirs(raw));
  const mail = parseMail(raw);
  const after = flatten(mail);
  const lines: string[] = [];
  for (const [key, was] of before) {
    const is = after.get(key) ?? [];
    // Counted otherwise on purpose; the attachments themselves are compared.
    if (key === 'attachmentCount' || difference(was, is).length === 0) continue;
    const isLineEnds =
      key === 'attachments' &&
      was.length === is.length &&
      was.every((one, at) => one === is[at] || one === withLineFeeds(raw, mail, at));
    if (isLineEnds) lineEnds.push(name);
    else lines.push(`  ${key}`, ...difference(was, is).map((line) => `    ${line}`));
  }
  if (lines.length === 0) continue;
  differing++;
  console.log([name, ...lines].join('\n'));
}
console.log(`\nLine ends of attachments differ, and nothing else of them, in:\n  ${lineEnds.join('\n  ')}`);
console.log(`\n${mails.size} mails: ${differing} read otherwise, ${lineEnds.length} with other line ends.`);
