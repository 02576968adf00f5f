import { AppError, type ErrorCode, type ErrorDetails } from '../../errors.ts';
import type { NewMail } from '../contract/index.ts';
import type { MethodPath } from '../method-dispatch.ts';

/** What the writer's thread is opened with. */
export interface WriterOptions {
  path: string;
  busyTimeoutMs: number;
  maxPages: number | undefined;
}

/** A call of a method; `id` comes back with its answer. */
export interface Call {
  id: number;
  path: MethodPath;
  args: unknown[];
}

/** To the thread: the calls of one turn of the event loop, or the wish to finish and close. */
export type ToWriter = { calls: Call[] } | { close: true };

/** The mails of a call that adds some. */
export function mailsOf({ path, args }: Call): NewMail[] {
  return path === 'messages.addBatch' ? (args[0] as NewMail[]) : [];
}

/** The memory of mails that goes with a call; see {@link NewMail.raw}. The thread frees it after the call. */
export function memoryGiven(call: Call): ArrayBuffer[] {
  return mailsOf(call)
    .map(({ raw }) => raw.buffer)
    .filter((buffer): buffer is ArrayBuffer => buffer instanceof ArrayBuffer && buffer.resizable);
}

/** The answer to a call. */
export type Answer = { id: number; value: unknown } | { id: number; error: SentError };

/** From the thread: it is ready, it could not open, or answers to calls. */
export type FromWriter = { ready: true } | { failed: SentError } | { answers: Answer[] };

/** An error in a form that crosses threads. */
export interface SentError {
  /** Set for an AppError. */
  code?: ErrorCode;
  message: string;
  details?: ErrorDetails;
  stack?: string | undefined;
}

export function sendError(error: unknown): SentError {
  if (error instanceof AppError) {
    return { code: error.code, message: error.message, details: error.details };
  }
  if (error instanceof Error) return { message: error.message, stack: error.stack };
  return { message: String(error) };
}

/** The error as its receiver throws it: an AppError again, or an Error with the stack of its origin. */
export function receiveError({ code, message, details, stack }: SentError): Error {
  if (code !== undefined) return new AppError(code, message, details);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
