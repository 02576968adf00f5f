import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { smtpClient } from '../../support/smtp-script.ts';
import { startSmtp, upToData } from '../start-smtp.ts';

/*
 * Other people's collections, which lie beside the project and are not part of it. Each promise here
 * is also held by a test of our own; without the collections these are skipped, by name.
 */
const corpora = resolve(import.meta.dirname, '../../../../../../shared/corpora');
const has = (name: string) => existsSync(resolve(corpora, name));
const read = (name: string) => readFileSync(resolve(corpora, name), 'utf8');

const smtp = await startSmtp({ maxMessageBytes: 1024 * 1024 });
afterAll(() => smtp.stop());

describe.skipIf(!has('isemail-addresses'))('isemail’s addresses in RCPT', () => {
  const entity = (text: string) =>
    text
      .replace(/&#x([0-9A-F]+);/gi, (_all, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&amp;', '&')
      // Control characters are written as their pictures.
      .replace(/[\u2400-\u241f]/g, (picture) => String.fromCharCode(picture.charCodeAt(0) - 0x2400));

  const cases = has('isemail-addresses')
    ? [...read('isemail-addresses/tests.xml').matchAll(/<test id="(\d+)">([\s\S]*?)<\/test>/g)].map(
        (found) => ({
          id: found[1] ?? '',
          address: entity(/<address>([\s\S]*?)<\/address>/.exec(found[2] ?? '')?.[1] ?? ''),
          category: /<category>(.*?)<\/category>/.exec(found[2] ?? '')?.[1] ?? '',
          diagnosis: /<diagnosis>(.*?)<\/diagnosis>/.exec(found[2] ?? '')?.[1] ?? '',
        }),
      )
    : [];
  const WELL_FORMED = ['ISEMAIL_VALID_CATEGORY', 'ISEMAIL_DNSWARN', 'ISEMAIL_RFC5321'];
  /** Where SMTP's grammar and isemail's categories part. */
  const EXCEPTIONS: Record<string, string> = {
    71: 'an IPv6 literal whose `::` stands for one group: deprecated, and harmless',
  };

  test('are there', () => expect(cases.length).toBeGreaterThan(150));

  test.each(cases.filter(({ id }) => !(id in EXCEPTIONS)))('$id $diagnosis: $address', async (one) => {
    const client = await smtpClient(smtp.port);
    await client.play(upToData.slice(0, 3));
    await client.send(`RCPT TO:<${one.address}>\r\n`);
    const reply = await client.reply();
    client.close();
    // Well formed: nobody has it. Otherwise: a syntax error, of the address or of the whole line.
    expect(reply.slice(0, 3)).toMatch(WELL_FORMED.includes(one.category) ? /^550$/ : /^(?:500|501|553)$/);
  });
});

describe.skipIf(!has('chasquid-smtp-dialogues'))('chasquid’s dialogues: the class of each reply', () => {
  /** Why a dialogue says nothing about us; those outside the two folders are of command line tools. */
  const SKIPPED: Record<string, string> = {
    auth_multi_dialog: 'AUTH is not offered',
    auth_not_tls: 'AUTH is not offered',
    auth_too_many_failures: 'AUTH is not offered',
    bad_data: 'refuses a mail for its bad header, which is stored here and shown with its fault',
  };
  const nameOf = (path: string) => basename(path, '.cmy');
  const dialogues = globSync('chasquid-smtp-dialogues/test/t-{05,12}-*/*.cmy', { cwd: corpora }).filter(
    (path) => !(nameOf(path) in SKIPPED),
  );

  test('are there', () => expect(dialogues.length).toBeGreaterThan(10));

  /** `'text' * 3 + 'x'` of the scripts, which are written in Python. */
  const python = (expression: string): string =>
    [...expression.matchAll(/'((?:[^'\\]|\\.)*)'(?:\s*\*\s*(\d+))?(\))?(?:\s*\*\s*(\d+))?/g)]
      .map(([, text = '', inner = '1']) =>
        text.replaceAll('\\r', '\r').replaceAll('\\n', '\n').repeat(Number(inner)),
      )
      .join('')
      .repeat(Number(/\)\s*\*\s*(\d+)\s*$/.exec(expression)?.[1] ?? 1));

  test.each(dialogues)('%s', async (name) => {
    let client = await smtpClient(smtp.port);
    const mine = (line: string) =>
      line
        // Brackets, which RFC 5321 asks for and chasquid does not, and an inbox of ours.
        .replace(/^RCPT TO: ?user@testserver/, 'RCPT TO:<a@mayfly.test>')
        .replaceAll('testserver', 'mayfly.test');
    let fresh = true;
    for (const line of read(name).split('\n')) {
      const [, verb, argument = ''] = /^c (tcp_connect|close|->|~>|<-|<~|<\.\.\.) ?(.*)$/.exec(line) ?? [];
      if (verb === 'tcp_connect' && !fresh) {
        client.close();
        client = await smtpClient(smtp.port);
      }
      if (verb === 'tcp_connect') fresh = false;
      if (verb === '->') await client.send(`${mine(argument)}\r\n`);
      if (verb === '~>') await client.send(python(argument));
      if (verb?.startsWith('<')) {
        // The exact code is each server's choice among those of its class (RFC 5321 section 4.2.1).
        const klass = /\d/.exec(argument)?.[0] ?? '';
        expect((await client.reply()).charAt(0), `${line} in ${name}`).toBe(klass);
      }
    }
    client.close();
  });
});

describe.skipIf(!has('smuggling-sequences'))('collected smuggling sequences', () => {
  const sequences: { name: string; bytes_hex: string; must_end_data: boolean }[] = has('smuggling-sequences')
    ? JSON.parse(read('smuggling-sequences/sequences.json'))
    : [];

  test.each(sequences)('$name ends the data: $must_end_data', async ({ bytes_hex, must_end_data }) => {
    const client = await smtpClient(smtp.port);
    await client.play([...upToData, 'DATA → 354', { send: 'text' }]);
    await client.send(Buffer.from(bytes_hex, 'hex'));
    await client.send('NOOP\r\n\r\n.\r\nNOOP\r\nQUIT\r\n');
    const replies = (await client.closed()).trimEnd().split('\r\n');
    // The end, NOOP, an empty line, a dot, NOOP, QUIT; or the end, NOOP, QUIT.
    expect(replies).toHaveLength(must_end_data ? 6 : 3);
  });
});
