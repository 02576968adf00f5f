import { afterAll, describe, expect, it } from 'vitest';
import { startApp, TEST_KEY } from '../support/start-app.ts';
import { newInbox, postmarkSdk } from './sdks.ts';

const app = await startApp({ MAYFLY_DOMAINS: 'mayfly.test' });
const postmark = postmarkSdk(app.url, TEST_KEY);
afterAll(() => app.stop());

const FROM = 'The Shop <shop@example.com>';

describe('postmark, unchanged but for requestHost', () => {
  it('sends a batch, of which each mail succeeds or fails alone', async () => {
    const inbox = await newInbox(app);
    const mail = { From: FROM, Subject: 'Hi', TextBody: 'Hi' };
    const answers = await postmark.sendEmailBatch([
      { ...mail, To: inbox.address },
      { ...mail, To: 'not an address' },
      { ...mail, To: 'nobody@mayfly.test' },
    ]);
    expect(answers).toMatchObject([
      { ErrorCode: 0, To: inbox.address },
      { ErrorCode: 300 },
      { ErrorCode: 412 },
    ]);
    await inbox.only();
  });

  it('keeps templates and layouts, and sends with them alone and in a batch', async () => {
    await postmark.createTemplate({
      ...{ Name: 'Layout', Alias: 'layout', TemplateType: 'Layout' as never },
      ...{ HtmlBody: '<main>{{{@content}}}</main>{{year}}', TextBody: '{{{@content}}} --' },
    });
    const { TemplateId } = await postmark.createTemplate({
      ...{ Name: 'Welcome', Alias: 'welcome', Subject: 'Welcome {{name}}', LayoutTemplate: 'layout' },
      HtmlBody:
        '{{name}} {{#each items}}{{.}};{{/each}}{{#company}} {{name}} {{../year}}{{/company}}{{^pro}} free{{/pro}}',
      TextBody: 'Dear {{name}}',
    });
    const TemplateModel = { name: 'A & B', year: 2026, items: ['x', 'y'], company: { name: 'C' } };
    const [one, two] = await Promise.all([newInbox(app), newInbox(app)]);
    await postmark.sendEmailWithTemplate({
      From: FROM,
      To: one.address,
      TemplateAlias: 'welcome',
      TemplateModel,
    });
    const message = await one.only();
    expect(message).toMatchObject({
      subject: 'Welcome A & B',
      text: expect.stringContaining('Dear A & B --'),
    });
    expect(message.html).toContain('<main>A &amp; B x;y; C 2026 free</main>2026');
    const answers = await postmark.sendEmailBatchWithTemplates([
      { From: FROM, To: two.address, TemplateId, TemplateModel },
      { From: FROM, To: two.address, TemplateId: 1, TemplateModel },
    ]);
    expect(answers).toMatchObject([{ ErrorCode: 0 }, { ErrorCode: 1101 }]);
    expect(await postmark.getTemplate('welcome')).toMatchObject({ TemplateId, Subject: 'Welcome {{name}}' });
    await postmark.editTemplate(TemplateId, { Subject: 'Changed' });
    expect(await postmark.getTemplates()).toMatchObject({
      TotalCount: 2,
      Templates: expect.arrayContaining([expect.objectContaining({ Alias: 'welcome', Subject: 'Changed' })]),
    });
    const valid = await postmark.validateTemplate({
      Subject: '{{a}}',
      HtmlBody: '{{#if}',
      TestRenderModel: { a: 1 },
    });
    expect(valid).toMatchObject({
      AllContentIsValid: false,
      ...{ Subject: { ContentIsValid: true, RenderedContent: '1' }, HtmlBody: { ContentIsValid: false } },
    });
    expect(await postmark.deleteTemplate('welcome')).toMatchObject({ ErrorCode: 0 });
    await expect(postmark.getTemplate(TemplateId)).rejects.toMatchObject({ code: 1101, statusCode: 422 });
  });
});
