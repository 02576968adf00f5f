import { Refused, type Reply } from '../provider.ts';

const WRONG_KEY = 'The provided authorization grant is invalid, expired, or revoked';

/** A rejection that lists the invalid fields, as SendGrid does. */
export class WrongFields extends Refused {
  readonly errors: readonly FieldError[];

  constructor(errors: readonly FieldError[]) {
    super(400, errors.map(({ message }) => message).join(' '));
    this.errors = errors;
  }
}

export interface FieldError {
  message: string;
  field: string | null;
}

export const wrongField = (field: string | null, message: string): WrongFields =>
  new WrongFields([{ field, message }]);

export function refusal(error: Refused): Reply {
  const { status, message } = error;
  const errors = error instanceof WrongFields ? error.errors : [{ message, field: null }];
  const described =
    status === 401
      ? [{ message: WRONG_KEY, field: null, help: message }]
      : errors.map((one) => ({ ...one, help: null }));
  return { status, type: 'application/json', body: JSON.stringify({ errors: described }) };
}
