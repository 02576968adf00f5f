import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const SOURCE = new URL('../../../src/', import.meta.url);

/**
 * Files outside webhooks/ that may open connections or look names up, each with its reason: where the
 * address comes from the operator and never from a client of the API or a mail.
 */
const REASONED: Readonly<Record<string, string>> = {
  'cli/doctor.ts': 'the command line checks the server and the name servers of its operator',
  'cli/mail.ts': 'the command line sends a mail to the SMTP server that its user names',
  'reading/sender-checks/dns-cache.ts':
    "asks the operator's name servers, and nobody else, for records of senders",
  'reading/sender-checks/worker.ts':
    'uses three functions of mailauth, which ask for records by the function given',
  'database/postgres/connection.ts': 'connects to the database that MAYFLY_DATABASE_URL names',
  'smtp/server.ts': 'puts TLS upon sockets that clients have opened, as their server',
};

/** What opens a connection or asks a name server, in code (comments are taken out first). */
const WAYS_OUT: readonly RegExp[] = [
  /from ['"]undici['"]|import\(['"]undici['"]\)|require\(['"]undici['"]\)/,
  /(?<![.\w])fetch\s*\(|globalThis\.fetch/,
  /\bnew (?:WebSocket|EventSource|Socket|TLSSocket|XMLHttpRequest)\b/,
  /['"](?:node:)?dns(?:\/promises)?['"]/,
  /['"](?:node:)?dgram['"]/,
  /\b(?:net|tls|https?|http2)\.(?:connect|createConnection|request|get)\s*\(/,
  /import \{[^}]*\b(?:connect|createConnection|request|get|Socket|TLSSocket)\b[^}]*\} from ['"](?:node:)?(?:net|tls|https?|http2)['"]/,
  /from ['"](?:nodemailer|axios|got|ky|node-fetch|ws|aws4fetch|mailauth|ioredis|redis|pg)(?:\/[^'"]*)?['"]/,
];

/** The ways out that a source uses, as the words found. */
function waysOut(source: string): string[] {
  const code = source
    .replaceAll(/\/\*.*?\*\//gs, '')
    .replaceAll(/(?<!:)\/\/.*$/gm, '')
    // Types open nothing.
    .replaceAll(/import type [^;]*;/g, '')
    .replaceAll(/\btype \w+(?=\s*[,}])/g, '');
  return WAYS_OUT.flatMap((way) => code.match(way)?.[0] ?? []);
}

describe('the guard of webhooks/ is the only way out', () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && !file.startsWith('webhooks/'));

  it('so that no other source opens a connection or looks a name up without a reason written here', () => {
    const found = files.filter((file) => waysOut(readFileSync(new URL(file, SOURCE), 'utf8')).length > 0);
    expect(found.toSorted()).toEqual(Object.keys(REASONED).toSorted());
  });

  it('and inside webhooks/ only the guard makes connections and only resolve.ts asks for names', () => {
    const folder = new URL('webhooks/', SOURCE);
    const inside = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const using = (pattern: RegExp) =>
      inside.filter((file) => /ts$/.test(file) && pattern.test(readFileSync(new URL(file, folder), 'utf8')));
    expect(using(/\bnew Agent\b|buildConnector/)).toEqual(['outbound/send.ts']);
    expect(using(/['"](?:node:)?dns(?:\/promises)?['"]/)).toEqual(['outbound/resolve.ts']);
    expect(using(/\bfetch\s*\(|\bnet\.|\btls\.|['"]node:(?:https?|http2|tls)['"]/)).toEqual([]);
  });
});
