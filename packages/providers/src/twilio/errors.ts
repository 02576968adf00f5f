import { json } from '../given.ts';
import { Refused, type Reply } from '../provider.ts';

/** A rejection with a code of https://www.twilio.com/docs/api/errors. */
export class TwilioError extends Refused {
  readonly code: number;

  constructor(code: number, message: string, status = 400) {
    super(status, message);
    this.code = code;
  }
}

/** Twilio's code for invalid parameters without a code of their own. */
export const INVALID_PARAMETER = 20001;
const AUTHENTICATION_FAILED = 20003;

/** Most of Twilio's general codes are 20000 plus the status: 20404, 20429, 20503. */
const codeOf = (status: number): number =>
  status === 400 ? INVALID_PARAMETER : status === 401 ? AUTHENTICATION_FAILED : 20_000 + status;

/** The reply text of a fault rule may begin with a code: `21610 Attempt to send to unsubscribed recipient`. */
const WITH_CODE = /^(\d{5}) (.+)$/s;

export function refusal(error: Refused): Reply {
  const { status } = error;
  const [, given, text] = WITH_CODE.exec(error.message) ?? [];
  const code = error instanceof TwilioError ? error.code : given ? Number(given) : codeOf(status);
  const more_info = `https://www.twilio.com/docs/errors/${code}`;
  return json({ code, message: text ?? error.message, more_info, status }, status);
}
