import type { MailAddress, MailHeader } from '@mayfly/client/contract';
import { cut, MAX_ID, MAX_MAILBOX_CHARACTERS, MAX_MAILBOXES } from './limits.ts';
import { parseAddressList } from './mime/address-list.ts';
import { oneLine } from './mime/clean.ts';
import { parseDate } from './mime/date.ts';
import { decodeHeaderText } from './mime/encoded-words.ts';
import { FIELD_NAMES, type FieldRange, fieldValue, readHeader } from './mime/header.ts';

/** Limit of the header. Beyond it, known fields are cut to {@link MIN_FIELD_BYTES}, others are dropped. */
const MAX_HEADER_BYTES = 2 * 1024 * 1024;
const MIN_FIELD_BYTES = 64 * 1024;
const MAX_REFERENCES = 1_000;
const HEADER_NOTE = 'The header is larger than 2 MiB; the fields beyond that are cut or not listed.';

export const headersAt = (beginning: Buffer): MailHeader[] =>
  new MessageFields(beginning, readHeader(beginning).fields).headers;

interface Field extends MailHeader {
  key: string;
  /** The unfolded value, one character per byte. */
  written: string;
}

export class MessageFields {
  private isCut = false;
  private readonly cutLists = new Set<string>();
  private readonly fields: Field[] = [];

  constructor(source: Buffer, ranges: readonly FieldRange[]) {
    let left = MAX_HEADER_BYTES;
    for (const range of ranges) {
      const { name, key } = range;
      const size = name.length + range.end - range.valueStart;
      if (size > left) this.isCut = true;
      const kept = Math.max(left, FIELD_NAMES.has(key) ? MIN_FIELD_BYTES : 0);
      left = Math.max(0, left - size);
      if (kept === 0) continue;
      const written = fieldValue(source, range, kept);
      this.fields.push({ name, key, written, value: oneLine(decodeHeaderText(written)) });
    }
  }

  /** One note per exceeded limit. Complete only after {@link addresses} was called for each field. */
  get notes(): string[] {
    const notes = [...this.cutLists].map(
      (key) =>
        `The field "${key}" names more than ${MAX_MAILBOXES} mailboxes, or more than ${MAX_MAILBOX_CHARACTERS} characters of them, or is longer than 64 KiB; the others are not listed.`,
    );
    return this.isCut ? [HEADER_NOTE, ...notes] : notes;
  }

  get headers(): MailHeader[] {
    return this.fields.map(({ name, value }) => ({ name, value }));
  }

  first(key: string): string {
    return this.fields.find((field) => field.key === key)?.value ?? '';
  }

  addresses(key: string): MailAddress[] {
    const mailboxes: MailAddress[] = [];
    let characters = 0;
    for (const field of this.fields) {
      if (field.key !== key) continue;
      for (const mailbox of this.parse(key, field.written)) {
        characters += mailbox.name.length + mailbox.address.length;
        if (mailboxes.length === MAX_MAILBOXES || characters > MAX_MAILBOX_CHARACTERS) {
          this.cutLists.add(key);
          return mailboxes;
        }
        mailboxes.push(mailbox);
      }
    }
    return mailboxes;
  }

  firstAddress(key: string): MailAddress | null {
    const field = this.fields.find((one) => one.key === key);
    return field === undefined ? null : (this.parse(key, field.written)[0] ?? null);
  }

  identification() {
    return {
      date: parseDate(this.first('date')),
      rfcMessageId: cut(this.first('message-id'), MAX_ID) || null,
      inReplyTo: cut(this.first('in-reply-to'), MAX_ID) || null,
      references: messageIds(this.first('references')),
    };
  }

  private parse(key: string, written: string): MailAddress[] {
    const { mailboxes, isCut } = parseAddressList(written);
    if (isCut) this.cutLists.add(key);
    return mailboxes;
  }
}

function messageIds(value: string): string[] {
  const ids = value.match(/<[^<>]*>|[^\s<>]+/g) ?? [];
  return ids.slice(0, MAX_REFERENCES).map((id) => cut(id, MAX_ID));
}
