import { type Given, isGiven, json, parseJson, textOf } from '../given.ts';
import type { Call, Mailroom, Reply, Route } from '../provider.ts';
import { parseTemplate } from '../template-parser.ts';
import { keptTemplates, orRefused, render } from '../templates.ts';
import { wrong } from './errors.ts';

/** The format of `GET /templates/{id}`. */
interface Template {
  TemplateId: number;
  Name: string;
  Alias: string | null;
  Subject: string;
  HtmlBody: string;
  TextBody: string;
  TemplateType: 'Standard' | 'Layout';
  LayoutTemplate: string | null;
  AssociatedServerId: number;
  Active: boolean;
}

const NOT_FOUND = `The 'TemplateId' or 'TemplateAlias' associated with this request is not valid or was not found. Create it with POST /templates.`;
const SOURCES = ['Subject', 'HtmlBody', 'TextBody'] as const;

/** Finds a template by id or alias. @throws NamedRefusal */
async function found(mailroom: Mailroom, idOrAlias: string): Promise<Template> {
  const direct = (await mailroom.kept('template', idOrAlias)) as Template | undefined;
  const template =
    direct ?? (await keptTemplates<Template>(mailroom)).find(({ Alias }) => Alias === idOrAlias);
  if (template) return template;
  throw wrong(1101, NOT_FOUND);
}

/** The request with subject and bodies rendered from its template and layout. */
export async function fillTemplate(given: Given, mailroom: Mailroom): Promise<Given> {
  if (!isGiven(given.TemplateModel)) throw wrong(403, 'TemplateModel must be an object.');
  const { LayoutTemplate, ...template } = await found(
    mailroom,
    String(given.TemplateId ?? given.TemplateAlias),
  );
  const layout = LayoutTemplate ? await found(mailroom, LayoutTemplate) : undefined;
  const filled = (field: (typeof SOURCES)[number]): string =>
    renderField(mailroom, field, template[field], given.TemplateModel, layout?.[field]);
  const [Subject, HtmlBody, TextBody] = SOURCES.map(filled);
  return { ...given, Subject, HtmlBody, TextBody };
}

/** @throws NamedRefusal for a template that cannot be rendered */
function renderField(
  request: Mailroom,
  field: string,
  source: string,
  model: unknown,
  layout?: string,
): string {
  const options = { escape: field === 'HtmlBody', request };
  return orWrong(field, () => {
    const content = render(source, model, options);
    const isInLayout = layout && content && field !== 'Subject';
    return isInLayout ? render(layout, model, { ...options, variables: { content } }) : content;
  });
}

const orWrong = <T>(field: string, work: () => T): T =>
  orRefused(work, (message) => wrong(1106, `${field}: ${message}`));

function bodyOf(call: Call): Given {
  const given = parseJson(call.body);
  if (isGiven(given)) return given;
  throw wrong(402, 'The JSON data you provided is syntactically incorrect.');
}

/** @throws NamedRefusal for a source that cannot be parsed, or an alias of another template */
async function changed(call: Call, template: Template): Promise<Reply> {
  const given = bodyOf(call);
  const made = { ...template };
  for (const field of ['Name', ...SOURCES] as const) made[field] = textOf(given[field]) ?? made[field];
  for (const field of ['Alias', 'LayoutTemplate'] as const)
    made[field] = given[field] === undefined ? made[field] : (textOf(given[field]) ?? null);
  if (given.TemplateType === 'Layout') made.TemplateType = 'Layout';
  if (!made.Name) throw wrong(1104, `The 'Name' of the template is required.`);
  for (const field of SOURCES) orWrong(field, () => parseTemplate(made[field]));
  const others = (await keptTemplates<Template>(call.mailroom)).filter(
    ({ TemplateId }) => TemplateId !== made.TemplateId,
  );
  if (made.Alias !== null && others.some(({ Alias }) => Alias === made.Alias))
    throw wrong(1106, `The alias '${made.Alias}' is already used by another template.`);
  await call.mailroom.keep('template', String(made.TemplateId), made);
  const { TemplateId, Name, Active, Alias, TemplateType, LayoutTemplate } = made;
  return json({ TemplateId, Name, Active, Alias, TemplateType, LayoutTemplate });
}

function createTemplate(call: Call): Promise<Reply> {
  const { TemplateId } = bodyOf(call);
  // A new template gets the number by which the application names it, if it is one.
  const id = Number.isSafeInteger(TemplateId)
    ? Number(TemplateId)
    : Number.parseInt(call.mailroom.uuid().slice(0, 7), 16);
  return changed(call, {
    ...{ TemplateId: id, Name: '', Alias: null, Subject: '', HtmlBody: '', TextBody: '' },
    ...{ TemplateType: 'Standard', LayoutTemplate: null, AssociatedServerId: 1, Active: true },
  });
}

/** Renders the given parts, and reports for each part whether it is valid. */
function validate(call: Call): Reply {
  const given = bodyOf(call);
  const parts = SOURCES.map((field) => {
    try {
      const RenderedContent = renderField(
        call.mailroom,
        field,
        textOf(given[field]) ?? '',
        given.TestRenderModel ?? {},
      );
      return [field, { ContentIsValid: true, ValidationErrors: [], RenderedContent }] as const;
    } catch (error) {
      const Message = error instanceof Error ? error.message : String(error);
      return [
        field,
        { ContentIsValid: false, ValidationErrors: [{ Message }], RenderedContent: '' },
      ] as const;
    }
  });
  const AllContentIsValid = parts.every(([, { ContentIsValid }]) => ContentIsValid);
  return json({ AllContentIsValid, ...Object.fromEntries(parts), SuggestedTemplateModel: {} });
}

const idIn = ({ path: { id = '' } }: Call): string => id;

export const TEMPLATE_ROUTES: readonly Route[] = [
  { method: 'POST', url: '/templates', answer: createTemplate },
  { method: 'POST', url: '/templates/validate', answer: async (call) => validate(call) },
  {
    method: 'GET',
    url: '/templates',
    async answer({ mailroom }) {
      const templates = await keptTemplates<Template>(mailroom);
      return json({ TotalCount: templates.length, Templates: templates });
    },
  },
  {
    method: 'GET',
    url: '/templates/:id',
    answer: async (call) => json(await found(call.mailroom, idIn(call))),
  },
  {
    method: 'PUT',
    url: '/templates/:id',
    answer: async (call) => changed(call, await found(call.mailroom, idIn(call))),
  },
  {
    method: 'DELETE',
    url: '/templates/:id',
    async answer(call) {
      const { TemplateId } = await found(call.mailroom, idIn(call));
      await call.mailroom.keep('template', String(TemplateId), null);
      return json({ ErrorCode: 0, Message: `Template ${TemplateId} removed.` });
    },
  },
];
