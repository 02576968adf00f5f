import { type Given, isGiven, listOf, objectOf } from '../given.ts';
import type { Call, Route } from '../provider.ts';
import { refuse } from './errors.ts';
import { dataOf, sendBulk, sendEmail } from './send.ts';
import { SUBSCRIPTION } from './sns.ts';
import { contentOf, findTemplate, listTemplates, renderedTemplate, saveTemplate } from './templates.ts';
import { Entries, xml } from './xml.ts';

// Version 1 of the SES API: the query protocol, with form requests and XML responses.

/** Limit of parameters; real requests have some hundred: 50 recipients with a few tags each. */
const MAX_PARAMETERS = 2_000;
const MAX_DEPTH = 10;

interface Branch extends Map<string, Branch | string> {}

/** Converts `Destination.ToAddresses.member.1=…` to `{Destination: {ToAddresses: ['…']}}`. */
function readForm(body: Uint8Array): Given {
  const root: Branch = new Map();
  let count = 0;
  for (const [name, value] of new URLSearchParams(Buffer.from(body).toString())) {
    const path = name.split('.');
    if (++count > MAX_PARAMETERS || path.length > MAX_DEPTH)
      throw refuse('InvalidParameterValue', 'The request has too many parameters.');
    const last = path.pop() ?? '';
    let branch = root;
    for (const part of path) {
      const next = branch.get(part);
      const inner: Branch = next instanceof Map ? next : new Map();
      branch.set(part, inner);
      branch = inner;
    }
    branch.set(last, value);
  }
  const value = readValue(root);
  return isGiven(value) ? value : {};
}

function readValue(branch: Branch | string): unknown {
  if (typeof branch === 'string') return branch;
  const members = branch.get('member');
  if (members instanceof Map)
    return [...members].toSorted(([a], [b]) => Number(a) - Number(b)).map(([, member]) => readValue(member));
  return Object.fromEntries([...branch].map(([name, inner]) => [name, readValue(inner)]));
}

type Action = (call: Call, form: Given) => Promise<Given> | Given;

/** Fields that all sending requests share, with the names of version 2. */
const common = (form: Given): Given => ({
  ...{
    FromEmailAddress: form.Source,
    Destination: form.Destination,
    ReplyToAddresses: form.ReplyToAddresses,
  },
  ...{ FeedbackForwardingEmailAddress: form.ReturnPath, EmailTags: form.Tags },
  ConfigurationSetName: form.ConfigurationSetName,
});

const template = ({ Template, TemplateData }: Given): Given => ({ TemplateName: Template, TemplateData });

/** Bulk statuses that are spelled differently in version 1. */
const STATUSES: Readonly<Record<string, string>> = {
  ...{ SUCCESS: 'Success', MESSAGE_REJECTED: 'MessageRejected', FAILED: 'Failed' },
  ACCOUNT_THROTTLED: 'AccountThrottled',
};

const save =
  (isNew: boolean): Action =>
  async ({ mailroom }, { Template }) => {
    const { TemplateName, SubjectPart: Subject, TextPart: Text, HtmlPart: Html } = objectOf(Template);
    await saveTemplate(mailroom, TemplateName, contentOf({ Subject, Text, Html }), isNew);
    return {};
  };

const verified = (identities: unknown, value: Given): Entries =>
  new Entries(listOf(identities).map((identity): [string, Given] => [String(identity), value]));

const ACTIONS: Readonly<Record<string, Action>> = {
  SendEmail: async (call, form) => {
    const { Subject, Body } = objectOf(form.Message);
    return { MessageId: await sendEmail(call, { ...common(form), Content: { Simple: { Subject, Body } } }) };
  },
  SendRawEmail: async (call, form) => {
    const Destination = { ToAddresses: form.Destinations };
    const request = { ...common(form), Destination, Content: { Raw: objectOf(form.RawMessage) } };
    return { MessageId: await sendEmail(call, request) };
  },
  SendTemplatedEmail: async (call, form) => ({
    MessageId: await sendEmail(call, { ...common(form), Content: { Template: template(form) } }),
  }),
  SendBulkTemplatedEmail: async (call, form) => {
    const { DefaultTemplateData: TemplateData, DefaultTags, Destinations, Template } = form;
    const entries = listOf(Destinations).map(objectOf);
    const results = await sendBulk(call, {
      ...{ ...common(form), DefaultEmailTags: DefaultTags },
      DefaultContent: { Template: { TemplateName: Template, TemplateData } },
      BulkEmailEntries: entries.map(({ Destination, ReplacementTags, ReplacementTemplateData }) => ({
        ...{ Destination, ReplacementTags },
        ReplacementEmailContent: { ReplacementTemplate: { ReplacementTemplateData } },
      })),
    });
    return { Status: results.map((result) => ({ ...result, Status: STATUSES[result.Status] })) };
  },
  CreateTemplate: save(true),
  UpdateTemplate: save(false),
  GetTemplate: async ({ mailroom }, { TemplateName }) => {
    const { subject, text, html } = await findTemplate(mailroom, TemplateName);
    return { Template: { TemplateName, SubjectPart: subject, TextPart: text, HtmlPart: html } };
  },
  ListTemplates: async ({ mailroom }) => ({
    TemplatesMetadata: (await listTemplates(mailroom)).map(({ name, createdAt }) => ({
      ...{ Name: name, CreatedTimestamp: new Date(createdAt).toISOString() },
    })),
  }),
  DeleteTemplate: async ({ mailroom }, { TemplateName }) => {
    await mailroom.keep('template', String(TemplateName), null);
    return {};
  },
  TestRenderTemplate: ({ mailroom }, { TemplateName, TemplateData }) =>
    renderedTemplate(mailroom, TemplateName, dataOf(TemplateData)),
  VerifyEmailIdentity: () => ({}),
  VerifyEmailAddress: () => ({}),
  VerifyDomainIdentity: () => ({ VerificationToken: 'mayfly' }),
  VerifyDomainDkim: () => ({ DkimTokens: ['mayfly'] }),
  DeleteIdentity: () => ({}),
  ListIdentities: () => ({ Identities: [] }),
  GetIdentityVerificationAttributes: (_call, { Identities }) => ({
    VerificationAttributes: verified(Identities, { VerificationStatus: 'Success' }),
  }),
  GetIdentityDkimAttributes: (_call, { Identities }) => ({
    DkimAttributes: verified(Identities, { DkimEnabled: true, DkimVerificationStatus: 'Success' }),
  }),
  // An action of SNS, for applications that confirm the subscription with the AWS SDK.
  ConfirmSubscription: () => ({ SubscriptionArn: SUBSCRIPTION }),
  GetSendQuota: () => ({ Max24HourSend: 50_000, MaxSendRate: 14, SentLast24Hours: 0 }),
  GetSendStatistics: () => ({ SendDataPoints: [] }),
  GetAccountSendingEnabled: () => ({ Enabled: true }),
};

const answer: Route['answer'] = async (call) => {
  const form = readForm(call.body);
  const name = String(form.Action);
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (!action) throw refuse('InvalidAction', `Mayfly does not have the action ${name.slice(0, 100)} of SES.`);
  const result = await action(call, form);
  const ResponseMetadata = { RequestId: call.mailroom.uuid() };
  return xml(`${name}Response`, { [`${name}Result`]: result, ResponseMetadata });
};

export const QUERY_ROUTES: readonly Route[] = [{ method: 'POST', url: '/', answer }];
