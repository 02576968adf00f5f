import { NamedRefusal } from '../given.ts';
import type { Refused } from '../provider.ts';

/** Errors by their code in API version 1: status in version 1, then name and status in version 2. */
const ERRORS = {
  MessageRejected: [400, 'MessageRejected', 400],
  InvalidParameterValue: [400, 'BadRequestException', 400],
  InvalidAction: [400, 'BadRequestException', 400],
  InvalidTemplate: [400, 'BadRequestException', 400],
  InvalidRenderingParameter: [400, 'BadRequestException', 400],
  MissingRenderingAttribute: [400, 'BadRequestException', 400],
  TemplateDoesNotExist: [400, 'NotFoundException', 404],
  AlreadyExists: [400, 'AlreadyExistsException', 400],
  LimitExceeded: [400, 'LimitExceededException', 400],
  Throttling: [400, 'TooManyRequestsException', 429],
  MissingAuthenticationToken: [403, 'MissingAuthenticationTokenException', 403],
  InvalidClientTokenId: [403, 'UnrecognizedClientException', 403],
} as const;

type Code = keyof typeof ERRORS;

export const refuse = (code: Code, message: string): NamedRefusal =>
  new NamedRefusal(ERRORS[code][0], code, message);

/** The SES error code for an error of the mailroom or the server. */
function codeOf({ status }: Refused, hasKey: boolean): Code | undefined {
  if (status === 401) return hasKey ? 'InvalidClientTokenId' : 'MissingAuthenticationToken';
  if (status === 413) return 'InvalidParameterValue';
  if (status === 429) return 'Throttling';
  if (status === 507) return 'LimitExceeded';
  return status < 500 ? 'MessageRejected' : undefined;
}

const INVALID_TOKEN = 'The security token included in the request is invalid.';

/** @returns status, code and text for that API version */
export function known(
  error: Refused,
  version: 1 | 2,
  hasKey: boolean,
): { status: number; code: string; message: string } {
  const code = error instanceof NamedRefusal ? (error.kind as Code) : codeOf(error, hasKey);
  const message = code === 'InvalidClientTokenId' ? INVALID_TOKEN : error.message;
  // The SDKs retry after these errors, as after a failure of SES.
  if (code === undefined)
    return {
      ...{ status: error.status, message },
      code: version === 1 ? 'InternalFailure' : 'InternalServiceErrorException',
    };
  const [status1, name, status2] = ERRORS[code];
  return version === 1 ? { status: status1, code, message } : { status: status2, code: name, message };
}
