import { EXAMPLE_HOOK, PROBLEM_CODES, type Problem } from '@mayfly/client/contract';
import { PROBLEM_TYPE, type ProblemCode, statusOf } from '../response/problems.ts';
import { type DescribedOperation, LABELS, problemExamples } from './problem-examples.ts';
import { WEBHOOKS } from './webhook-event.ts';

// biome-ignore lint/suspicious/noExplicitAny: a JSON document, walked and completed here.
type Json = any;

/** The media types that the body of each operation may have, by operation id. */
export type Accepted = Map<string, readonly string[]>;

/** Codes of a status whose description names none. */
const USUAL_CODES: Record<number, ProblemCode[]> = {
  400: ['invalid_request'],
  401: ['unauthorized'],
  404: ['not_found'],
};

const LABEL_EXAMPLE = { 'label.run': '4711' };

/** OpenAPI cannot describe parameters by a pattern of their names; an exploded object is sent the same way. */
const labelParameter = (required: boolean) => ({
  in: 'query',
  name: LABELS,
  required,
  style: 'form',
  explode: true,
  description: `${required ? 'At least one label' : 'Labels'} that the inboxes must carry, each as a query parameter \`label.NAME=VALUE\`. The names of the fields of this object begin with \`label.\`, and they are the names of the query parameters.`,
  schema: {
    type: 'object',
    propertyNames: { pattern: '^label\\.' },
    additionalProperties: { type: 'string' },
    examples: [LABEL_EXAMPLE],
  },
  ...(required ? { example: LABEL_EXAMPLE } : { 'x-example': LABEL_EXAMPLE }),
});

/** The order of parameters: what a path needs comes first. */
const PLACES = ['path', 'query', 'header'];

/** Operations that take labels in their query, and whether they need one. */
const LABELLED: Record<string, boolean> = { listInboxes: false, deleteInboxes: true, getRunReport: true };

/**
 * Only required parameters keep an `example`: pages that send requests fill fields with it, and optional
 * parameters, filters above all, contradict each other when all are set. The others keep it in their text.
 */
function completeParameters(operation: Json): void {
  for (const parameter of operation.parameters ?? []) {
    const { example, required } = parameter;
    if (required || example === undefined) continue;
    delete parameter.example;
    parameter['x-example'] = example;
    if (typeof example === 'string') parameter.description += ` For example \`${example}\`.`;
  }
  const needsLabel = LABELLED[operation.operationId];
  const labels = needsLabel === undefined ? [] : [labelParameter(needsLabel)];
  const all = [...(operation.parameters ?? []), ...labels];
  if (all.length > 0) operation.parameters = PLACES.flatMap((place) => all.filter((one) => one.in === place));
}

/** `ttlMinutes and labels`, for the choice between examples. */
function nameOf(example: unknown): string {
  if (typeof example !== 'object' || example === null) return 'example';
  const names = Object.keys(example);
  return names.length === 0 ? 'without fields' : names.join(' and ');
}

/** Of a schema without a name the plugin has moved the examples to the content. */
function examplesOf(schema: Json, { example, examples = {} }: Json): unknown[] {
  if (schema.examples) return schema.examples;
  return example === undefined ? Object.values<Json>(examples).map(({ value }) => value) : [example];
}

/** Puts the examples of a body where documentation pages look for them. @returns the fields of a JSON body */
function completeBody(operation: Json, schemas: Json, webhookExample: string): string[] | null {
  if (!operation.requestBody) return null;
  let fields: string[] | null = null;
  for (const [type, content] of Object.entries<Json>(operation.requestBody.content)) {
    const schema = content.schema.$ref ? schemas[content.schema.$ref.split('/').at(-1)] : content.schema;
    const text = JSON.stringify(examplesOf(schema, content)).replaceAll(EXAMPLE_HOOK, webhookExample);
    const examples: unknown[] = JSON.parse(text);
    delete content.example;
    if (examples.length > 0) {
      content.examples = Object.fromEntries(examples.map((value) => [nameOf(value), { value }]));
    }
    if (type !== 'application/json') {
      // Routes declare no type for bodies of bytes: what they validate is a stream.
      schema.type = 'string';
      if (type === 'application/octet-stream') schema.format = 'binary';
      operation.requestBody.required = true;
      continue;
    }
    operation.requestBody.required = schema.required !== undefined;
    fields = Object.keys(schema.properties ?? {});
  }
  return fields;
}

const isCode = (word: string | undefined): word is ProblemCode => PROBLEM_CODES.some((code) => code === word);

/** The codes that a response may carry: those that its description names, and the usual ones of its status. */
function codesOf(status: number, description: string, { fields, parameters }: DescribedOperation) {
  const named = [...description.matchAll(/`([a-z_]+)`/g)].map(([, word]) => word).filter(isCode);
  const usual = [...(USUAL_CODES[status] ?? [])];
  if (status === 400 && fields) usual.push('malformed_json');
  if (status === 400 && [...(fields ?? []), ...(parameters ?? [])].includes('since')) {
    usual.push('invalid_since');
  }
  return [...new Set([...named, ...usual])].filter((code) => statusOf(code) === status);
}

/** The examples of the whole document, each once. */
class ExampleComponents {
  readonly components: Record<string, { summary: string; value: Problem }> = {};
  readonly #names = new Map<string, string>();

  /** The name of the component that holds a problem: `not_found`, `not_found_2`, … */
  nameOf(value: Problem): string {
    const text = JSON.stringify(value);
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    let name: string = value.code;
    for (let number = 2; name in this.components; number++) name = `${value.code}_${number}`;
    this.components[name] = { summary: value.title, value };
    this.#names.set(text, name);
    return name;
  }
}

function addProblemExamples(described: DescribedOperation, responses: Json, all: ExampleComponents): void {
  for (const [status, response] of Object.entries<Json>(responses)) {
    const content = response.content?.[PROBLEM_TYPE];
    if (!content) continue;
    const names = codesOf(Number(status), response.description, described)
      .flatMap((code) => problemExamples(code, described))
      .map((value) => all.nameOf(value));
    content.examples = Object.fromEntries(
      names.map((name) => [name, { $ref: `#/components/examples/${name}` }]),
    );
  }
}

const reference = (name: string) => ({ $ref: `#/components/headers/${name}` });
const LIMIT_NAMES = ['X-Quota-Limit', 'X-Quota-Remaining', 'X-Quota-Reset', 'RateLimit-Policy', 'RateLimit'];

function completeHeaders(operation: Json): void {
  const isPublic = operation.security.length === 0;
  for (const [status, response] of Object.entries<Json>(operation.responses)) {
    const statesLimits = !isPublic && (status === '429' || Number(status) < 400);
    const names = statesLimits ? ['X-Request-Id', ...LIMIT_NAMES] : ['X-Request-Id'];
    const shared = Object.fromEntries(names.map((name) => [name, reference(name)]));
    response.headers = { ...response.headers, ...shared };
  }
}

/**
 * Adds to the generated document what routes do not declare one by one: headers, examples, webhooks.
 * @param webhookExample a URL that the server accepts for webhooks
 */
export function complete(document: Json, accepted: Accepted, webhookExample = EXAMPLE_HOOK): Json {
  document.webhooks = WEBHOOKS;
  const examples = new ExampleComponents();
  for (const [path, methods] of Object.entries<Json>(document.paths)) {
    for (const operation of Object.values<Json>(methods)) {
      completeParameters(operation);
      completeHeaders(operation);
      const fields = completeBody(operation, document.components.schemas, webhookExample);
      const names = (operation.parameters ?? [])
        .filter((parameter: Json) => parameter.in === 'query')
        .map((parameter: Json) => parameter.name);
      const described: DescribedOperation = {
        path,
        writes: operation.responses['403']?.description.includes('scope `read`') ?? false,
        fields,
        parameters: names.length > 0 ? names : null,
        accepts: [...(accepted.get(operation.operationId) ?? [])],
      };
      addProblemExamples(described, operation.responses, examples);
    }
  }
  document.components.examples = examples.components;
  return document;
}
