import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type {
  CreatedInbox,
  CreateInbox,
  ImportedInbox,
  ImportQuery,
  RecordedMessage,
} from '@mayfly/client/contract';
import { MINUTE_MS, SECOND_MS } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { KeyCaller } from '../http/access/credential.ts';
import type { RouteContext } from '../http/context.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { toTime } from '../http/response/time.ts';
import { newId } from '../ids.ts';
import type { CaptureTarget } from '../inbound/smtp-credentials.ts';
import { createInbox, lifetimeOfNew } from '../inboxes/new-inbox.ts';
import type { StagedMails } from '../inboxes/records.ts';
import { withoutSinkLabel } from '../inboxes/sink.ts';
import type { ReplayStep } from './replay.ts';
import type { OpenRecording } from './upload/recording-archive.ts';
import type { UploadedFile } from './upload/uploaded-file.ts';

/** Disk space of an import, whose archive is stored in a file while it is read. */
const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024;
/** Imports and replays each hold a file; more at once are rejected. */
const MAX_OPEN_ARCHIVES = 20;
const RETRY_AFTER_SECONDS = 5;

const tooManyArchives = (): AppError =>
  new AppError(
    'unavailable',
    `${MAX_OPEN_ARCHIVES} recordings are being imported or replayed. Retry in ${RETRY_AFTER_SECONDS} seconds.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );

export interface UploadRequest {
  caller: KeyCaller;
  body: Readable;
  headers: IncomingHttpHeaders;
  query: ImportQuery;
  remoteAddress: string;
}

interface Upload extends Omit<OpenRecording, 'close'> {
  /** Closes and deletes the archive. */
  close(): Promise<void>;
}

/** When a recorded message is delivered, in milliseconds after the first. */
function delayOf({ receivedAt }: RecordedMessage, first: RecordedMessage | undefined, speed: number): number {
  return Math.max(0, Date.parse(receivedAt) - Date.parse(first?.receivedAt ?? receivedAt)) / speed;
}

/**
 * Time of the last message of a replay, in whole milliseconds after the first.
 * @throws AppError `invalid_request` if it is after the end of the inbox
 */
function replayMs(messages: readonly RecordedMessage[], speed: number, ttlMinutes: number): number {
  const lastMs = Math.max(0, ...messages.map((message) => delayOf(message, messages[0], speed)));
  if (lastMs < ttlMinutes * MINUTE_MS) return Math.ceil(lastMs);
  const minutes = Math.floor(lastMs / MINUTE_MS) + 1;
  const enough = Math.floor((lastMs * speed) / (ttlMinutes * MINUTE_MS)) + 1;
  throw invalidField(
    'speed',
    `With "speed" ${speed} the last message of this recording comes after ${Math.round(lastMs / SECOND_MS)} s, but the inbox expires after ${ttlMinutes} min. Choose a "ttlMinutes" of at least ${minutes}, or a "speed" of at least ${enough}.`,
  );
}

export class Imports {
  readonly #context: RouteContext;
  #open = 0;

  constructor(context: RouteContext) {
    this.#context = context;
  }

  /**
   * Creates an inbox from the archive that a request uploads: with all messages in one transaction, or with `speed` by
   * replaying them at their recorded intervals.
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
      const { store, clock, plans, replays } = this.#context.deps;
      const ttlMinutes = lifetimeOfNew(body, plans.named(account.plan), account.plan);
      const recordedMessages = messages.length;
      if (speed === undefined) {
        return { ...(await this.#import(request, body, archive)), recordedMessages, replayEndsAt: null };
      }
      const lastMs = replayMs(messages, speed, ttlMinutes);
      const created = await createInbox(this.#context, request.caller, body, { replayMs: lastMs });
      const target = { inboxId: created.id, accountId: account.id, address: created.address };
      const steps = this.#stepsOf(target, archive, request.remoteAddress, speed);
      isReplayed = true;
      replays.start(steps, async (outcome) => {
        await archive.close();
        await store.inboxes.endReplay(created.id, outcome);
      });
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
      // Imported here, because a start needs none of their libraries.
      const [{ storeUpload }, { openRecording }] = await Promise.all([
        import('./upload/uploaded-file.ts'),
        import('./upload/recording-archive.ts'),
      ]);
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

  /** Stores all messages, then creates the inbox with them: it must never have only a part of them. */
  async #import(request: UploadRequest, body: CreateInbox, archive: Upload): Promise<CreatedInbox> {
    const { caller, remoteAddress } = request;
    const { store, clock, plans, injection, events } = this.#context.deps;
    const { id: accountId, plan } = caller.account;
    const { maxMessageBytes } = plans.named(plan);
    const begunAt = clock.now();
    const stage = newId('msg', begunAt);
    try {
      const mails: StagedMails['mails'] = [];
      for (const message of archive.recording.messages) {
        const { rcptTo, ...envelope } = message.envelope;
        const stream = archive.read(message);
        const place = { accountId, maxMessageBytes, stage };
        const source = await injection
          .stage({ stream, envelope }, place, remoteAddress)
          .finally(() => stream.destroy());
        mails.push({ source, rcptTo });
      }
      const created = await createInbox(this.#context, caller, body, {
        staged: { stage, mails, begunAt },
      });
      events.publish({ accountId, inboxId: created.id });
      events.publishDeliveries();
      return created;
    } catch (error) {
      // If that fails too, the sweeper deletes the messages later.
      await store.messages.unstage(stage).catch(() => undefined);
      throw error;
    }
  }

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
}
