import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { ImportedInbox, ImportQuery, RecordedMessage } from '@mayfly/client/contract';
import { withoutSinkLabel } from '../../../accounts/sink.ts';
import { MINUTE_MS, SECOND_MS } from '../../../clock.ts';
import { AppError } from '../../../errors.ts';
import type { ReplayStep } from '../../../inbound/replay.ts';
import type { CaptureTarget } from '../../../inbound/smtp-credentials.ts';
import type { KeyCaller } from '../../access/credential.ts';
import type { RouteContext } from '../../context.ts';
import { invalidField } from '../../request/invalid-fields.ts';
import { type OpenRecording, openRecording } from '../../request/upload/recording-archive.ts';
import { storeUpload, type UploadedFile } from '../../request/upload/uploaded-file.ts';
import { toInbox } from '../../response/inbox-json.ts';
import { toTime } from '../../response/time.ts';
import { createInbox, lifetimeOfNew } from './new-inbox.ts';

/** Archives are stored in a file while they are read; this many bytes of disk an import may take. */
const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024;
/** Imports and replays hold a file each; more at once are refused. */
const MAX_OPEN_ARCHIVES = 20;
const RETRY_AFTER_SECONDS = 5;

const tooManyArchives = (): AppError =>
  new AppError(
    'unavailable',
    `${MAX_OPEN_ARCHIVES} recordings are being imported or replayed. Retry in ${RETRY_AFTER_SECONDS} seconds.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );

/** What a request uploads. */
export interface UploadRequest {
  caller: KeyCaller;
  body: Readable;
  headers: IncomingHttpHeaders;
  query: ImportQuery;
  remoteAddress: string;
}

/** An uploaded archive. */
interface Upload extends Omit<OpenRecording, 'close'> {
  /** Closes and deletes it. */
  close(): Promise<void>;
}

/** When a recorded message is delivered, in milliseconds after the first. */
function delayOf({ receivedAt }: RecordedMessage, first: RecordedMessage | undefined, speed: number): number {
  return Math.max(0, Date.parse(receivedAt) - Date.parse(first?.receivedAt ?? receivedAt)) / speed;
}

/**
 * When the last message of a replay is delivered, in milliseconds after the first.
 * @throws AppError `invalid_request` where that is after the end of its inbox
 */
function replayMs(messages: readonly RecordedMessage[], speed: number, ttlMinutes: number): number {
  const lastMs = Math.max(0, ...messages.map((message) => delayOf(message, messages[0], speed)));
  if (lastMs < ttlMinutes * MINUTE_MS) return lastMs;
  const minutes = Math.floor(lastMs / MINUTE_MS) + 1;
  const enough = Math.floor((lastMs * speed) / (ttlMinutes * MINUTE_MS)) + 1;
  throw invalidField(
    'speed',
    `With "speed" ${speed} the last message of this recording comes after ${Math.round(lastMs / SECOND_MS)} s, but the inbox expires after ${ttlMinutes} min. Choose a "ttlMinutes" of at least ${minutes}, or a "speed" of at least ${enough}.`,
  );
}

/** Creates inboxes from recordings. */
export class Imports {
  readonly #context: RouteContext;
  #open = 0;

  constructor(context: RouteContext) {
    this.#context = context;
  }

  /**
   * Creates an inbox with the messages of the archive that a request uploads: all of them before it resolves, or
   * with `speed` in their rhythm afterwards.
   * @throws AppError `invalid_request` for a replay that would outlive the inbox, `malformed_recording`,
   *   `payload_too_large`, `message_too_large`, and those of a creation
   */
  async create(request: UploadRequest): Promise<ImportedInbox> {
    const archive = await this.#receive(request);
    let isReplayed = false;
    try {
      const { speed, ...place } = request.query;
      const { inbox: recorded, messages } = archive.recording;
      const body = { ...place, labels: withoutSinkLabel(recorded.labels) };
      const { account } = request.caller;
      const { clock, plans, replays } = this.#context.deps;
      const ttlMinutes = lifetimeOfNew(body, plans.named(account.plan), account.plan);
      const lastMs = speed === undefined ? 0 : replayMs(messages, speed, ttlMinutes);
      const created = await createInbox(this.#context, request.caller, body, null);
      const target = {
        inboxId: created.id,
        accountId: account.id,
        address: created.address,
      };
      const recordedMessages = messages.length;
      if (speed === undefined) {
        await this.#restoreAll(target, archive, request.remoteAddress);
        return {
          ...created,
          ...(await this.#shown(request.caller, created.id)),
          recordedMessages,
          replayEndsAt: null,
        };
      }
      const steps = this.#stepsOf(target, archive, request.remoteAddress, speed);
      isReplayed = true;
      replays.start(steps, archive.close);
      return { ...created, recordedMessages, replayEndsAt: toTime(clock.now() + lastMs) };
    } finally {
      if (!isReplayed) await archive.close();
    }
  }

  async #receive({ caller, body, headers }: UploadRequest): Promise<Upload> {
    if (this.#open >= MAX_OPEN_ARCHIVES) throw tooManyArchives();
    this.#open += 1;
    let file: UploadedFile | undefined;
    const close = async () => {
      this.#open -= 1;
      await file?.remove();
    };
    try {
      file = await storeUpload(body, headers, MAX_ARCHIVE_BYTES);
      const { maxMessagesPerInbox } = this.#context.deps.plans.named(caller.account.plan);
      const archive = await openRecording(file.path, maxMessagesPerInbox, this.#context.deps.parsing);
      return {
        ...archive,
        close() {
          archive.close();
          return close();
        },
      };
    } catch (error) {
      await close();
      throw error;
    }
  }

  /** Stores all messages, or deletes the inbox: a part would make a test fail for a reason that it cannot see. */
  async #restoreAll(inbox: CaptureTarget, archive: Upload, remoteAddress: string): Promise<void> {
    try {
      for (const message of archive.recording.messages) {
        await this.#restore(inbox, archive, message, remoteAddress);
      }
    } catch (error) {
      await this.#delete(inbox);
      throw error;
    }
  }

  async #delete({ accountId, inboxId }: CaptureTarget): Promise<void> {
    const { store, clock } = this.#context.deps;
    await store.inboxes.delete(accountId, inboxId, clock.now());
  }

  /** The messages with the time of each. */
  #stepsOf(inbox: CaptureTarget, archive: Upload, remoteAddress: string, speed: number): ReplayStep[] {
    const { messages } = archive.recording;
    return messages.map((message) => ({
      afterMs: delayOf(message, messages[0], speed),
      deliver: () => this.#restore(inbox, archive, message, remoteAddress),
    }));
  }

  async #restore(
    inbox: CaptureTarget,
    archive: Upload,
    message: RecordedMessage,
    remoteAddress: string,
  ): Promise<void> {
    const { rcptTo, ...envelope } = message.envelope;
    const stream = archive.read(message);
    const recipients = rcptTo.length === 0 ? [inbox.address] : rcptTo;
    try {
      const mail = { stream, envelope, rcptTo: recipients };
      await this.#context.deps.injection.restore(inbox, mail, remoteAddress);
    } finally {
      stream.destroy();
    }
  }

  /** The inbox as it is after the import. */
  async #shown({ account }: KeyCaller, inboxId: string) {
    const { store, clock, plans } = this.#context.deps;
    const stored = await store.inboxes.find(account.id, inboxId, clock.now());
    return stored && toInbox(stored, plans.named(account.plan));
  }
}
