import { type Given, isGiven, json, parseJson, textOf } from '../given.ts';
import { type Call, type Mailroom, Refused, type Reply, type Route } from '../provider.ts';
import { parseTemplate } from '../template-parser.ts';
import { type Helper, keptTemplates, orRefused, render } from '../templates.ts';
import { wrongField } from './errors.ts';

interface Version {
  id: string;
  template_id: string;
  active: 0 | 1;
  name: string;
  subject: string;
  html_content: string;
  plain_content: string;
  updated_at: string;
}

interface Template {
  id: string;
  name: string;
  generation: string;
  updated_at: string;
  versions: Version[];
}

const number = (value: unknown): number => Number(value);
/** https://www.twilio.com/docs/sendgrid/for-developers/sending-email/using-handlebars */
const HELPERS: Record<string, Helper> = {
  equals: ([one, other]) => String(one) === String(other),
  notEquals: ([one, other]) => String(one) !== String(other),
  greaterThan: ([one, other]) => number(one) > number(other),
  lessThan: ([one, other]) => number(one) < number(other),
  and: (args) => args.every(Boolean),
  or: (args) => args.some(Boolean),
  length: ([value]) => (Array.isArray(value) || typeof value === 'string' ? value.length : 0),
  insert: ([value, otherwise]) => value || /^default=(.*)$/s.exec(String(otherwise ?? ''))?.[1] || '',
  formatDate: ([date, format, offset]) => formatDate(date, String(format), String(offset ?? '')),
};

/** Formats a date with the tokens of Moment.js that SendGrid documents. */
function formatDate(value: unknown, format: string, offset: string): string {
  const time = new Date(typeof value === 'number' ? value : String(value)).getTime();
  if (Number.isNaN(time)) return '';
  const [, sign = '+', hours = '0', minutes = '0'] = /^([+-])(\d\d):?(\d\d)$/.exec(offset) ?? [];
  const shift = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  const at = new Date(time + shift);
  const two = (part: number): string => String(part).padStart(2, '0');
  const named = (options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat('en-US', { ...options, timeZone: 'UTC' }).format(at);
  const hour = at.getUTCHours();
  const tokens: Record<string, () => string | number> = {
    YYYY: () => at.getUTCFullYear(),
    YY: () => two(at.getUTCFullYear() % 100),
    MMMM: () => named({ month: 'long' }),
    MMM: () => named({ month: 'short' }),
    MM: () => two(at.getUTCMonth() + 1),
    M: () => at.getUTCMonth() + 1,
    DD: () => two(at.getUTCDate()),
    D: () => at.getUTCDate(),
    dddd: () => named({ weekday: 'long' }),
    ddd: () => named({ weekday: 'short' }),
    HH: () => two(hour),
    H: () => hour,
    hh: () => two(hour % 12 || 12),
    h: () => hour % 12 || 12,
    mm: () => two(at.getUTCMinutes()),
    m: () => at.getUTCMinutes(),
    ss: () => two(at.getUTCSeconds()),
    s: () => at.getUTCSeconds(),
    A: () => (hour < 12 ? 'AM' : 'PM'),
    ZZ: () => `${sign}${hours.padStart(2, '0')}${minutes.padStart(2, '0')}`,
    Z: () => `${sign}${hours.padStart(2, '0')}:${minutes.padStart(2, '0')}`,
  };
  return format
    .slice(0, 100)
    .replace(/YYYY|YY|M{1,4}|DD?|d{3,4}|HH?|hh?|mm?|ss?|A|ZZ?/g, (token) =>
      String(tokens[token]?.() ?? token),
    );
}

/** @returns undefined for an unknown template or one without an active version */
export async function renderTemplate(
  mailroom: Mailroom,
  id: string,
  data: Given,
): Promise<{ subject: string; html?: string; text?: string } | undefined> {
  const template = (await mailroom.kept('template', id)) as Template | undefined;
  const version = template?.versions.find(({ active }) => active === 1);
  if (!version) return undefined;
  const filled = (source: string, isHtml: boolean): string =>
    render(source, data, { escape: isHtml, helpers: HELPERS, request: mailroom });
  return orRefused(
    () => {
      const subject = filled(version.subject, false).replace(/[\r\n]+/g, ' ');
      const html = filled(version.html_content, true);
      const text = filled(version.plain_content, false);
      return { subject, ...(html && { html }), ...(text && { text }) };
    },
    (message) => wrongField('template_id', message),
  );
}

function bodyOf(call: Call): Given {
  const given = parseJson(call.body);
  if (isGiven(given)) return given;
  throw wrongField(null, 'The body is not a JSON object.');
}

async function found(call: Call): Promise<Template> {
  const template = await call.mailroom.kept('template', call.path.id ?? '');
  if (template === undefined) throw new Refused(404, 'template not found');
  return template as Template;
}

async function keep(call: Call, template: Template): Promise<Template> {
  template.updated_at = timestamp(call);
  await call.mailroom.keep('template', template.id, template);
  return template;
}

const timestamp = ({ mailroom }: Call): string =>
  new Date(mailroom.now()).toISOString().slice(0, 19).replace('T', ' ');

async function createTemplate(call: Call): Promise<Reply> {
  const given = bodyOf(call);
  const name = textOf(given.name);
  if (!name) throw wrongField('name', 'The name is required.');
  const generation = given.generation === 'legacy' ? 'legacy' : 'dynamic';
  const random = call.mailroom.uuid();
  const id = textOf(given.id) ?? (generation === 'dynamic' ? `d-${random.replaceAll('-', '')}` : random);
  return json(await keep(call, { id, name, generation, updated_at: '', versions: [] }), 201);
}

/** Adds a version, which becomes active unless the request says otherwise. */
async function createVersion(call: Call): Promise<Reply> {
  const template = await found(call);
  const given = bodyOf(call);
  if (!textOf(given.name)) throw wrongField('name', 'The name is required.');
  const source = (field: string): string => {
    const text = textOf(given[field]) ?? '';
    orRefused(
      () => parseTemplate(text),
      (message) => wrongField(field, message),
    );
    return text;
  };
  const version: Version = {
    ...{ id: call.mailroom.uuid(), template_id: template.id, updated_at: timestamp(call) },
    ...{ name: source('name'), subject: source('subject') },
    ...{ html_content: source('html_content'), plain_content: source('plain_content') },
    active: given.active === 0 || given.active === false ? 0 : 1,
  };
  if (version.active === 1) for (const other of template.versions) other.active = 0;
  await keep(call, { ...template, versions: [version, ...template.versions] });
  return json(version, 201);
}

/** Routes for templates and their versions, as far as tests need them for setup. */
export const TEMPLATE_ROUTES: readonly Route[] = [
  { method: 'POST', url: '/v3/templates', answer: createTemplate },
  {
    method: 'GET',
    url: '/v3/templates',
    async answer({ mailroom }) {
      const templates = await keptTemplates<Template>(mailroom);
      return json({ result: templates, templates, _metadata: { count: templates.length } });
    },
  },
  { method: 'GET', url: '/v3/templates/:id', answer: async (call) => json(await found(call)) },
  {
    method: 'DELETE',
    url: '/v3/templates/:id',
    async answer(call) {
      await call.mailroom.keep('template', (await found(call)).id, null);
      return { status: 204, type: 'application/json', body: '' };
    },
  },
  { method: 'POST', url: '/v3/templates/:id/versions', answer: createVersion },
];
