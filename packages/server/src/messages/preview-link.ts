import { createHmac, timingSafeEqual } from 'node:crypto';

/*
 * Links are signed, not stored, so that any node can open them. The key is the hash of the inbox's read token: every
 * node can read it, no client knows it, and it ends with the inbox.
 */

export interface PreviewLink {
  inboxId: string;
  messageId: string;
  /** Whether the page may load content from other servers. */
  isRemote: boolean;
  /** Epoch milliseconds. */
  endsAt: number;
  /** The API key that requested it, with which it ends; null for the inbox's read token. */
  keyId: string | null;
}

export interface LinkSources {
  /** Undefined unless the inbox is live. */
  findTokenHash(inboxId: string): Promise<string | undefined>;
  isLiveKey(keyId: string): Promise<boolean>;
}

/** Inbox, message, remote content, end, API key and signature. */
const CAPABILITY =
  /^pv_(inb_[0-9a-z]{26})\.(msg_[0-9a-z]{26})\.([01])\.([0-9a-z]{1,10})\.(key_(?:[0-9a-z]{26}|dev))?\.([\w-]{43})$/;
const END_RADIX = 36;

function sign(text: string, tokenHash: string): string {
  return createHmac('sha256', tokenHash).update(`mayfly preview ${text}`).digest('base64url');
}

/** @param tokenHash of the read token of the inbox */
export function writeCapability(link: PreviewLink, tokenHash: string): string {
  const { inboxId, messageId, isRemote, endsAt, keyId } = link;
  const text = `pv_${inboxId}.${messageId}.${isRemote ? 1 : 0}.${endsAt.toString(END_RADIX)}.${keyId ?? ''}`;
  return `${text}.${sign(text, tokenHash)}`;
}

/** Undefined for a link that was not issued here or has ended. */
export async function readCapability(
  capability: string,
  { findTokenHash, isLiveKey }: LinkSources,
  now: number,
): Promise<PreviewLink | undefined> {
  const [, inboxId = '', messageId = '', remote, end = '', keyId = null, signature = ''] =
    CAPABILITY.exec(capability) ?? [];
  const endsAt = Number.parseInt(end, END_RADIX);
  if (!(now < endsAt)) return undefined;
  const tokenHash = await findTokenHash(inboxId);
  if (tokenHash === undefined) return undefined;
  const right = sign(capability.slice(0, capability.lastIndexOf('.')), tokenHash);
  if (!timingSafeEqual(Buffer.from(signature), Buffer.from(right))) return undefined;
  if (keyId !== null && !(await isLiveKey(keyId))) return undefined;
  return { inboxId, messageId, isRemote: remote === '1', endsAt, keyId };
}
