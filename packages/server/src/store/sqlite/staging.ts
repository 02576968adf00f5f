import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { unavailable } from '../../database/failures.ts';
import { newId } from '../../ids.ts';
import type { NewMail } from '../contract/index.ts';
import { RAW_PIECE_BYTES } from '../contract/messages.ts';
import { freeInSteps, freeNowOrLater } from '../sql/delete-in-steps.ts';
import type { Engine } from '../sql/engine.ts';
import { envelopeJson } from '../sql/messages/rows.ts';
import type { Sources } from '../sql/messages/sources.ts';
import { isFull } from './errors.ts';
import type { Transactions } from './transactions.ts';

/*
 * The source of a large message is written in steps, each a short transaction, between which those of small
 * messages have their turn. Until its last step it is parked under a name: no message has it, so it cannot be
 * read. The transaction that makes the message removes the name. What still has a name when a server starts
 * was left by a crash; it loses its name then, and the sweeper deletes it like any other parked source.
 */

/** Messages with more bytes are written in steps: more than fit into one batch (store/batcher.ts). */
const STAGED_BYTES = 2 * 1024 * 1024;
/** Bytes of the raw source in one step: about five milliseconds of writing, for which small messages wait. */
const STEP_BYTES = 1024 * 1024;
const PIECES_PER_STEP = STEP_BYTES / RAW_PIECE_BYTES;
/**
 * Steps after which the write-ahead log is copied into the database, between two transactions. Otherwise a
 * commit does that after 16 MB, also one of a small message, and took up to 70 ms for it.
 */
const STEPS_PER_CHECKPOINT = 4;

/** A source that is stored and has no message yet. */
export interface StagedSource {
  seq: number;
  /** The name under which it is parked. */
  stage: string;
}

/** The staged sources of a batch. */
export type Staged = ReadonlyMap<NewMail, StagedSource>;

interface Statements {
  source: StatementSync;
  piece: StatementSync;
  park: StatementSync;
  takeOver: StatementSync;
  giveUp: StatementSync;
}

function prepareStatements(database: DatabaseSync): Statements {
  return {
    source: database.prepare(
      `insert into sources (size, parse_error, summary, envelope, content, raw) values (?, ?, ?, ?, ?, ?)`,
    ),
    piece: database.prepare(`insert into source_pieces (source_seq, piece, bytes) values (?, ?, ?)`),
    park: database.prepare(`insert into parked_sources (source_seq, stage) values (?, ?)`),
    takeOver: database.prepare(`delete from parked_sources where source_seq = ? and stage = ?`),
    giveUp: database.prepare(`update parked_sources set stage = null where source_seq = ? and stage = ?`),
  };
}

/** Gives up what a crash left unfinished. Only for the one server of a database, before it writes. */
export function giveUpUnfinished(database: DatabaseSync): void {
  database.exec('update parked_sources set stage = null where stage is not null');
  database.exec('update inboxes set replay_until = 0, version = version + 1 where replay_until > 0');
}

const pieceOf = (raw: Uint8Array, piece: number): Uint8Array =>
  raw.subarray(piece * RAW_PIECE_BYTES, (piece + 1) * RAW_PIECE_BYTES);

export interface SourceWriterDeps {
  database: DatabaseSync;
  engine: Pick<Engine, 'transaction'>;
  sources: Sources;
  transactions: Pick<Transactions, 'step' | 'betweenSteps'>;
  /** Called with the bytes that a step has written, and with their negative sum at the end. */
  onStaged(bytes: number): void;
}

/** Writes the sources of mails: small ones in the transaction of their message, large ones in steps before it. */
export class SourceWriter {
  readonly #deps: SourceWriterDeps;
  #prepared: Statements | undefined;
  /** Sources that could not be given up yet, because the disk was full or another process held the lock. */
  readonly #left = new Set<StagedSource>();

  constructor(deps: SourceWriterDeps) {
    this.#deps = deps;
  }

  /**
   * Writes the sources of the large mails of a batch, then calls `use`, whose transaction makes messages of
   * them by {@link add}. Sources without a message are deleted afterwards.
   */
  async stage<T>(mails: readonly NewMail[], now: number, use: (staged: Staged) => Promise<T>): Promise<T> {
    const large = mails.filter(({ raw, content }) => raw.length + content.length > STAGED_BYTES);
    if (large.length === 0) return use(new Map());
    const staged = new Map<NewMail, StagedSource>();
    try {
      return await this.#noted(async (note) => {
        for (const mail of large) {
          const stage = newId('msg', now);
          await this.#writeInSteps(mail, stage, note, (seq) => staged.set(mail, { seq, stage }));
        }
        return use(staged);
      });
    } finally {
      await this.#giveUp(staged.values());
    }
  }

  /** `MessageStore.stage`. */
  park(mail: NewMail, stage: string): Promise<number> {
    return this.#noted((note) => this.#writeInSteps(mail, stage, note));
  }

  /** @param work calls its argument with the bytes that it has written */
  async #noted<T>(work: (note: (bytes: number) => void) => Promise<T>): Promise<T> {
    let written = 0;
    try {
      return await work((bytes) => {
        written += bytes;
        this.#deps.onStaged(bytes);
      });
    } finally {
      this.#deps.onStaged(-written);
    }
  }

  /**
   * Writes the source of a mail in the open transaction, or takes over the staged one.
   * @returns its number
   * @throws AppError `unavailable` if the staged one is gone
   */
  add(mail: NewMail, staged: StagedSource | undefined): number {
    if (staged) {
      const { changes } = this.#statements.takeOver.run(staged.seq, staged.stage);
      if (changes !== 1) throw unavailable('in use by another process, which deleted a part of the message');
      return staged.seq;
    }
    const seq = this.#addFirstPiece(mail);
    this.#addPieces(seq, mail.raw, 1, Math.ceil(mail.raw.length / RAW_PIECE_BYTES));
    return seq;
  }

  get #statements(): Statements {
    // The tables are there when the first mail arrives.
    this.#prepared ??= prepareStatements(this.#deps.database);
    return this.#prepared;
  }

  #addFirstPiece(mail: NewMail): number {
    const { raw, summary, content, parseError } = mail;
    const error = parseError === null ? null : JSON.stringify(parseError);
    const { lastInsertRowid } = this.#statements.source.run(
      ...[raw.length, error, summary, envelopeJson(mail), content, pieceOf(raw, 0)],
    );
    return Number(lastInsertRowid);
  }

  #addPieces(seq: number, raw: Uint8Array, from: number, to: number): void {
    for (let piece = from; piece < to; piece++) this.#statements.piece.run(seq, piece, pieceOf(raw, piece));
  }

  /** @param onBegun called with the source as soon as there is something to delete */
  async #writeInSteps(
    mail: NewMail,
    stage: string,
    note: (bytes: number) => void,
    onBegun?: (seq: number) => void,
  ): Promise<number> {
    const { raw, content } = mail;
    const { transactions } = this.#deps;
    const seq = await transactions.step(async () => {
      const added = this.#addFirstPiece(mail);
      this.#statements.park.run(added, stage);
      return added;
    });
    onBegun?.(seq);
    note(content.length + Math.min(raw.length, RAW_PIECE_BYTES));
    const pieces = Math.ceil(raw.length / RAW_PIECE_BYTES);
    for (let from = 1, step = 1; from < pieces; from += PIECES_PER_STEP, step++) {
      const to = Math.min(from + PIECES_PER_STEP, pieces);
      await transactions.step(async () => this.#addPieces(seq, raw, from, to));
      note(Math.min(raw.length, to * RAW_PIECE_BYTES) - from * RAW_PIECE_BYTES);
      if (step % STEPS_PER_CHECKPOINT === 0) await transactions.betweenSteps(() => this.#checkpoint());
    }
    return seq;
  }

  /** Copies the log into the database as far as readers let it. @throws what SQLite throws, but for a full disk */
  #checkpoint(): void {
    try {
      this.#deps.database.exec('pragma wal_checkpoint(passive)');
    } catch (error) {
      // The next transaction makes space, or fails for it.
      if (!isFull(error)) throw error;
    }
  }

  /** Deletes the sources that no message took over; what cannot be deleted now is tried again at the next call. */
  async #giveUp(staged: Iterable<StagedSource>): Promise<void> {
    for (const source of staged) this.#left.add(source);
    for (const source of [...this.#left]) {
      await freeNowOrLater(async () => {
        const { engine, sources } = this.#deps;
        const { changes } = await engine.transaction(async () =>
          this.#statements.giveUp.run(source.seq, source.stage),
        );
        this.#left.delete(source);
        if (changes === 0) return;
        await freeInSteps(engine, (tx, limit) => sources.freeParked(tx, limit, source.seq));
      });
    }
  }
}
