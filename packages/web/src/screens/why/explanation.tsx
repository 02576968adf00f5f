import type { api } from '@mayfly/client';
import { person, plural } from '../../lib/format.ts';
import { ago } from '../../lib/time.ts';

/** What a message lacks: some conditions ask for something that it does not have, others for a value. */
const shortcoming = ({ condition }: api.SeenMessage['failed'][number]): string =>
  ['code', 'link', 'hasAttachments'].includes(condition)
    ? `it has no such ${condition === 'hasAttachments' ? 'attachment' : condition}`
    : `its ${condition} differs`;

/** An explanation as sentences, the likeliest cause first. */
export function sentences(
  inbox: api.Inbox,
  { seen, seenCount, refused, nearMisses, failedHandshakes }: api.WaitExplanation,
): string[] {
  const found: string[] = [];
  const [miss] = nearMisses;
  const nearest = [...seen].sort((a, b) => a.failed.length - b.failed.length)[0];
  if (nearest) {
    found.push(
      `${plural(seenCount, 'message')} came, and none meets all conditions. The nearest is “${nearest.message.subject || '(no subject)'}” from ${person(nearest.message.from)}, ${ago(nearest.message.receivedAt)}: ${nearest.failed.map(shortcoming).join(' and ')}.`,
    );
  }
  if (refused[0]?.reply === '' && !refused[0].fault) {
    found.push(
      `The connection of a sender ended in the middle of a message for this address, ${ago(refused[0].at)}.`,
    );
  } else if (refused[0]) {
    found.push(
      `${plural(refused.length, 'mail')} for this address was refused. The last reply, ${ago(refused[0].at)}, was “${refused[0].reply}”.`,
    );
  }
  if (miss) {
    const what =
      miss.outcome === 'refused' ? 'was refused, because no inbox takes it' : 'went to another inbox';
    found.push(
      `Mail for ${miss.address} ${what}, ${ago(miss.at)}. This inbox is ${inbox.address}. Compare the letters below.`,
    );
  }
  if (failedHandshakes[0]) {
    found.push(
      `A sender failed to start TLS ${ago(failedHandshakes[0].at)}: ${failedHandshakes[0].reason}. It may have given up.`,
    );
  }
  if (found.length > 0) return found;
  return [
    'Nothing came near this inbox: no message, no refused mail, no similar address, no failed TLS handshake.',
    'So the application did not send, or it sent to another server. Compare its SMTP host and port with those on the screen “Connect”.',
  ];
}

/** The longest common subsequence of two addresses, as marks on the letters of the first. */
function commonLetters(a: string, b: string): boolean[] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const common: boolean[] = [];
  let j = 0;
  for (let i = 0; i < a.length; i++) {
    while (j < b.length && a[i] !== b[j] && at(i, j + 1) >= at(i + 1, j) && at(i, j + 1) === at(i, j)) j++;
    common[i] = j < b.length && a[i] === b[j];
    if (common[i]) j++;
  }
  return common;
}

/** An address with the letters marked that another one does not have. */
export function Letters({ of, unlike }: { of: string; unlike: string }) {
  const common = commonLetters(of, unlike);
  const runs: { text: string; isCommon: boolean }[] = [];
  for (const [index, letter] of [...of].entries()) {
    const isCommon = common[index] ?? false;
    const last = runs.at(-1);
    if (last?.isCommon === isCommon) last.text += letter;
    else runs.push({ text: letter, isCommon });
  }
  return <>{runs.map(({ text, isCommon }, index) => (isCommon ? text : <mark key={index}>{text}</mark>))}</>;
}
