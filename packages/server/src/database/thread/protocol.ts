import { AppError, type ErrorCode, type ErrorDetails } from '../../errors.ts';

export interface Call {
  id: number;
  path: string;
  args: readonly unknown[];
}

export type ToThread = { calls: Call[] } | { close: true };

/** The bytes of mails in the arguments of a call. */
export const bytesIn = (args: readonly unknown[]): Uint8Array[] =>
  args
    .flat()
    .flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []))
    .filter((value) => value instanceof Uint8Array);

/** Resizable buffers are transferred with a call, and the thread frees them after it. */
export function memoryGiven({ args }: Call): ArrayBuffer[] {
  return bytesIn(args)
    .map(({ buffer }) => buffer)
    .filter((buffer): buffer is ArrayBuffer => buffer instanceof ArrayBuffer && buffer.resizable);
}

export type Answer = { id: number; value: unknown } | { id: number; error: SentError };

export type FromThread = { ready: true } | { failed: SentError } | { answers: Answer[] };

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

/** An AppError, or an Error with the stack of the thread that threw it. */
export function receiveError({ code, message, details, stack }: SentError): Error {
  if (code !== undefined) return new AppError(code, message, details);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
