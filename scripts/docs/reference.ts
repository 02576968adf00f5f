/*
 * Writes packages/server/reference/index.html from openapi.json: the reference page that a server shows at /docs. The
 * calls of the clients are those of their tests. `npm run openapi` runs it; a test compares the page.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  accessOf,
  curlOf,
  document,
  errorsOf,
  fieldRows,
  type Operation,
  PYTHON,
  ROOT,
  resolve,
  resultOf,
  rowsOf,
  type Schema,
  TYPESCRIPT,
} from './api.ts';

const PAGE = 'packages/server/reference/index.html';

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** The Markdown that the descriptions of openapi.json use, within one paragraph. */
const inline = (markdown: string) =>
  escaped(markdown)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replaceAll(/\[([^\]]+)\]\((#[^)]+)\)/g, '<a href="$2">$1</a>');
const paragraphs = (markdown: string) =>
  markdown
    .split('\n\n')
    .map((one) => `<p>${inline(one)}</p>`)
    .join('\n');

function table(rows: Array<[string, string, string]>): string {
  if (rows.length === 0) return '';
  const lines = rows.map((row) => `<tr>${row.map((text) => `<td>${inline(text)}</td>`).join('')}</tr>`);
  return `<table>\n<thead><tr><th>field</th><th>type</th><th>meaning</th></tr></thead>\n<tbody>\n${lines.join('\n')}\n</tbody>\n</table>`;
}

interface Language {
  name: string;
  calls: Map<string, string>;
  /** What comes before a call, by the variable that the call begins with. */
  before: Record<string, string[]>;
  /** The call as a statement. */
  statement(call: string): string;
}
const TS = `import { Mayfly } from '@mayfly/client';\n\nconst mayfly = new Mayfly();`;
const TS_INBOX = "const inbox = await mayfly.getInbox('inb_…');";
const PY = 'from mayfly import Mayfly\n\nmayfly = Mayfly()';
const PY_INBOX = 'inbox = mayfly.get_inbox("inb_…")';
const LANGUAGES: Language[] = [
  {
    name: 'TypeScript',
    calls: TYPESCRIPT,
    before: {
      mayfly: [TS],
      inbox: [TS, TS_INBOX],
      mail: [TS, TS_INBOX, "const mail = await inbox.read('msg_…');"],
    },
    statement: (call) =>
      call.endsWith('stream()')
        ? `for await (const message of ${call}) console.log(message.subject);`
        : `await ${call};`,
  },
  {
    name: 'Python',
    calls: PYTHON,
    before: {
      mayfly: [PY],
      inbox: [PY, PY_INBOX],
      mail: [PY, PY_INBOX, 'mail = inbox.read("msg_…")'],
    },
    statement: (call) =>
      call.endsWith('stream()') ? `for message in ${call}:\n    print(message.subject)` : call,
  },
];

/** One block for each language; the page shows one of them. */
function examples(name: string, curl: string): string {
  const others = LANGUAGES.map(({ name: language, calls, before, statement }) => {
    const call = calls.get(name);
    const lines = call && [...(before[call.split('.')[0] ?? ''] ?? []), statement(call)];
    return [language, lines ? lines.join('\n') : `The client has no method for this; use curl.`];
  });
  const all = [['curl', curl], ...others] as Array<[string, string]>;
  const buttons = all.map(
    ([language]) => `<button type="button" data-language="${language}">${language}</button>`,
  );
  const blocks = all.map(
    ([language, code]) =>
      `<pre class="example ${language}" tabindex="0" aria-label="${language}"><code>${escaped(code)}</code></pre>`,
  );
  return `<div class="examples">
<div class="bar" role="group" aria-label="Language of the examples">${buttons.join('')}<button type="button" class="copy">Copy</button></div>
${blocks.join('\n')}
</div>`;
}

/** What the page sends: its user completes the path, and may change the rest. */
function requestOf(method: string, path: string, { requestBody }: Operation): string {
  const [type, body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const first = `${method.toUpperCase()} ${path}`;
  if (!type) return first;
  const value = Object.values(body?.examples ?? {})[0]?.value;
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? {}, null, 2);
  return `${first}\nContent-Type: ${type}\n\n${text}`;
}

const isSendable = ({ requestBody }: Operation) =>
  !Object.keys(requestBody?.content ?? {}).includes('application/zip');

function errorList(operation: Operation): string {
  const items = errorsOf(operation).flatMap(([status, codes]) =>
    codes.map(
      ([code, meaning]) =>
        `<li>${status} <a href="#error-${code}" title="${escaped(meaning)}"><code>${code}</code></a></li>`,
    ),
  );
  return items.length > 0 ? `<ul class="errors" aria-label="Errors">${items.join('')}</ul>` : '';
}

function operationHtml(method: string, path: string, operation: Operation): string {
  const name = `${method.toUpperCase()} ${path}`;
  const [status, body, meaning] = resultOf(operation);
  const request = escaped(requestOf(method, path, operation));
  return `<article id="${operation.operationId}" data-entry>
<div class="text">
<h3><a href="#${operation.operationId}">${escaped(operation.summary)}</a></h3>
<p class="operation"><code><b class="${method}">${method.toUpperCase()}</b> ${escaped(path)}</code> <span>${accessOf(operation)}</span></p>
${paragraphs(operation.description)}
${table(rowsOf(operation))}
<p><strong>Returns</strong> ${status}, ${inline(`${body}: ${meaning}`)}</p>
${errorList(operation)}
</div>
<div class="code">
${examples(name, curlOf(method, path, operation))}
${isSendable(operation) ? `<button type="button" class="try" data-request="${request}">Try it</button>` : ''}
</div>
</article>`;
}

/** Requests that the server sends. */
const eventHtml = (
  name: string,
  operation: Operation,
): string => `<article id="${operation.operationId}" data-entry>
<div class="text">
<h3><a href="#${operation.operationId}">${escaped(operation.summary)}</a></h3>
<p class="operation"><code><b class="post">POST</b> ${escaped(name)}</code> <span>sent to your webhook</span></p>
${paragraphs(operation.description)}
${table(rowsOf(operation))}
</div>
</article>`;

function objectHtml(name: string, schema: Schema): string {
  return `<article id="${name.toLowerCase()}" data-entry>
<div class="text">
<h3><a href="#${name.toLowerCase()}">${name}</a></h3>
${schema.description ? paragraphs(schema.description) : ''}
${table(fieldRows(schema))}
</div>
</article>`;
}

/** All codes that operations name, with the first meaning of each. */
function errorsHtml(operations: Operation[]): string {
  const found = new Map<string, [string, string, string]>();
  for (const operation of operations)
    for (const [status, codes] of errorsOf(operation, []))
      for (const [code, meaning] of codes) if (!found.has(code)) found.set(code, [status, code, meaning]);
  const rows = [...found.values()]
    .toSorted()
    .map(
      ([status, code, meaning]) =>
        `<tr id="error-${code}"><td>${status}</td><td><code>${code}</code></td><td>${inline(meaning)}</td></tr>`,
    );
  return `<article id="errors" data-entry>
<div class="text">
<h3><a href="#errors">All codes</a></h3>
<p>Every operation may answer 401, 429, 500 and 503.</p>
<table>
<thead><tr><th>status</th><th>code</th><th>meaning</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</div>
</article>`;
}

interface Section {
  title: string;
  entries: Array<{ id: string; title: string; html: string }>;
}

const entryOf = ({ tags, operationId: id, summary: title }: Operation, html: string) => ({
  tags,
  id,
  title,
  html,
});

function sections(): Section[] {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      entryOf(operation, operationHtml(method, path, operation)),
    ),
  );
  const events = Object.entries(document.webhooks).flatMap(([name, methods]) =>
    Object.values(methods).map((operation) => entryOf(operation, eventHtml(name, operation))),
  );
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const objects = Object.entries(document.components.schemas as Record<string, Schema>);
  return [
    ...document.tags.map(({ name }) => ({
      title: name,
      entries: [...all, ...events].filter(({ tags }) => tags.includes(name)),
    })),
    { title: 'Errors', entries: [{ id: 'errors', title: 'All codes', html: errorsHtml(operations) }] },
    {
      title: 'Objects',
      entries: objects.map(([name, schema]) => ({
        id: name.toLowerCase(),
        title: name,
        html: objectHtml(name, resolve(schema)),
      })),
    },
  ];
}

/** @returns the text of the page, which loads its files from `docs/static/` */
export function referencePage(): string {
  const all = sections();
  const nav = all.map(
    ({ title, entries }) =>
      `<details${title === 'Objects' ? '' : ' open'}><summary>${title}</summary><ul>\n${entries.map(({ id, title: text }) => `<li><a href="#${id}">${escaped(text)}</a></li>`).join('\n')}\n</ul></details>`,
  );
  const main = all.map(
    ({ title, entries }) =>
      `<section>\n<h2>${title}</h2>\n${entries.map(({ html }) => html).join('\n')}\n</section>`,
  );
  return `<!DOCTYPE html>
<html lang="en" data-shown="curl">
<head>
<meta charset="UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mayfly API</title>
<link rel="icon" type="image/svg+xml" href="docs/static/mayfly.svg">
<link rel="stylesheet" href="docs/static/page.css">
<script src="docs/static/page.js" defer></script>
</head>
<body>
<header>
<a class="name" href="#top"><img src="docs/static/mayfly.svg" alt="" width="28" height="28"> Mayfly API <small>${escaped(document.info.version)}</small></a>
<input type="search" id="search" placeholder="Search ( / )" aria-label="Search operations, fields and errors" autocomplete="off">
<output id="found" for="search"></output>
<label>API key <input type="text" id="key" autocomplete="off" spellcheck="false" placeholder="mfk_…"></label>
</header>
<nav aria-label="Operations">
${nav.join('\n')}
</nav>
<main id="top">
<h1>Mayfly API</h1>
${paragraphs(document.info.description)}
<p>The examples use <code>$API</code>, the URL of this server, and <code>$KEY</code>, an API key: <code>dev</code> for programs on the machine of <code>mayfly dev</code>. The clients need neither there.</p>
<pre id="variables"><code>API=http://127.0.0.1:8025 KEY=dev</code></pre>
${main.join('\n')}
</main>
</body>
</html>
`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(join(ROOT, PAGE), referencePage());
