import type { api } from '@mayfly/client';
import { Refused } from '../api.ts';
import type { Mailbox } from '../mailbox.ts';
import { readJson } from './send.ts';

// Implements Mailpit's chaos with fault rules. They have no probability and apply at RCPT here, so only
// `Recipient` can be set, to 0 or 100 %.

const off = (ErrorCode: number) => ({ ErrorCode, Probability: 0 });
const OFF = { Sender: off(451), Recipient: off(451), Authentication: off(535) };
type Triggers = typeof OFF;

/** The reply to RCPT, which identifies rules set by this API. */
const REPLY = 'Chaos recipient error';
/** The maximum of `times` in a fault rule. */
const TIMES = 1_000;

const FAULTS = 'GET /v1/inboxes/{id}/faults';
const isChaos = ({ reply }: api.FaultState): boolean => reply?.text === REPLY;
const isLeft = ({ left }: api.FaultState): boolean => left > 0;

/** The settings of the first inbox that has any. */
export async function getChaos(mailbox: Mailbox): Promise<Triggers> {
  for (const id of await mailbox.inboxIds()) {
    const { rules } = await mailbox.api.call(FAULTS, { path: { id } });
    const rule = rules.find((one) => isChaos(one) && isLeft(one));
    if (rule) return { ...OFF, Recipient: { ErrorCode: rule.reply?.code ?? 0, Probability: 100 } };
  }
  return OFF;
}

/**
 * Sets the rules of all existing inboxes, except those with other fault rules. @throws Refused for settings
 * that fault rules cannot express
 */
export async function setChaos(mailbox: Mailbox, body: Buffer): Promise<Triggers> {
  const triggers = readTriggers(readJson(body));
  const { ErrorCode: code, Probability } = triggers.Recipient;
  const rules: api.FaultRule[] =
    Probability > 0 ? [{ at: 'rcpt', reply: { code, text: REPLY }, times: TIMES }] : [];
  for (const id of await mailbox.inboxIds()) {
    const before = (await mailbox.api.call(FAULTS, { path: { id } })).rules.filter(isLeft);
    if (before.every(isChaos) && before.length + rules.length > 0)
      await mailbox.api.call('PUT /v1/inboxes/{id}/faults', { path: { id }, body: { rules } });
  }
  return triggers;
}

function readTriggers(given: object): Triggers {
  const triggers = structuredClone(OFF);
  for (const [name, trigger] of Object.entries(triggers)) {
    const { ErrorCode, Probability } = (given as Partial<Triggers>)[name as keyof Triggers] ?? trigger;
    trigger.ErrorCode = ErrorCode || trigger.ErrorCode;
    trigger.Probability = Probability ?? 0;
    if (!isBetween(trigger.ErrorCode, 400, 599))
      throw new Refused(400, 'error code must be between 400 and 599');
    if (!isBetween(trigger.Probability, 0, 100))
      throw new Refused(400, 'probability must be between 0 and 100');
  }
  const { Sender, Recipient, Authentication } = triggers;
  if (Sender.Probability > 0 || Authentication.Probability > 0)
    throw new Refused(400, 'Mayfly has faults at RCPT, not at MAIL and AUTH: set Recipient.');
  if (Recipient.Probability % 100 !== 0)
    throw new Refused(400, 'The faults of Mayfly are exact: Probability is 0 or 100. See docs/faults.md.');
  return triggers;
}

const isBetween = (value: unknown, least: number, most: number): boolean =>
  Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
