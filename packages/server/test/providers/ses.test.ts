import * as v1 from '@aws-sdk/client-ses';
import * as v2 from '@aws-sdk/client-sesv2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnSqlite, useServers } from '../support/nodes.ts';
import { TEST_KEY } from '../support/start-app.ts';
import { awsOptions, newInbox } from './sdks.ts';

const SOURCE = 'Shop <shop@acme.example>';
const simple = (subject = 'Hello') => ({
  Subject: { Data: subject },
  Body: { Text: { Data: 'Your code is 482913' }, Html: { Data: '<p>Your code is <b>482913</b></p>' } },
});
const error = async (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    ({ name, message, $metadata }) => `${$metadata?.httpStatusCode} ${name}: ${message}`,
  );

// What it stores is proved on both engines by interface.test.ts.
describeOnSqlite('Amazon SES', (engine) => {
  const app = useServers(engine).first();
  let ses: v1.SESClient;
  let sesv2: v2.SESv2Client;
  beforeAll(() => {
    ses = new v1.SESClient(awsOptions(app.url, TEST_KEY));
    sesv2 = new v2.SESv2Client(awsOptions(app.url, TEST_KEY));
  });
  afterAll(() => {
    ses.destroy();
    sesv2.destroy();
  });

  describe('@aws-sdk/client-ses, unchanged but for its endpoint', () => {
    it('sends a raw mail to the destinations, or to those of its header, as SES rewrites it', async () => {
      const [to, bcc] = [await newInbox(app), await newInbox(app)];
      const Data = Buffer.from(
        `From: Shop <shop@acme.example>\nTo: "a, b" <${to.address}>\nBcc: ${bcc.address}\nSubject: Raw\nMessage-ID: <own@x>\nX-SES-CONFIGURATION-SET: set\nX-Kept:\n folded\n\nBody\n.\nend\n`,
      );
      const { MessageId } = await ses.send(new v1.SendRawEmailCommand({ RawMessage: { Data } }));
      const raw = await to.raw();
      expect(raw).toContain(`Message-ID: <${MessageId}@email.amazonses.com>\r\n`);
      expect(raw).toContain('X-Kept:\r\n folded\r\n');
      expect(raw).toMatch(/\r\n\r\nBody\r\n\.\r\nend\r\n$/);
      expect(raw).not.toMatch(/^(?:Bcc|X-SES|.*own@x)/im);
      await bcc.only();
      const other = await newInbox(app);
      const how = { Destinations: [other.address], Source: 'bounces@acme.example' };
      await ses.send(new v1.SendRawEmailCommand({ ...how, RawMessage: { Data } }));
      expect((await other.only()).envelope.mailFrom).toBe('bounces@acme.example');
      expect(await to.messages()).toHaveLength(1);
    });

    it('keeps templates, renders them, and sends them one by one and in bulk', async () => {
      const [one, two] = [await newInbox(app), await newInbox(app)];
      const Template = {
        TemplateName: 'v1-greeting',
        SubjectPart: 'Hi {{name}}',
        TextPart: 'Dear {{name}}{{#if vip}}, our best{{/if}}',
        HtmlPart: '<p>{{name}}</p>',
      };
      await ses.send(new v1.CreateTemplateCommand({ Template }));
      const again = ses.send(new v1.CreateTemplateCommand({ Template }));
      expect(await error(again)).toMatch(/^400 AlreadyExistsException: /);
      const got = await ses.send(new v1.GetTemplateCommand({ TemplateName: 'v1-greeting' }));
      expect(got).toMatchObject({ Template });
      const listed = await ses.send(new v1.ListTemplatesCommand({}));
      const metadata = { Name: 'v1-greeting', CreatedTimestamp: expect.any(Date) };
      expect(listed.TemplatesMetadata).toMatchObject([metadata]);
      const templated = (TemplateData: string) => {
        const mail = { Source: SOURCE, Destination: { ToAddresses: [one.address] }, Template: 'v1-greeting' };
        return ses.send(new v1.SendTemplatedEmailCommand({ ...mail, TemplateData }));
      };
      await templated('{"name":"Ada <3","vip":true}');
      expect(await one.only()).toMatchObject({ subject: 'Hi Ada <3', text: 'Dear Ada <3, our best' });
      expect(await error(templated('{}'))).toMatch(/^400 MissingRenderingAttributeException: .*'name'/);
      expect(await error(templated('{'))).toMatch(/^400 InvalidRenderingParameterException: /);
      const bulk = await ses.send(
        new v1.SendBulkTemplatedEmailCommand({
          ...{ Source: SOURCE, Template: 'v1-greeting', DefaultTemplateData: '{"name":"friend"}' },
          Destinations: [
            { Destination: { ToAddresses: [two.address] }, ReplacementTemplateData: '{"name":"Bob"}' },
            { Destination: { ToAddresses: ['nobody@unknown.example'] } },
            { Destination: { ToAddresses: [two.address] } },
          ],
        }),
      );
      expect(bulk.Status).toMatchObject([
        { Status: 'Success', MessageId: expect.any(String) },
        { Status: 'MessageRejected', Error: expect.any(String) },
        { Status: 'Success' },
      ]);
      const subjects = (await two.messages()).map(({ subject }) => subject);
      expect(subjects.toSorted()).toEqual(['Hi Bob', 'Hi friend']);
      const changed = { ...Template, SubjectPart: 'Bye {{name}}' };
      await ses.send(new v1.UpdateTemplateCommand({ Template: changed }));
      const call = { TemplateName: 'v1-greeting', TemplateData: '{"name":"Eve"}' };
      const rendered = await ses.send(new v1.TestRenderTemplateCommand(call));
      expect(rendered.RenderedTemplate).toContain('Subject: Bye Eve');
      await ses.send(new v1.DeleteTemplateCommand({ TemplateName: 'v1-greeting' }));
      expect(await error(templated('{}'))).toMatch(/^400 TemplateDoesNotExistException: /);
    });

    it('answers questions about identities and quotas as a verified account', async () => {
      const Identities = ['acme.example', 'a&b@acme.example'];
      const command = new v1.GetIdentityVerificationAttributesCommand({ Identities });
      const { VerificationAttributes } = await ses.send(command);
      const verified = { VerificationStatus: 'Success' };
      expect(VerificationAttributes).toEqual({ 'acme.example': verified, 'a&b@acme.example': verified });
      expect(await ses.send(new v1.GetSendQuotaCommand({}))).toMatchObject({ MaxSendRate: 14 });
      expect(await ses.send(new v1.GetAccountSendingEnabledCommand({}))).toMatchObject({ Enabled: true });
      await ses.send(new v1.VerifyEmailIdentityCommand({ EmailAddress: 'a@acme.example' }));
      const unknown = ses.send(new v1.ListReceiptFiltersCommand({}));
      expect(await error(unknown)).toMatch(/^400 InvalidAction: .*ListReceiptFilters/);
    });

    it('answers bad mail with the errors of SES', async () => {
      const { address } = await newInbox(app);
      const send = (Source: string, ToAddresses: string[]) =>
        error(ses.send(new v1.SendEmailCommand({ Source, Destination: { ToAddresses }, Message: simple() })));
      expect(await send(SOURCE, ['nobody@unknown.example'])).toMatch(/^400 MessageRejected: /);
      for (const to of [[], ['ada'], ['a@b\r\nBcc: c@d'], Array(51).fill(address)])
        expect(await send(SOURCE, to), String(to)).toMatch(/^400 InvalidParameterValue: /);
      expect(await send('Shop', [address])).toMatch(/^400 InvalidParameterValue: /);
      const raw = ses.send(new v1.SendRawEmailCommand({ RawMessage: { Data: Buffer.from('x') } }));
      expect(await error(raw)).toMatch(/^400 InvalidParameterValue: Missing required header 'From'\.$/);
    });
  });

  describe('@aws-sdk/client-sesv2, unchanged but for its endpoint', () => {
    const send = (request: Partial<v2.SendEmailCommandInput>, client = sesv2) =>
      client.send(new v2.SendEmailCommand({ FromEmailAddress: SOURCE, Content: {}, ...request }));
    const toOnly = (address: string) => ({ Destination: { ToAddresses: [address] } });

    it('sends raw mails', async () => {
      const inbox = await newInbox(app);
      const Data = Buffer.from(`From: a@acme.example\r\nSubject: raw\r\n\r\nHi\r\n`);
      await send({ ...toOnly(inbox.address), FromEmailAddress: undefined, Content: { Raw: { Data } } });
      expect(await inbox.only()).toMatchObject({ subject: 'raw', from: { address: 'a@acme.example' } });
    });

    it.each([
      ['From', 'eve@example.com'],
      ['X-A', 'b\r\nBcc: eve@example.com'],
      ['X A', 'b'],
    ])('refuses the custom header %s', async (Name, Value) => {
      const { address } = await newInbox(app);
      const Content = { Simple: { ...simple(), Headers: [{ Name, Value }] } };
      expect(await error(send({ ...toOnly(address), Content }))).toMatch(/^400 BadRequestException: /);
    });

    it('puts the region of the client into Message-ID, as SES does', async () => {
      const inbox = await newInbox(app);
      const client = new v2.SESv2Client(awsOptions(app.url, TEST_KEY, 'eu-central-1'));
      const { MessageId } = await send({ ...toOnly(inbox.address), Content: { Simple: simple() } }, client);
      expect((await inbox.only()).rfcMessageId).toBe(`<${MessageId}@eu-central-1.amazonses.com>`);
      client.destroy();
    });

    it('keeps templates, and sends them one by one, inline and in bulk', async () => {
      const inbox = await newInbox(app);
      const TemplateContent = { Subject: 'Hi {{name}}', Text: 'Dear {{name}}' };
      const named = { TemplateName: 'v2-greeting', TemplateContent };
      await sesv2.send(new v2.CreateEmailTemplateCommand(named));
      const again = sesv2.send(new v2.CreateEmailTemplateCommand(named));
      expect(await error(again)).toMatch(/^400 AlreadyExistsException: /);
      const got = await sesv2.send(new v2.GetEmailTemplateCommand({ TemplateName: 'v2-greeting' }));
      expect(got).toMatchObject(named);
      const template = (Template: v2.Template) => send({ ...toOnly(inbox.address), Content: { Template } });
      await template({ TemplateName: 'v2-greeting', TemplateData: '{"name":"Ada"}' });
      await template({ TemplateContent, TemplateData: '{"name":"Bob"}' });
      const { BulkEmailEntryResults } = await sesv2.send(
        new v2.SendBulkEmailCommand({
          FromEmailAddress: SOURCE,
          DefaultContent: { Template: { TemplateName: 'v2-greeting', TemplateData: '{"name":"friend"}' } },
          BulkEmailEntries: [
            {
              ...toOnly(inbox.address),
              ReplacementEmailContent: { ReplacementTemplate: { ReplacementTemplateData: '{"name":"Eve"}' } },
            },
            toOnly('nobody@unknown.example'),
          ],
        }),
      );
      expect(BulkEmailEntryResults).toMatchObject([{ Status: 'SUCCESS' }, { Status: 'MESSAGE_REJECTED' }]);
      const subjects = (await inbox.messages()).map(({ subject }) => subject);
      expect(subjects.toSorted()).toEqual(['Hi Ada', 'Hi Bob', 'Hi Eve']);
      const listed = await sesv2.send(new v2.ListEmailTemplatesCommand({}));
      const metadata = { TemplateName: 'v2-greeting', CreatedTimestamp: expect.any(Date) };
      expect(listed.TemplatesMetadata).toContainEqual(metadata);
      await sesv2.send(new v2.DeleteEmailTemplateCommand({ TemplateName: 'v2-greeting' }));
      expect(await error(template({ TemplateName: 'v2-greeting' }))).toMatch(/^404 NotFoundException: /);
    });

    it('answers questions about identities and the account, and errors in the shape of version 2', async () => {
      expect(await sesv2.send(new v2.GetAccountCommand({}))).toMatchObject({ SendingEnabled: true });
      const identity = await sesv2.send(new v2.GetEmailIdentityCommand({ EmailIdentity: 'acme.example' }));
      expect(identity).toMatchObject({ IdentityType: 'DOMAIN', VerifiedForSendingStatus: true });
      const sent = (to: string) => error(send({ ...toOnly(to), Content: { Simple: simple() } }));
      expect(await sent('nobody@unknown.example')).toMatch(/^400 MessageRejected: /);
      expect(await sent('ada')).toMatch(/^400 BadRequestException: /);
    });
  });

  it('answers a request without a signature with MissingAuthenticationToken', async () => {
    const answer = await app.api('POST', '/providers/ses/', { as: null, body: 'Action=SendEmail' });
    const body = expect.stringContaining('<Code>MissingAuthenticationToken</Code>');
    expect(answer).toMatchObject({ status: 403, body });
  });
});
