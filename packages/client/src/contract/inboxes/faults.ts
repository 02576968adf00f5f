import { type Static, Type } from 'typebox';
import { closed, unit } from '../common.ts';
import { nullable, ref } from '../ref.ts';

/** Rules of one inbox: more than a retry schedule has steps, because `times` repeats a rule. */
export const MAX_FAULT_RULES = 20;
/** Applications of one rule: more attempts than a mail server makes in five days. */
export const MAX_FAULT_TIMES = 1_000;
/** Longer than the longest timeout of a client, ten minutes (RFC 5321 section 4.5.3.2.6). */
export const MAX_FAULT_DELAY_MS = 15 * 60_000;
/** A reply line has at most 512 octets with its code, space and CRLF (RFC 5321 section 4.5.3.1.5). */
export const MAX_FAULT_TEXT = 506;
/** The text of a reply line, without control characters (RFC 5321 section 4.2). */
export const PRINTABLE_ASCII = '^[ -~]*$';
/** The reply text of a rule that sets none. */
export const DEFAULT_FAULT_TEXT = 'A fault rule of this inbox gives this reply';

const At = Type.Enum(['rcpt', 'data', 'end-of-data', 'api'], {
  description:
    'Where the rule applies: over SMTP `rcpt` in place of the reply to RCPT, `data` in place of the 354, `end-of-data` in place of the 250 to the final dot; `api` in place of the response of a provider.',
});

export const FaultReply = Type.Object(
  {
    code: Type.Integer({
      ...unit(''),
      description:
        'Reply code: 400 to 499 tells the sender to try again, 500 to 599 to give up. After 421 the connection is closed.',
      minimum: 400,
      maximum: 599,
      examples: [451],
    }),
    text: Type.Optional(
      Type.String({
        description: `Text after the code, printable ASCII; nothing is added to it, so put an enhanced status code in front where the sender should see one. Default: ${DEFAULT_FAULT_TEXT}.`,
        minLength: 1,
        maxLength: MAX_FAULT_TEXT,
        pattern: PRINTABLE_ASCII,
        examples: ['4.7.1 Greylisted, try again later'],
      }),
    ),
  },
  { ...closed, $id: 'FaultReply', description: 'The reply of a fault rule.' },
);
export type FaultReply = Static<typeof FaultReply>;

export const FaultRule = Type.Object(
  {
    at: At,
    reply: Type.Optional(ref(FaultReply)),
    delayMs: Type.Optional(
      Type.Integer({
        ...unit('milliseconds'),
        description:
          'Wait so long before the reply. Without `reply` and `disconnect` the server then goes on as usual.',
        minimum: 1,
        maximum: MAX_FAULT_DELAY_MS,
        examples: [5000],
      }),
    ),
    disconnect: Type.Optional(
      Type.Boolean({ description: 'Close the connection, after the `reply` if there is one.' }),
    ),
    times: Type.Optional(
      Type.Integer({
        ...unit('times'),
        description: 'How often the rule applies before the next one does. Default: 1.',
        minimum: 1,
        maximum: MAX_FAULT_TIMES,
      }),
    ),
  },
  {
    ...closed,
    $id: 'FaultRule',
    description: 'One fault: at least one of `reply`, `delayMs` and `disconnect: true` is required.',
  },
);
export type FaultRule = Static<typeof FaultRule>;

/** Body of `PUT /v1/inboxes/{id}/faults`. */
export const SetFaults = Type.Object(
  {
    rules: Type.Array(ref(FaultRule), {
      description: 'Applied in this order, each `times` times. None: the inbox has no faults.',
      maxItems: MAX_FAULT_RULES,
    }),
  },
  {
    ...closed,
    $id: 'SetFaults',
    description: 'The fault rules of an inbox. They replace the ones before.',
    examples: [
      { rules: [{ at: 'rcpt', reply: { code: 451, text: '4.7.1 Greylisted, try again later' }, times: 2 }] },
      {
        rules: [
          { at: 'data', delayMs: 2000 },
          { at: 'end-of-data', disconnect: true },
        ],
      },
    ],
  },
);
export type SetFaults = Static<typeof SetFaults>;

/** A complete rule with its remaining number of applications. */
export const FaultState = Type.Object(
  {
    at: At,
    reply: nullable(ref(FaultReply), { description: 'Null where the rule gives no reply.' }),
    delayMs: Type.Integer({ description: 'Milliseconds before the reply; 0 for none.' }),
    disconnect: Type.Boolean({ description: 'Whether the connection is closed.' }),
    times: Type.Integer({ description: 'How often the rule was to apply.' }),
    left: Type.Integer({ description: 'How often it still applies.' }),
  },
  { $id: 'FaultState', description: 'A fault rule and how often it still applies.' },
);
export type FaultState = Static<typeof FaultState>;

export const Faults = Type.Object(
  {
    rules: Type.Array(ref(FaultState), {
      description: 'All rules in their order, also those of which nothing is left.',
    }),
  },
  { $id: 'Faults', description: 'The fault rules of an inbox.' },
);
export type Faults = Static<typeof Faults>;

/** An application of a rule to a mail. */
export const AppliedFault = Type.Object(
  {
    rule: Type.Integer({ description: 'Which rule it was, from 1 on.' }),
    at: At,
    delayMs: Type.Integer({ description: 'Milliseconds for which the reply was delayed; 0 for none.' }),
    disconnect: Type.Boolean({ description: 'Whether the connection was closed.' }),
  },
  { $id: 'AppliedFault', description: 'A fault rule that was applied.' },
);
export type AppliedFault = Static<typeof AppliedFault>;
