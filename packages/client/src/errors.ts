/** Errors that are thrown without a request. Those of requests and waits are in failures.ts. */
import type { MailLink } from './generated/api.ts';

/**
 * The base of every error of this library. `instanceof` fails between the ES module and the CommonJS copy of a
 * package, so use `MayflyError.is(error)` and `code`.
 */
export class MayflyError extends Error {
  /** For programs: the `code` of the API's problem, or one of this library, such as `wait_timeout`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }

  get isMayflyError(): boolean {
    return true;
  }

  static is(error: unknown): error is MayflyError {
    return (error as MayflyError | null)?.isMayflyError === true;
  }
}

/** None, or more than one, of the links or codes of a message fits. */
export class AmbiguousError extends MayflyError {
  readonly candidates: MailLink[];

  constructor(text: string, candidates: MailLink[]) {
    super('ambiguous', text);
    this.candidates = candidates;
  }
}
