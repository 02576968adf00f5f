import { Type } from 'typebox';

/** Page sizes of lists: 50 fills a screen, 200 keeps a response below a megabyte. */
export const DEFAULT_LIMIT = 50;
export const MAX_LIMIT = 200;

/** Text without control characters and lone surrogates, which databases cannot store. */
export const PLAIN_TEXT = '^[^\\p{Cc}\\p{Cs}]*$';

/** Rejects unknown fields. */
export const closed = { additionalProperties: false } as const;

export const Timestamp = (description: string) =>
  Type.String({ description, format: 'date-time', examples: ['2026-03-04T05:06:07.890Z'] });

export const InboxId = Type.String({
  description: 'Identifier of an inbox.',
  examples: ['inb_01kk4m2t9vq8z3w6x5y7c1d2e3'],
});

export const MessageId = Type.String({
  description: 'Identifier of a message. Ids of one inbox sort in the order in which the messages arrived.',
  examples: ['msg_01kk4m3a8rq2t5v7w9x1y3z5b7'],
});

export const WaitId = Type.String({
  description: 'Identifier of a wait that failed.',
  examples: ['wai_01kk4m7d8rq2t5v7w9x1y3z5b7'],
});

export const AttachmentId = Type.String({
  description: 'Identifier of an attachment within its message.',
  examples: ['att_1'],
});

/**
 * The unit of an integer, such as `seconds`, for error messages: the keyword `x-unit` of its schema. Every
 * integer of a request has one.
 */
export const unit = (name: string) => ({ 'x-unit': name });

export const Limit = Type.Integer({
  ...unit('entries'),
  description: 'Largest number of entries in the response.',
  minimum: 1,
  maximum: MAX_LIMIT,
  default: DEFAULT_LIMIT,
});

export const HasMore = Type.Boolean({
  description:
    'True if older entries match too: repeat the request with `before` set to the id of the last entry.',
});

/** Longer URLs are cut or rejected by intermediaries (RFC 9110 section 4.1). */
const MAX_URL = 2048;

export const WebhookId = Type.String({
  description: 'Identifier of a webhook.',
  examples: ['whk_01kk4m5c8rq2t5v7w9x1y3z5b7'],
});

/** Used in examples, because a development server accepts it without DNS. */
export const EXAMPLE_HOOK = 'http://127.0.0.1:3000/hooks/mayfly';

export const WebhookUrl = Type.String({
  description:
    'URL to which events are sent by POST: `http` or `https`, without a user name. Its addresses must be public, unless the operator allows their network. Redirects are not followed.',
  maxLength: MAX_URL,
  examples: [EXAMPLE_HOOK],
});

export const WebhookSecret = Type.String({
  description: 'The signing secret (Standard Webhooks). Shown only in this response.',
  examples: ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD0hzBz1cP1Qo='],
});
