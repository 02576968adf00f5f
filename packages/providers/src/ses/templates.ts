import { type Given, textOf } from '../given.ts';
import type { Mailroom } from '../provider.ts';

import { orRefused, render } from '../templates.ts';
import { refuse } from './errors.ts';

export interface Content {
  subject: string;
  text: string | undefined;
  html: string | undefined;
}

interface Template extends Content {
  createdAt: number;
}

export async function findTemplate(mailroom: Mailroom, name: unknown): Promise<Template> {
  const found = typeof name === 'string' ? await mailroom.kept('template', name) : undefined;
  if (!found) throw refuse('TemplateDoesNotExist', `Template ${String(name)} does not exist.`);
  return found as Template;
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Creates or replaces a template. @param isNew true if it must not exist yet, false if it must exist @throws
 * NamedRefusal
 */
export async function saveTemplate(
  mailroom: Mailroom,
  name: unknown,
  content: Content,
  isNew: boolean,
): Promise<void> {
  if (typeof name !== 'string' || !NAME.test(name))
    throw refuse(
      'InvalidTemplate',
      'The template name may have up to 64 letters, digits, underscores and dashes.',
    );
  if (content.text === undefined && content.html === undefined)
    throw refuse('InvalidTemplate', 'The template must have a text or an HTML part.');
  const template = { ...content, createdAt: mailroom.now() };
  if (isNew) {
    if (await mailroom.keepFirst('template', name, template))
      throw refuse('AlreadyExists', `Template ${name} already exists.`);
    return;
  }
  const { createdAt } = await findTemplate(mailroom, name);
  await mailroom.keep('template', name, { ...template, createdAt });
}

/** The names and creation times of all templates. */
export const listTemplates = async (mailroom: Mailroom): Promise<{ name: string; createdAt: number }[]> =>
  (await mailroom.keptOf('template')).map(({ name, value }) => ({
    ...{ name, createdAt: (value as Template).createdAt },
  }));

/**
 * Replaces the attributes of a template. @throws NamedRefusal for an attribute without data: SES accepts such
 * a mail but never sends it
 */
export function fill(mailroom: Mailroom, { subject, text, html }: Content, data: Given): Content {
  // Values are not escaped in HTML, as in SES.
  const filled = (source: string | undefined): string | undefined =>
    source === undefined
      ? undefined
      : render(source, data, { escape: false, strict: true, request: mailroom });
  return orRefused(
    () => ({ subject: filled(subject) ?? '', text: filled(text), html: filled(html) }),
    (message) => {
      const isMissing = /is not present in the rendering data/.test(message);
      return refuse(isMissing ? 'MissingRenderingAttribute' : 'InvalidTemplate', message);
    },
  );
}

/** The response of the operations that render a template for testing. */
export async function renderedTemplate(mailroom: Mailroom, name: unknown, data: Given) {
  const { subject, text, html } = fill(mailroom, await findTemplate(mailroom, name), data);
  return { RenderedTemplate: `Subject: ${subject}\n\n${text ?? ''}\n\n${html ?? ''}` };
}

export const contentOf = ({ Subject, Text, Html }: Given): Content => ({
  ...{ subject: textOf(Subject) ?? '', text: textOf(Text), html: textOf(Html) },
});
