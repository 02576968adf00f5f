import { type Given, isGiven, json, objectOf, parseJson } from '../given.ts';
import type { Call, Route } from '../provider.ts';
import { refuse } from './errors.ts';
import { dataOf, sendBulk, sendEmail } from './send.ts';
import { contentOf, findTemplate, listTemplates, renderedTemplate, saveTemplate } from './templates.ts';

// Version 2 of the SES API: REST with JSON.

type Answer = (call: Call, body: Given) => Promise<unknown> | unknown;

const route = (method: Route['method'], path: string, answer: Answer): Route => ({
  method,
  url: `/v2/email/${path}`,
  answer: async (call) => {
    const body = call.body.length === 0 ? {} : parseJson(call.body);
    if (!isGiven(body)) throw refuse('InvalidParameterValue', 'The request body must be a JSON object.');
    return json((await answer(call, body)) ?? {});
  },
});

const [DEFAULT_PAGE, MAX_PAGE] = [10, 100];

async function templates({ mailroom, query }: Call) {
  const size = Math.min(Number(query.get('PageSize') ?? DEFAULT_PAGE) || DEFAULT_PAGE, MAX_PAGE);
  const from = Number(query.get('NextToken') ?? 0) || 0;
  const all = await listTemplates(mailroom);
  return {
    TemplatesMetadata: all.slice(from, from + size).map(({ name, createdAt }) => ({
      ...{ TemplateName: name, CreatedTimestamp: createdAt / 1_000 },
    })),
    ...(all.length > from + size && { NextToken: String(from + size) }),
  };
}

const verified = (identity: string) => ({
  ...{ IdentityType: identity.includes('@') ? 'EMAIL_ADDRESS' : 'DOMAIN', VerifiedForSendingStatus: true },
  DkimAttributes: { SigningEnabled: true, Status: 'SUCCESS', Tokens: [] },
});

const ACCOUNT = {
  ...{ SendingEnabled: true, ProductionAccessEnabled: true, EnforcementStatus: 'HEALTHY' },
  SendQuota: { Max24HourSend: 50_000, MaxSendRate: 14, SentLast24Hours: 0 },
};

export const REST_ROUTES: readonly Route[] = [
  route('POST', 'outbound-emails', async (call, body) => ({ MessageId: await sendEmail(call, body) })),
  route('POST', 'outbound-bulk-emails', async (call, body) => ({
    BulkEmailEntryResults: await sendBulk(call, body),
  })),
  route('POST', 'templates', ({ mailroom }, { TemplateName, TemplateContent }) =>
    saveTemplate(mailroom, TemplateName, contentOf(objectOf(TemplateContent)), true),
  ),
  route('GET', 'templates', templates),
  route('GET', 'templates/:name', async ({ mailroom, path }) => {
    const { subject: Subject, text: Text, html: Html } = await findTemplate(mailroom, path.name);
    return { TemplateName: path.name, TemplateContent: { Subject, Text, Html } };
  }),
  route('PUT', 'templates/:name', ({ mailroom, path }, { TemplateContent }) =>
    saveTemplate(mailroom, path.name, contentOf(objectOf(TemplateContent)), false),
  ),
  route('DELETE', 'templates/:name', ({ mailroom, path }) =>
    mailroom.keep('template', path.name ?? '', null),
  ),
  route('POST', 'templates/:name/render', ({ mailroom, path }, { TemplateData }) =>
    renderedTemplate(mailroom, path.name, dataOf(TemplateData)),
  ),
  route('POST', 'identities', (_call, { EmailIdentity }) => verified(String(EmailIdentity))),
  route('GET', 'identities', () => ({ EmailIdentities: [] })),
  route('GET', 'identities/:identity', ({ path }) => verified(path.identity ?? '')),
  route('DELETE', 'identities/:identity', () => ({})),
  route('POST', 'configuration-sets', () => ({})),
  route('GET', 'account', () => ACCOUNT),
];
