import { type Form, readForm } from '../form.ts';
import { isGiven, json, parseJson, textOf } from '../given.ts';
import { type Call, type Mailroom, Refused, type Reply, type Route } from '../provider.ts';
import { parseTemplate } from '../template-parser.ts';
import { type Helper, orRefused, render } from '../templates.ts';

interface Version {
  id: string;
  tag: string;
  template: string;
  engine: 'handlebars';
  comment: string;
  createdAt: string;
  active: boolean;
  /** Defaults of header fields such as `Subject`. */
  headers: Record<string, unknown>;
}

interface Template {
  id: string;
  name: string;
  description: string;
  createdAt: string;
  createdBy: string;
  versions: Version[];
}

const same: Helper = ([one, other]) => String(one) === String(other);
/** Handlebars helpers that Mailgun adds. */
const HELPERS: Record<string, Helper> = { eq: same, equal: same };

/** Template names are case-insensitive. */
const keyOf = (domain = '', name = ''): string => `${domain}/${name.trim()}`.toLowerCase();

async function found(
  mailroom: Mailroom,
  domain: string | undefined,
  name: string | undefined,
): Promise<Template> {
  const template = await mailroom.kept('template', keyOf(domain, name));
  if (template === undefined) throw new Refused(404, 'template not found');
  return template as Template;
}

/** Renders the active version of a template, or the requested one. @throws Refused 400 for an unknown template */
export async function fillTemplate(
  { mailroom, path: { domain } }: Call,
  name: string,
  tag: string | undefined,
  variables: Record<string, unknown>,
): Promise<{ html?: string; text?: string; subject?: string }> {
  const template = (await mailroom.kept('template', keyOf(domain, name))) as Template | undefined;
  const version = template?.versions.find((one) => (tag ? one.tag === tag : one.active));
  if (!version)
    throw new Refused(
      400,
      `template ${name.slice(0, 100)} not found for ${domain}. Create it with POST /v3/${domain}/templates`,
    );
  const filled = (source: string, isHtml: boolean): string =>
    render(source, variables, { escape: isHtml, helpers: HELPERS, request: mailroom });
  const subject = textOf(version.headers.Subject);
  return orRefused(
    () => ({ html: filled(version.template, true), ...(subject && { subject: filled(subject, false) }) }),
    (message) => new Refused(400, message),
  );
}

const timestamp = ({ mailroom }: Call): string =>
  new Date(mailroom.now()).toUTCString().replace('GMT', 'UTC');

/** @throws Refused 400 for a source that cannot be parsed */
function versionOf(form: Form, call: Call, isFirst: boolean): Version {
  const template = form.text('template') ?? '';
  orRefused(
    () => parseTemplate(template),
    (message) => new Refused(400, message),
  );
  const headers = parseJson(form.text('headers') ?? '{}');
  return {
    ...{
      id: call.mailroom.uuid(),
      tag: (form.text('tag') ?? 'initial').toLowerCase(),
      template,
      engine: 'handlebars',
    },
    ...{
      comment: form.text('comment') ?? '',
      createdAt: timestamp(call),
      headers: isGiven(headers) ? headers : {},
    },
    active: isFirst || /^(?:yes|true)$/i.test(form.text('active') ?? ''),
  };
}

const withoutVersions = ({ versions: _versions, ...template }: Template) => template;

const keep = (call: Call, template: Template): Promise<void> =>
  call.mailroom.keep('template', keyOf(call.path.domain, template.name), template);

async function createTemplate(call: Call): Promise<Reply> {
  const form = await readForm(call);
  const name = form.text('name')?.trim().toLowerCase();
  if (!name) throw new Refused(400, 'Missing mandatory parameter: name');
  if (/[\s/]/.test(name)) throw new Refused(400, 'Invalid parameter: name is invalid');
  const { domain } = call.path;
  if ((await call.mailroom.kept('template', keyOf(domain, name))) !== undefined)
    throw new Refused(400, `template ${name} already exists`);
  const version = form.text('template') === undefined ? undefined : versionOf(form, call, true);
  const template: Template = {
    ...{
      id: call.mailroom.uuid(),
      name,
      description: form.text('description') ?? '',
      createdAt: timestamp(call),
    },
    ...{ createdBy: '', versions: version ? [version] : [] },
  };
  await keep(call, template);
  const shown = { ...withoutVersions(template), ...(version && { version }) };
  return json({ template: shown, message: 'template has been stored' });
}

const templateIn = ({ mailroom, path: { domain, name } }: Call): Promise<Template> =>
  found(mailroom, domain, name);

async function showTemplate(call: Call): Promise<Reply> {
  const template = await templateIn(call);
  const version = call.query.has('active') ? template.versions.find(({ active }) => active) : undefined;
  return json({ template: { ...withoutVersions(template), ...(version && { version }) } });
}

/** Stores a version, replacing one with the same tag. */
async function keepVersion(call: Call, template: Template, version: Version): Promise<void> {
  const others = template.versions.filter(({ tag }) => tag !== version.tag);
  if (version.active) for (const other of others) other.active = false;
  await keep(call, { ...template, versions: [...others, version] });
}

async function createVersion(call: Call): Promise<Reply> {
  const template = await templateIn(call);
  const form = await readForm(call);
  if (!form.text('tag')) throw new Refused(400, 'Missing mandatory parameter: tag');
  const version = versionOf(form, call, template.versions.length === 0);
  await keepVersion(call, template, version);
  return json({
    message: 'new version of the template has been stored',
    template: { ...withoutVersions(template), version },
  });
}

async function foundVersion(call: Call): Promise<[Template, Version]> {
  const template = await templateIn(call);
  const version = template.versions.find(({ tag }) => tag === call.path.tag);
  if (!version) throw new Refused(404, 'template version not found');
  return [template, version];
}

async function updateVersion(call: Call): Promise<Reply> {
  const [template, { tag, active, ...version }] = await foundVersion(call);
  const form = await readForm(call);
  const { template: source, active: isActive } = versionOf(form, call, active);
  const changed = {
    ...version,
    tag,
    active: isActive,
    template: form.text('template') === undefined ? version.template : source,
  };
  await keepVersion(call, template, changed);
  return json({ message: 'version has been updated', template: { name: template.name, version: { tag } } });
}

async function listTemplates({ mailroom, path: { domain = '' } }: Call): Promise<Reply> {
  const kept = await mailroom.keptOf('template');
  const own = kept.filter(({ name }) => name.startsWith(`${domain.toLowerCase()}/`));
  return json({ items: own.map(({ value }) => withoutVersions(value as Template)), paging: {} });
}

async function deleteTemplate(call: Call): Promise<Reply> {
  const { name } = await templateIn(call);
  await call.mailroom.keep('template', keyOf(call.path.domain, name), null);
  return json({ template: { name }, message: 'template has been deleted' });
}

async function deleteVersion(call: Call): Promise<Reply> {
  const [template, { tag }] = await foundVersion(call);
  await keep(call, { ...template, versions: template.versions.filter((one) => one.tag !== tag) });
  return json({ message: 'version has been deleted', template: { name: template.name, version: { tag } } });
}

const ALL = '/v3/:domain/templates';
const ONE = `${ALL}/:name`;

export const TEMPLATE_ROUTES: readonly Route[] = [
  { method: 'POST', url: ALL, answer: createTemplate },
  { method: 'GET', url: ALL, answer: listTemplates },
  { method: 'GET', url: ONE, answer: showTemplate },
  { method: 'DELETE', url: ONE, answer: deleteTemplate },
  { method: 'POST', url: `${ONE}/versions`, answer: createVersion },
  {
    method: 'GET',
    url: `${ONE}/versions`,
    answer: async (call) => json({ template: await templateIn(call), paging: {} }),
  },
  {
    method: 'GET',
    url: `${ONE}/versions/:tag`,
    async answer(call) {
      const [template, version] = await foundVersion(call);
      return json({ template: { ...withoutVersions(template), version } });
    },
  },
  { method: 'PUT', url: `${ONE}/versions/:tag`, answer: updateVersion },
  { method: 'DELETE', url: `${ONE}/versions/:tag`, answer: deleteVersion },
];
