/** Input and output of the tools, as JSON Schema. */
import type { JsonSchemaType } from '@modelcontextprotocol/server';

/** Hosts abort calls after a minute. */
export const MAX_WAIT_SECONDS = 50;
export const DEFAULT_WAIT_SECONDS = 30;
/** Limited, because a model reads everything it receives. */
export const MAX_CHARS = 20_000;
export const DEFAULT_CHARS = 5_000;
export const MAX_LIST = 20;
export const MAX_INBOXES = 50;

/**
 * Descriptions are rare, because models read the schemas in every conversation; most names are clear without
 * one.
 */
const text = (description?: string) => ({ type: 'string', ...(description && { description }) }) as const;
const object = (properties: Record<string, unknown>, required: string[] = []) =>
  ({
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }) as JsonSchemaType;
/** Outputs allow additional properties, so that they can be extended. */
const output = (properties: Record<string, unknown>, required: string[] = []) =>
  ({ type: 'object', properties, ...(required.length > 0 && { required }) }) as JsonSchemaType;

const inboxId = text('The inboxId of create_inbox, or the address of the inbox.');
const waiting = {
  inboxId,
  subject: text('Part of the subject; case is ignored.'),
  from: text('Part of the address or name of the sender.'),
  since: text(
    'A cursor or messageId: only later mail. Default: all mail that no wait has returned yet, also from before the call.',
  ),
  timeoutSeconds: {
    type: 'integer',
    minimum: 0,
    maximum: MAX_WAIT_SECONDS,
    description: `Default: ${DEFAULT_WAIT_SECONDS}.`,
  },
};
const summary = output({
  messageId: text(),
  subject: text(),
  from: text(),
  receivedAt: text(),
  preview: text(),
  codes: { type: 'array', items: { type: 'string' } },
});
const found = {
  found: { type: 'boolean' },
  explanation: text(
    'Why nothing was found: what came instead, what was refused, and similar addresses that got mail.',
  ),
  messageId: text(),
  cursor: text('Pass it as `since` to get later mail only.'),
};

export const SCHEMAS = {
  create_inbox: {
    input: object({
      ttlMinutes: { type: 'integer', minimum: 1, description: 'Lifetime in minutes. Default: 60.' },
      labels: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Names and values, to find and delete it again.',
      },
      localPart: text('The part of the address before the @. Default: a random one.'),
      sms: { type: 'boolean', description: 'Also a telephone number, which takes SMS sent through Twilio.' },
      key: text('A name of your own for this call: repeated with it, it returns the same inbox.'),
    }),
    output: output(
      { inboxId: text(), address: text(), phoneNumber: text(), expiresAt: text(), cursor: text() },
      ['inboxId', 'address'],
    ),
  },
  wait_for_code: {
    input: object(waiting, ['inboxId']),
    output: output({ ...found, code: text('The one-time code.'), context: text('The words around it.') }, [
      'found',
    ]),
  },
  wait_for_link: {
    input: object(
      {
        ...waiting,
        href: text('Part of the target, such as "/verify".'),
        kind: {
          enum: ['verify', 'reset', 'sign-in', 'unsubscribe', 'other'],
          description:
            'Purpose. Without href and kind: the link to verify, reset or sign in, else the first one.',
        },
      },
      ['inboxId'],
    ),
    output: output(
      {
        ...found,
        href: text('The target. It was not opened.'),
        text: text('The words of the link.'),
        linkCount: { type: 'integer', description: 'How many links the mail has.' },
      },
      ['found'],
    ),
  },
  wait_for_email: {
    input: object(
      {
        ...waiting,
        text: text('Part of the visible text.'),
        count: { type: 'integer', minimum: 1, maximum: MAX_LIST, description: 'Default: 1.' },
      },
      ['inboxId'],
    ),
    output: output({ ...found, messages: { type: 'array', items: summary } }, ['found']),
  },
  list_messages: {
    input: object(
      {
        inboxId,
        since: text('A cursor or messageId: only later mail.'),
        limit: { type: 'integer', minimum: 1, maximum: MAX_LIST, description: `Default: ${MAX_LIST}.` },
      },
      ['inboxId'],
    ),
    output: output(
      { messages: { type: 'array', items: summary }, cursor: text(), hasMore: { type: 'boolean' } },
      ['messages'],
    ),
  },
  read_message: {
    input: object(
      {
        inboxId,
        messageId: text('From a wait or list_messages.'),
        part: {
          enum: ['text', 'html', 'headers', 'links'],
          description: 'Default: text; of a mail without text, the words of its HTML.',
        },
        maxChars: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_CHARS,
          description: `Default: ${DEFAULT_CHARS}.`,
        },
        offset: { type: 'integer', minimum: 0, description: 'To continue a part that was truncated.' },
      },
      ['inboxId', 'messageId'],
    ),
    output: output({ content: text(), truncated: { type: 'boolean' }, totalChars: { type: 'integer' } }, [
      'content',
      'truncated',
    ]),
  },
  list_inboxes: {
    input: object({ label: text('name=value: only inboxes with this label.') }),
    output: output({
      inboxes: {
        type: 'array',
        items: output({
          inboxId: text(),
          address: text(),
          expiresAt: text(),
          messageCount: { type: 'integer' },
        }),
      },
      hasMore: {
        type: 'boolean',
        description: `True when there are more than ${MAX_INBOXES}: name a label.`,
      },
    }),
  },
  delete_inbox: {
    input: object({
      inboxId,
      label: text('name=value: all inboxes with this label. Not together with inboxId.'),
    }),
    output: output({ deleted: { type: 'integer' } }, ['deleted']),
  },
} as const;
