import { type Static, Type } from 'typebox';
import { Timestamp } from '../common.ts';
import { nullable, ref } from '../ref.ts';

const count = (description: string) => Type.Integer({ description, minimum: 0 });
const limit = (description: string) => nullable(Type.Integer({ minimum: 1 }), { description });

/** The limits of the account's plan; null means unlimited. */
export const PlanLimits = Type.Object(
  {
    requestsPerMonth: limit('Requests per calendar month (UTC); null without a limit.'),
    requestsPerSecond: limit('Sustained requests per second; null without a limit.'),
    burst: limit('Requests that may be sent at once after a pause; null without a limit.'),
    maxTtlMinutes: Type.Integer({ description: 'Longest lifetime of an inbox in minutes.' }),
    maxLiveInboxes: limit('Number of live inboxes; null without a limit.'),
    maxMessagesPerInbox: Type.Integer({ description: 'Number of messages that an inbox holds.' }),
    maxMessageBytes: Type.Integer({ description: 'Size of the largest message in bytes.' }),
    maxWebhooks: limit('Number of webhooks, those of single inboxes included; null without a limit.'),
  },
  { $id: 'PlanLimits', description: 'Limits of a plan.' },
);
export type PlanLimits = Static<typeof PlanLimits>;

export const UsageDay = Type.Object(
  {
    day: Type.String({ description: 'A day in UTC.', format: 'date', examples: ['2026-11-21'] }),
    requests: count('Number of counted requests.'),
  },
  { $id: 'UsageDay', description: 'The requests of one day.' },
);
export type UsageDay = Static<typeof UsageDay>;

/** What the account has used of its plan. */
export const Usage = Type.Object(
  {
    plan: Type.String({ description: "The plan's name.", examples: ['developer'] }),
    limits: ref(PlanLimits),
    period: Type.Object(
      {
        start: Timestamp('Beginning of the month (UTC).'),
        end: Timestamp('Beginning of the next month (UTC), when the count starts again.'),
      },
      { description: 'The current calendar month.' },
    ),
    used: count(
      'Counted requests of this month: all but 304, 429 and 5xx. After a crash of the server up to 1 % of the quota may be counted without having been used.',
    ),
    remaining: nullable(Type.Integer({ minimum: 0 }), {
      description: 'Requests left this month; null without a limit.',
    }),
    thresholds: Type.Array(
      Type.Object({
        percent: Type.Integer({ description: 'Share of the monthly quota in percent: 80 or 100.' }),
        reachedAt: nullable(Type.String({ format: 'date-time' }), {
          description: 'When it was reached; null if it was not.',
        }),
      }),
      { description: 'When 80 % and 100 % of the quota were reached. Empty without a quota.' },
    ),
    days: Type.Array(ref(UsageDay), {
      description: 'The last 31 days, newest first, including days without requests.',
    }),
  },
  { $id: 'Usage', description: 'What the account has used of its plan.' },
);
export type Usage = Static<typeof Usage>;
