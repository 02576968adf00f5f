import { createHmac, timingSafeEqual } from 'node:crypto';

/*
 * Links to previews are signed, not stored, so that any node can open what another one issued. The key is the
 * hash of the inbox's read token: every node reads it from the store, no client knows it but the holder of the
 * token, who may read the inbox anyway, and it ends with the inbox.
 */

/** What a link leads to. */
export interface PreviewLink {
  inboxId: string;
  messageId: string;
  /** Whether the page may load content of other servers. */
  isRemote: boolean;
  /** Epoch milliseconds. */
  endsAt: number;
}

/** Inbox, message, remote content, end and signature. */
const CAPABILITY = /^pv_(inb_[0-9a-z]{26})\.(msg_[0-9a-z]{26})\.([01])\.([0-9a-z]{1,10})\.([\w-]{43})$/;
const END_RADIX = 36;

function sign(text: string, tokenHash: string): string {
  return createHmac('sha256', tokenHash).update(`mayfly preview ${text}`).digest('base64url');
}

/** The last part of the path of a link. @param tokenHash of the read token of its inbox */
export function writeCapability(link: PreviewLink, tokenHash: string): string {
  const { inboxId, messageId, isRemote, endsAt } = link;
  const text = `pv_${inboxId}.${messageId}.${isRemote ? 1 : 0}.${endsAt.toString(END_RADIX)}`;
  return `${text}.${sign(text, tokenHash)}`;
}

/**
 * Reads a link and checks that it was issued here and has not ended.
 * @param findTokenHash finds the hash of the read token of a live inbox
 * @returns undefined for any other link
 */
export async function readCapability(
  capability: string,
  findTokenHash: (inboxId: string) => Promise<string | undefined>,
  now: number,
): Promise<PreviewLink | undefined> {
  const [, inboxId = '', messageId = '', remote, end = '', signature = ''] =
    CAPABILITY.exec(capability) ?? [];
  const endsAt = Number.parseInt(end, END_RADIX);
  if (!(now < endsAt)) return undefined;
  const tokenHash = await findTokenHash(inboxId);
  if (tokenHash === undefined) return undefined;
  const right = sign(capability.slice(0, capability.lastIndexOf('.')), tokenHash);
  if (!timingSafeEqual(Buffer.from(signature), Buffer.from(right))) return undefined;
  return { inboxId, messageId, isRemote: remote === '1', endsAt };
}
