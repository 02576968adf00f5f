/**
 * `node bench/mime-speed.ts [OTHER]`: CPU time of reading mails in this tree, and in another checkout of the
 * project (a folder with its dependencies installed), in turns in one process. "parse" is all that a parse
 * worker does to a mail: taking apart, decoding, codes, links, preview, JSON.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { largeMail, parserBombs, realisticMail } from './support/mails.ts';
import { oddMails } from './support/odd-mails.ts';

const ROUNDS = 25;
/** Reading goes on for so long in a round, milliseconds. */
const ROUND_MS = 150;
const MIB = 1024 * 1024;
const CORPUS = resolve(import.meta.dirname, '../../shared/corpora/mime4j/core/src/test/resources');

type Parse = (raw: Uint8Array) => unknown;

async function load(root: string): Promise<Parse> {
  const { parseMail } = await import(join(root, 'packages/server/src/mail/parse.ts'));
  return async (raw) => {
    const { summary, content } = await parseMail(raw);
    return [JSON.stringify(summary), JSON.stringify(content)];
  };
}

function corpus(): Buffer[] {
  if (!existsSync(CORPUS)) return [];
  return ['testmsgs', 'mimetools-testmsgs'].flatMap((folder) =>
    readdirSync(join(CORPUS, folder))
      .filter((name) => name.endsWith('.msg'))
      .map((name) => readFileSync(join(CORPUS, folder, name))),
  );
}

/** Milliseconds of CPU time a mail. */
async function round(parse: Parse, mails: readonly Buffer[]): Promise<number> {
  const end = performance.now() + ROUND_MS;
  const before = process.threadCpuUsage();
  let read = 0;
  do {
    for (const mail of mails) await parse(mail);
    read += mails.length;
  } while (performance.now() < end);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000 / read;
}

/** Other work on the machine only adds: the best round tells the least about it. */
const best = (values: readonly number[]) => Math.min(...values);

const kinds: Record<string, Buffer[]> = {
  'a mail of 2.4 KB': [await realisticMail()],
  'odd mails': [...(await oddMails()).values()],
  'the collection of mime4j': corpus(),
  'a file of 10 MiB': [largeMail(10 * MIB)],
  ...Object.fromEntries([...parserBombs()].map(([name, bomb]) => [name, [bomb]])),
};
const [other] = process.argv.slice(2);
const readers = [await load(resolve(import.meta.dirname, '..'))];
if (other !== undefined) readers.push(await load(resolve(other)));

console.log('| what | parse, ms of CPU a mail | the other checkout | ratio |\n|---|---|---|---|');
for (const [name, mails] of Object.entries(kinds)) {
  if (mails.length === 0) continue;
  const times = readers.map((): number[] => []);
  for (let i = 0; i < ROUNDS; i++) {
    for (const [at, parse] of readers.entries()) times[at]?.push(await round(parse, mails));
  }
  const [ours = 0, theirs] = times.map(best);
  const compared = theirs === undefined ? '– | –' : `${theirs.toFixed(3)} | ${(theirs / ours).toFixed(1)} ×`;
  console.log(`| ${name} | ${ours.toFixed(3)} | ${compared} |`);
}
