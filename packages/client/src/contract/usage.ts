import { type Static, Type } from 'typebox';
import { Timestamp } from './common.ts';
import { nullable, ref } from './ref.ts';

const count = (description: string) => Type.Integer({ description, minimum: 0 });
const limit = (description: string) => nullable(Type.Integer({ minimum: 1 }), { description });

/** The limits of the account's plan; null lifts one. */
export const PlanLimits = Type.Object(
  {
    requestsPerMonth: limit('Requests in a calendar month (UTC); null: no limit.'),
    requestsPerSecond: limit('Requests a second that may go on for ever; null: no limit.'),
    burst: limit('Requests that may come at once after a pause; null: no limit.'),
    maxTtlMinutes: Type.Integer({ description: 'Longest lifetime of an inbox, minutes.' }),
    maxLiveInboxes: limit('Live inboxes at once; null: no limit.'),
    maxMessagesPerInbox: Type.Integer({ description: 'Messages that an inbox holds.' }),
    maxMessageBytes: Type.Integer({ description: 'Largest message, bytes.' }),
    maxWebhooks: limit('Webhooks, those of single inboxes included; null: no limit.'),
  },
  { $id: 'PlanLimits', description: 'What a plan allows.' },
);
export type PlanLimits = Static<typeof PlanLimits>;

export const UsageDay = Type.Object(
  {
    day: Type.String({ description: 'A day in UTC.', format: 'date', examples: ['2026-11-21'] }),
    requests: count('Requests that counted.'),
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
        start: Timestamp('The first moment of the month (UTC).'),
        end: Timestamp('The first moment of the next month: then the count begins anew.'),
      },
      { description: 'The calendar month that is counted now.' },
    ),
    used: count(
      'Requests of this month that counted: all but 304, 429 and 5xx. After a crash of the server up to a hundredth of the quota may be counted that was not used.',
    ),
    remaining: nullable(Type.Integer({ minimum: 0 }), { description: 'Requests left; null: no limit.' }),
    thresholds: Type.Array(
      Type.Object({
        percent: Type.Enum([80, 100], { description: 'Share of the month’s quota, per cent.' }),
        reachedAt: nullable(Type.String({ format: 'date-time' }), { description: 'When; null: not yet.' }),
      }),
      { description: 'When 80 and 100 % of the month were reached. Empty without a quota.' },
    ),
    days: Type.Array(ref(UsageDay), {
      description: 'The last 31 days, newest first, days without requests too.',
    }),
  },
  { $id: 'Usage', description: 'What the account has used of its plan.' },
);
export type Usage = Static<typeof Usage>;
