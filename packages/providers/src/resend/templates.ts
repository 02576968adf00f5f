import { type Given, isGiven, json, listOf, textOf } from '../given.ts';
import type { Call, Mailroom, Reply, Route } from '../provider.ts';
import { countOutput, keptTemplates, orRefused } from '../templates.ts';
import { invalid, missing, notFound } from './errors.ts';
import { bodyOf, page } from './requests.ts';

/** The content of a template; `published` is the version that is sent. */
interface Template extends Content {
  id: string;
  name: string;
  alias: string | null;
  created_at: string;
  updated_at: string;
  published_at: string | null;
  published: Content | null;
}

interface Content {
  subject: string | null;
  html: string;
  text: string | null;
  from: string | null;
  reply_to: string[];
  variables: Variable[];
}

interface Variable {
  key: string;
  type: 'string' | 'number';
  fallback_value: string | number | null;
}

const MAX_VARIABLES = 50;
const VARIABLE = /\{\{\{\s*([A-Za-z0-9_]{1,50})\s*\}\}\}/g;

async function find(mailroom: Mailroom, idOrAlias: string): Promise<Template> {
  const found =
    (await mailroom.kept('template', idOrAlias)) ??
    (await keptTemplates<Template>(mailroom)).find(({ alias }) => alias === idOrAlias);
  if (!found) throw notFound('Template');
  return found as Template;
}

/** The request with missing fields taken from its template. @throws NamedRefusal */
export async function fillTemplate(given: Given, mailroom: Mailroom): Promise<Given> {
  const { template } = given;
  const id = isGiven(template) ? textOf(template.id) : undefined;
  if (!isGiven(template) || !id) throw missing('template.id');
  if (given.html !== undefined || given.text !== undefined)
    throw invalid('The `html` and `text` fields cannot be used with `template`.');
  const { published } = await find(mailroom, id);
  if (!published) throw invalid(`The template \`${id}\` is not published. Publish it before it is sent.`);
  const values = valuesOf(published.variables, isGiven(template.variables) ? template.variables : {});
  const replacement = (_all: string, key: string): string => {
    const value = values.get(key);
    if (value === undefined) throw invalid(`The template variable \`${key}\` has no value.`);
    countOutput(mailroom, value.length);
    return value;
  };
  const fill = (text: string): string => orRefused(() => text.replace(VARIABLE, replacement), invalid);
  const { subject, html, text, from, reply_to } = published;
  return {
    ...(from !== null && { from }),
    ...(reply_to.length > 0 && { reply_to }),
    ...given,
    subject: given.subject ?? (subject === null ? undefined : fill(subject)),
    html: fill(html),
    ...(text !== null && { text: fill(text) }),
  };
}

function valuesOf(variables: readonly Variable[], given: Given): Map<string, string> {
  const values = new Map(Object.entries(given).map(([key, value]) => [key, String(value)]));
  for (const { key, type, fallback_value } of variables) {
    const value = given[key];
    if (value !== undefined && typeof value !== type)
      throw invalid(`The template variable \`${key}\` must be a ${type}.`);
    if (value === undefined && fallback_value !== null) values.set(key, String(fallback_value));
  }
  return values;
}

function contentOf(given: Given, before: Content): Content {
  const text = (field: 'subject' | 'text' | 'from') =>
    given[field] === undefined ? before[field] : (textOf(given[field]) ?? null);
  return {
    ...{ subject: text('subject'), text: text('text'), from: text('from') },
    html: textOf(given.html) ?? before.html,
    reply_to: given.reply_to === undefined ? before.reply_to : listOf(given.reply_to).map(String),
    variables: given.variables === undefined ? before.variables : listOf(given.variables).map(variableOf),
  };
}

function variableOf(value: unknown): Variable {
  const { key, type, fallback_value = null } = isGiven(value) ? value : {};
  const isFallback = fallback_value === null || typeof fallback_value === type;
  if (typeof key !== 'string' || (type !== 'string' && type !== 'number') || !isFallback)
    throw invalid(
      'A variable has a `key`, the `type` string or number, and a `fallback_value` of that type.',
    );
  return { key, type, fallback_value: fallback_value as string | number | null };
}

async function save({ mailroom, body }: Call, before: Template): Promise<Reply> {
  const given = bodyOf(body);
  const content = contentOf(given, before);
  const name = textOf(given.name) ?? before.name;
  if (!name) throw missing('name');
  if (!content.html) throw missing('html');
  if (content.variables.length > MAX_VARIABLES)
    throw invalid(`A template has at most ${MAX_VARIABLES} variables.`);
  const alias = textOf(given.alias) ?? before.alias;
  const now = new Date(mailroom.now()).toISOString();
  const template: Template = { ...before, ...content, name, alias, updated_at: now };
  await mailroom.keep('template', template.id, template);
  return json({ id: template.id, object: 'template' }, before.created_at === now ? 201 : 200);
}

const EMPTY = { subject: null, html: '', text: null, from: null, reply_to: [], variables: [] };

function shown({ published, ...template }: Template) {
  const status = published ? 'published' : 'draft';
  const { subject, html, text, from, reply_to, variables } = template;
  const draft = JSON.stringify({ subject, html, text, from, reply_to, variables });
  const isChanged = published !== null && JSON.stringify(published) !== draft;
  return { object: 'template', ...template, status, has_unpublished_versions: isChanged };
}

export const TEMPLATE_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    url: '/templates',
    answer: (call) => {
      const [id, now] = [call.mailroom.uuid(), new Date(call.mailroom.now()).toISOString()];
      const dates = { created_at: now, updated_at: now, published_at: null, published: null };
      return save(call, { id, name: '', alias: null, ...EMPTY, ...dates });
    },
  },
  {
    method: 'GET',
    url: '/templates',
    answer: async ({ mailroom, query }) => {
      const rows = (await keptTemplates<Template>(mailroom)).map(shown);
      return json(
        page(rows, query, ({ id, name, alias, status, created_at, updated_at, published_at }) => ({
          ...{ id, name, alias, status, created_at, updated_at, published_at },
        })),
      );
    },
  },
  {
    method: 'GET',
    url: '/templates/:id',
    answer: async ({ mailroom, path }) => json(shown(await find(mailroom, path.id ?? ''))),
  },
  {
    method: 'PATCH',
    url: '/templates/:id',
    answer: async (call) => save(call, await find(call.mailroom, call.path.id ?? '')),
  },
  {
    method: 'POST',
    url: '/templates/:id/publish',
    answer: async ({ mailroom, path }) => {
      const template = await find(mailroom, path.id ?? '');
      const { id, subject, html, text, from, reply_to, variables } = template;
      const published = { subject, html, text, from, reply_to, variables };
      const published_at = new Date(mailroom.now()).toISOString();
      await mailroom.keep('template', id, { ...template, published, published_at });
      return json({ id, object: 'template' });
    },
  },
  {
    method: 'DELETE',
    url: '/templates/:id',
    answer: async ({ mailroom, path }) => {
      const { id } = await find(mailroom, path.id ?? '');
      await mailroom.keep('template', id, null);
      return json({ object: 'template', id, deleted: true });
    },
  },
];
