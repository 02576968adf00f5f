/** Input and output of the tools, as JSON Schema. */
import type { JsonSchemaType } from '@modelcontextprotocol/server';

/** Hosts end calls after a minute. */
export const MAX_WAIT_SECONDS = 50;
export const DEFAULT_WAIT_SECONDS = 30;
/** A model reads all of what it gets. */
export const MAX_CHARS = 20_000;
export const DEFAULT_CHARS = 5_000;
export const MAX_LIST = 20;

const text = (description: string) => ({ type: 'string', description }) as const;
const object = (properties: Record<string, unknown>, required: string[] = []) =>
  ({ type: 'object', properties, required, additionalProperties: false }) as JsonSchemaType;
/** Outputs may grow. */
const output = (properties: Record<string, unknown>, required: string[] = []) =>
  ({ type: 'object', properties, required }) as JsonSchemaType;

const inboxId = text('Id of the inbox, from create_inbox or list_inboxes.');
const waiting = {
  inboxId,
  subject: text('Part of the subject; case is ignored.'),
  from: text('Part of the address or name of the sender.'),
  since: text(
    'A cursor: only later mail. Default: mail that this tool has not returned yet, also if it came before the call.',
  ),
  timeoutSeconds: {
    type: 'integer',
    minimum: 0,
    maximum: MAX_WAIT_SECONDS,
    description: `Default: ${DEFAULT_WAIT_SECONDS}.`,
  },
};
const summary = output({
  messageId: text(''),
  subject: text(''),
  from: text(''),
  receivedAt: text(''),
  preview: text(''),
  codes: { type: 'array', items: { type: 'string' } },
});
const found = {
  found: { type: 'boolean' },
  explanation: text(
    'Why nothing was found: what came instead, what was refused, and similar addresses that got mail.',
  ),
  messageId: text(''),
  cursor: text('Pass it as `since` to get later mail only.'),
};

export const SCHEMAS = {
  create_inbox: {
    input: object({
      ttlMinutes: { type: 'integer', minimum: 1, description: 'Lifetime. Default: 60.' },
      labels: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'To find and delete it again.',
      },
      localPart: text('The part before the @. Default: a random one.'),
      key: text('The same key returns the same inbox again.'),
    }),
    output: output({ inboxId: text(''), address: text(''), expiresAt: text(''), cursor: text('') }, [
      'inboxId',
      'address',
    ]),
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
        href: text('Part of the target of the link.'),
        kind: {
          enum: ['verify', 'reset', 'sign-in', 'unsubscribe', 'other'],
          description: 'Probable purpose.',
        },
      },
      ['inboxId'],
    ),
    output: output(
      { ...found, href: text('The target. It was not opened.'), text: text('The words of the link.') },
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
        since: text('A cursor: only later mail.'),
        limit: { type: 'integer', minimum: 1, maximum: MAX_LIST },
      },
      ['inboxId'],
    ),
    output: output(
      { messages: { type: 'array', items: summary }, cursor: text(''), hasMore: { type: 'boolean' } },
      ['messages'],
    ),
  },
  read_message: {
    input: object(
      {
        inboxId,
        messageId: text('Id of the message.'),
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
    output: output({ content: text(''), truncated: { type: 'boolean' }, totalChars: { type: 'integer' } }, [
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
          inboxId: text(''),
          address: text(''),
          expiresAt: text(''),
          messageCount: { type: 'integer' },
        }),
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
