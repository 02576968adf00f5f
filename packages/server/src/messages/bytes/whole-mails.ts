import type { FullJson } from '../../mail/full-json.ts';
import type { ParseRequest, Parsing } from '../../reading/parsing.ts';
import { attachmentsUrl, messageHead, toMessage } from '../json.ts';
import type { FullMessageRecord } from '../records.ts';
import { createTurns } from '../turns.ts';
import { type RawDeps, rawRange } from './raw-source.ts';

/** Mails of up to 50 MiB that are parsed concurrently, at most two of one account. */
const MAX_WHOLE_MAILS = 3;

export type WholeMailParsing = Pick<Parsing, 'fullJson' | 'attachments' | 'preview' | 'lint'>;

export type WholeMails = ReturnType<typeof createWholeMails>;

/**
 * Parses raw sources on workers. An abort rejects with the reason of `signal`.
 * @throws AppError `not_found` if the message is deleted or expires; `unavailable` if the worker was terminated
 */
export function createWholeMails(deps: RawDeps & { parsing: WholeMailParsing }) {
  const inTurn = createTurns(MAX_WHOLE_MAILS);

  /** `use` may transfer the raw source. */
  function withSource<T>(
    message: FullMessageRecord,
    signal: AbortSignal,
    use: (raw: Uint8Array, request: ParseRequest) => Promise<T>,
  ): Promise<T> {
    return inTurn(message.accountId, async () => {
      const raw = await rawRange(deps, message, { start: 0, end: message.size }, signal);
      return use(raw, { flow: [message.accountId, message.inboxId], signal });
    });
  }

  return {
    /** JSON of the full message. @param base of its URLs. @param fields added to it */
    async json(
      message: FullMessageRecord,
      base: string,
      signal: AbortSignal,
      fields: { truncated?: true } = {},
    ): Promise<string | Buffer> {
      if (!message.isPartial) return JSON.stringify({ ...toMessage(message, base), ...fields });
      const about: FullJson = {
        head: JSON.stringify({ ...messageHead(message, base), ...fields }),
        attachmentsUrl: attachmentsUrl(message, base),
      };
      const { buffer, byteOffset, length } = await withSource(message, signal, (raw, request) =>
        deps.parsing.fullJson(raw, about, request),
      );
      return Buffer.from(buffer, byteOffset, length);
    },

    /** Adds the list of attachments if it is not stored. */
    async withAttachments(message: FullMessageRecord, signal: AbortSignal): Promise<FullMessageRecord> {
      if (!message.isPartial || message.index !== null) return message;
      const { attachments, index } = await withSource(message, signal, (raw, request) =>
        deps.parsing.attachments(raw, request),
      );
      const listed = attachments.map((attachment) => ({ ...attachment, parameters: {} }));
      return { ...message, content: { ...message.content, attachments: listed }, index };
    },

    /** @param imagesUrl the URL of an image without the attachment id */
    preview: (message: FullMessageRecord, imagesUrl: string, signal: AbortSignal) =>
      withSource(message, signal, (raw, request) => deps.parsing.preview(raw, imagesUrl, request)),

    /** UTF-8 JSON of a list of findings. */
    lint: (message: FullMessageRecord, signal: AbortSignal) =>
      withSource(message, signal, (raw, request) => deps.parsing.lint(raw, request)),
  };
}
