import type { FullMessageRecord } from '../messages/records.ts';
import { plainSubject } from './reply.ts';
import type { OutgoingRecord } from './sql.ts';

interface Mail {
  kind: 'received' | 'sent';
  id: string;
  at: number;
  subject: string;
  /** The mail's Message-ID and the ids that it refers to, without brackets. */
  ids: string[];
}

const bare = (id: string): string => id.replace(/^<|>$/g, '');

const received = ({ id, receivedAt, summary, content }: FullMessageRecord): Mail => ({
  ...{ kind: 'received', id, at: receivedAt, subject: summary.subject },
  ids: [content.rfcMessageId, content.inReplyTo, ...content.references].flatMap((one) =>
    one ? [bare(one)] : [],
  ),
});

/** Groups mails that have an id in common, or the subject without prefixes such as `Re:`. */
export function threadsOf(messages: readonly FullMessageRecord[], outgoing: readonly OutgoingRecord[]) {
  const mails = messages.map(received);
  const idsOf = new Map(mails.map(({ id, ids }) => [id, ids]));
  for (const { id, kind, messageId, createdAt, details } of outgoing) {
    if (kind !== 'reply') continue;
    const { rfcMessageId = '', subject = '' } = details;
    const ids = [bare(rfcMessageId), ...(idsOf.get(messageId ?? '') ?? [])];
    mails.push({ kind: 'sent', id, at: createdAt, subject, ids });
  }
  const keysOf = ({ subject, ids }: Mail): string[] => {
    const plain = plainSubject(subject).toLowerCase();
    return [...ids.map((one) => `id ${one}`), ...(plain === '' ? [] : [`subject ${plain}`])];
  };
  let groups: { keys: string[]; mails: Mail[] }[] = [];
  for (const mail of mails) {
    const keys = keysOf(mail);
    const same = groups.filter((group) => group.keys.some((key) => keys.includes(key)));
    const merged = {
      keys: [...keys, ...same.flatMap((group) => group.keys)],
      mails: [mail, ...same.flatMap((group) => group.mails)],
    };
    groups = [...groups.filter((group) => !same.includes(group)), merged];
  }
  return groups
    .map((group) => group.mails.toSorted((a, b) => a.at - b.at))
    .toSorted((a, b) => (b.at(-1)?.at ?? 0) - (a.at(-1)?.at ?? 0))
    .map((group) => ({
      subject: plainSubject(group[0]?.subject ?? ''),
      entries: group.map(({ ids: _, ...entry }) => entry),
    }));
}
