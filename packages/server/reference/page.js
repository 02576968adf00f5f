/* Search, the language of the examples, and requests from the reference page. The page is readable without it. */

const API = new URL('../../', document.currentScript.src).href.replace(/\/$/, '');
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const search = document.getElementById('search');
const key = document.getElementById('key');

document.querySelector('#variables code').textContent = `API=${API} KEY=dev`;
// The key of `mayfly dev`; other servers and other machines refuse it.
if (/^(?:localhost|127\.|\[::1\])/.test(location.hostname)) key.value = 'dev';

const LANGUAGE = 'mayfly-language';
function show(language) {
  document.documentElement.dataset.shown = language;
  for (const button of all('[data-language]'))
    button.setAttribute('aria-pressed', String(button.dataset.language === language));
}
show(localStorage.getItem(LANGUAGE) ?? 'curl');

/** Every operation, object and list of errors, its words, and its place in the navigation. */
const entries = all('[data-entry]').map((article) => ({
  article,
  words: article.textContent.toLowerCase(),
  link: document.querySelector(`nav a[href="#${article.id}"]`),
}));
function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const { article, words: text, link } of entries) {
    const isFound = words.every((word) => text.includes(word));
    if (isFound) found++;
    article.hidden = !isFound;
    link.parentElement.hidden = !isFound;
  }
  for (const group of all('nav > details')) group.open ||= words.length > 0;
  for (const group of all('main > section, nav > details'))
    group.hidden = !group.querySelector('[data-entry]:not([hidden]), li:not([hidden])');
  document.getElementById('found').value = words.length > 0 ? `${found} of ${entries.length}` : '';
}
search.addEventListener('input', () => {
  find();
  if (search.value) document.querySelector('main > section:not([hidden])')?.scrollIntoView();
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !/^(?:INPUT|TEXTAREA)$/.test(event.target.tagName)) {
    event.preventDefault();
    search.focus();
  }
});
addEventListener('hashchange', () => {
  // A link to something that the search has hidden.
  if (!document.getElementById(location.hash.slice(1))?.closest('[hidden]')) return;
  search.value = '';
  find();
  document.getElementById(location.hash.slice(1)).scrollIntoView();
});

const visible = new Set();
const watcher = new IntersectionObserver(
  (changes) => {
    for (const { target, isIntersecting } of changes) visible[isIntersecting ? 'add' : 'delete'](target);
    const here = entries.find(({ article }) => visible.has(article));
    for (const { link } of entries) link.classList.toggle('here', link === here?.link);
    const nav = document.querySelector('nav');
    const top = (here?.link.offsetTop ?? 0) - nav.offsetTop;
    if (here && (top < nav.scrollTop || top > nav.scrollTop + nav.clientHeight - 40))
      nav.scrollTop = top - nav.clientHeight / 2;
  },
  { rootMargin: '-80px 0px -60% 0px' },
);
for (const { article } of entries) watcher.observe(article);

/** The ids of the last responses by prefix: `{id}` of the next request is one of them. */
const ids = new Map();
const PREFIXES = {
  inboxes: 'inb',
  messages: 'msg',
  webhooks: 'whk',
  keys: 'key',
  deliveries: 'dlv',
  waits: 'wai',
  attachments: 'att',
};
const withIds = (request) =>
  request.replaceAll(/(\w+)\/(\{\w+\})/g, (_, noun, name) => `${noun}/${ids.get(PREFIXES[noun]) ?? name}`);

const MAX_SHOWN = 100_000;
const pretty = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

/** Shows a response as it comes: streams do not end. */
async function read(response, shown, head) {
  const type = response.headers.get('content-type') ?? '';
  if (!/^(?:text|message)\/|json/.test(type)) {
    shown.textContent = `${head}\n\n${(await response.arrayBuffer()).byteLength} bytes of ${type || 'nothing'}`;
    return;
  }
  let text = '';
  const decoder = new TextDecoder();
  for (const reader = response.body.getReader(); text.length < MAX_SHOWN; ) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    shown.textContent = `${head}\n\n${pretty(text)}`;
  }
  for (const [id, prefix] of text.matchAll(/\b([a-z]{3})_[A-Za-z0-9]{8,}/g)) ids.set(prefix, id);
}

async function send(text, shown, signal) {
  const [top, ...rest] = text.trim().split(/\r?\n\r?\n/);
  const [first, ...fields] = top.split(/\r?\n/);
  const [, method, path] = /^([A-Z]+)\s+(\/\S*)$/.exec(first) ?? [];
  if (!path || /[{}]/.test(path)) {
    shown.textContent = path ? `Complete the path: ${path}` : 'The first line is a method and a path.';
    return;
  }
  const headers = new Headers(fields.map((field) => field.split(/:\s*(.*)/).slice(0, 2)));
  if (key.value) headers.set('authorization', `Bearer ${key.value}`);
  const started = performance.now();
  const body = rest.length > 0 ? rest.join('\n\n') : undefined;
  const response = await fetch(API + path, { method, headers, body, signal });
  const head = `${response.status} ${response.statusText} after ${Math.round(performance.now() - started)} ms`;
  shown.textContent = head;
  await read(response, shown, head);
}

/** Replaces the button by a form with the request. */
function offer(button) {
  const form = document.createElement('form');
  const text = document.createElement('textarea');
  text.value = withIds(button.dataset.request);
  text.rows = text.value.split('\n').length + 1;
  text.className = 'request';
  text.spellcheck = false;
  text.setAttribute('aria-label', 'Request');
  const submit = document.createElement('button');
  submit.className = 'send';
  submit.textContent = 'Send';
  const shown = document.createElement('pre');
  shown.className = 'response';
  shown.setAttribute('aria-live', 'polite');
  form.append(text, submit, shown);
  let running = new AbortController();
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    running.abort();
    running = new AbortController();
    shown.textContent = '…';
    send(text.value, shown, running.signal).catch((error) => {
      if (error.name !== 'AbortError') shown.textContent = String(error);
    });
  });
  button.replaceWith(form);
  text.focus();
}

document.addEventListener('click', ({ target }) => {
  const { language } = target.dataset ?? {};
  if (language) {
    const { top } = target.getBoundingClientRect();
    localStorage.setItem(LANGUAGE, language);
    show(language);
    // Examples above have other heights now.
    scrollBy(0, target.getBoundingClientRect().top - top);
  } else if (target.matches('.copy')) {
    const code = all('pre', target.closest('.examples')).find((pre) => pre.offsetParent);
    navigator.clipboard?.writeText(code.textContent);
    target.textContent = 'Copied';
    setTimeout(() => (target.textContent = 'Copy'), 1_500);
  } else if (target.matches('.try')) offer(target);
});
