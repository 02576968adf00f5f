/*
 * Bundles the server: the program, a file for each worker thread, and what it reads (the console, the API's
 * description, the reference page, licences). `npm ci` runs it, and the first start after a change; with a
 * folder as its argument, scripts/packages/build.ts. Plain JavaScript, as packages/web/build.js.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import bundles from './bin/bundle.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SRC = join(ROOT, 'packages/server/src');

/** Files that the sources read by their place in the repository, and their names beside the bundle. */
const FILES = {
  'openapi.json': 'openapi.json',
  'packages/web/dist': 'console',
  'packages/server/reference': 'reference',
};
const NOT_READ = /\/\.vite/;

/** A library that only hardly any mail needs, and a synchronous function: a file of its own. */
const RARE = 'iconv-lite';

/** Parts of Fastify that are never called: compilers, as http/server.ts sets others. */
const UNUSED = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'];
/** What Fastify loads for servers of other kinds, and for plugins that name its versions. */
const UNUSED_IN_FASTIFY = ['node:http2', 'node:https', 'semver'];
const EMPTY = '\0empty';

/** `database/sqlite/thread.ts` as `database-sqlite-thread`. */
const nameOf = (file) => relative(SRC, file).replace(/\.ts$/, '').replaceAll(/[\\/]/g, '-');

/** @param found called with the source of each worker thread */
const ourPlugin = (found) => ({
  name: 'mayfly',
  resolveId(id, importer = '') {
    if (id === RARE && importer.startsWith(SRC)) return { id: `./${RARE}.cjs`, external: true };
    if (id === 'pg-native') return { id, external: true };
    if (UNUSED.includes(id)) return EMPTY;
    return importer.includes('/fastify/lib/') && UNUSED_IN_FASTIFY.includes(id) ? EMPTY : null;
  },
  load: (id) => (id === EMPTY ? 'module.exports = () => undefined;' : null),
  transform: {
    filter: { id: /packages\/server\/src\/.*\.ts$/ },
    handler(code, id) {
      const changed = code
        .replaceAll(/new URL\('(\.[^']+)', import\.meta\.url\)/g, (_, path) => {
          const file = resolve(dirname(id), path);
          if (!path.endsWith('.ts'))
            return `new URL('./${placeOf(file)}${path.endsWith('/') ? '/' : ''}', import.meta.url)`;
          found(file);
          return `new URL('./${nameOf(file)}.cjs', import.meta.url)`;
        })
        // What is required becomes part of the bundle.
        .replace(/^const require = createRequire\(import\.meta\.url\);$/m, '');
      return changed === code ? null : { code: changed, map: null };
    },
  },
});

function placeOf(file) {
  const path = relative(ROOT, file).replaceAll('\\', '/');
  const name = FILES[path];
  if (!name) throw new Error(`packages/server/build.js does not know where ${path} is in the bundle.`);
  return name;
}

/** Text with other characters would take two bytes for each of its characters, in each thread. */
const toAscii = (code) =>
  code.replaceAll(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Files with less of our code are libraries: made as small as possible, without a map for stack traces. */
const OURS = 0.1;

/** Elsewhere lines and names of functions stay, for stack traces; the sources are not in the maps. */
function shrink(folder, { fileName, modules }, minify) {
  const path = join(folder, fileName);
  const map = `${path}.map`;
  const all = Object.entries(modules);
  const lengthOf = (some) => some.reduce((sum, [, { renderedLength }]) => sum + renderedLength, 0);
  const code = readFileSync(path, 'utf8');
  if (lengthOf(all.filter(([id]) => !id.includes('/node_modules/'))) < OURS * lengthOf(all)) {
    const { code: small } = minify(fileName, code.replace(/^\/\/# sourceMappingURL=.*/m, ''), {
      module: false,
    });
    // Tables of characters are smaller as they are.
    writeFileSync(path, fileName === `${RARE}.cjs` ? small : toAscii(small));
    rmSync(map);
    return;
  }
  writeFileSync(path, toAscii(code));
  if (!existsSync(map)) return;
  const { sourcesContent, ...positions } = JSON.parse(readFileSync(map, 'utf8'));
  writeFileSync(map, JSON.stringify(positions));
}

/** @returns the sources of which the files were made */
async function write(folder, input, plugins) {
  const [{ rolldown }, { minifySync }] = await Promise.all([import('rolldown'), import('rolldown/utils')]);
  const built = await rolldown({
    input,
    platform: 'node',
    plugins,
    // Such as that a part is not loaded later as it should be, but at each start.
    onLog(level, { message }) {
      if (level === 'warn') throw new Error(message);
    },
    // Nothing of ours is imported for its effects.
    treeshake: { moduleSideEffects: [{ test: /packages\/(?:client|server)\/src\//, sideEffects: false }] },
  });
  const { output } = await built.write({
    dir: folder,
    // Starts faster than ES modules: those make a namespace of each module of Node that they import.
    format: 'cjs',
    sourcemap: true,
    comments: false,
    minify: { compress: true, mangle: false, codegen: false },
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    // A thread is one file. The program is several: commands, roles and rare work load theirs when they need them.
    ...(!input.main && { codeSplitting: false }),
  });
  await built.close();
  const chunks = output.filter(({ type }) => type === 'chunk');
  for (const chunk of chunks) shrink(folder, chunk, minifySync);
  return chunks.flatMap(({ modules }) => Object.keys(modules));
}

/** Data of others among our sources, written by scripts/lint/client-support.ts with its licence. */
const DATA = 'mail/lint/client-support.json';
const DATA_LICENCE = 'scripts/lint/caniemail-licence.txt';

/** The licences of all libraries in the bundle, and of what the console contains. */
function notices(modules) {
  const folders = new Set(modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]));
  for (const name of ['preact', '@preact/signals', '@preact/signals-core'])
    folders.add(join(ROOT, 'node_modules', name));
  folders.delete(undefined);
  const texts = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file));
    const text = files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n');
    return `${name} ${version}, ${license}\n\n${text || 'The package contains no text of the licence.'}\n`;
  });
  const data = modules.find((id) => id.endsWith(DATA));
  if (data) {
    const { source, licence } = JSON.parse(readFileSync(data, 'utf8'));
    texts.push(`${source}, ${licence}\n\n${readFileSync(join(ROOT, DATA_LICENCE), 'utf8')}`);
  }
  return texts.toSorted().join(`\n${'-'.repeat(80)}\n\n`);
}

/** @throws Error with code ERR_MODULE_NOT_FOUND without development dependencies */
async function bundle(target) {
  const folder = `${target}.${process.pid}`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    const threads = new Set();
    const plugins = [ourPlugin((file) => threads.add(file))];
    const modules = await write(
      folder,
      { main: join(SRC, 'main.ts'), 'start-mayfly': join(SRC, 'start-mayfly.ts') },
      plugins,
    );
    const others = [
      // Loads in a tenth of the time of the rest.
      { 'cli-sendmail': join(SRC, 'cli/sendmail.ts') },
      ...[...threads].map((file) => ({ [nameOf(file)]: file })),
      { [RARE]: join(ROOT, 'node_modules', RARE) },
    ];
    for (const input of others) modules.push(...(await write(folder, input, plugins)));
    for (const [path, name] of Object.entries(FILES)) {
      const from = join(ROOT, path);
      const filter = (source) => !NOT_READ.test(source);
      if (existsSync(from)) cpSync(from, join(folder, name), { recursive: true, filter });
    }
    writeFileSync(join(folder, 'THIRD-PARTY-NOTICES'), notices(modules));
    try {
      renameSync(folder, target);
    } catch (error) {
      // Another start has made the same meanwhile, and may have begun to load it.
      if (!existsSync(target)) throw error;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Bundles that are kept, for servers that run. */
const KEPT = 3;

async function bundleForStart(target) {
  try {
    if (!existsSync(target)) await bundle(target);
  } catch (error) {
    // An installation without development dependencies runs the sources.
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return;
  }
  const folder = dirname(target);
  const others = readdirSync(folder).filter((name) => !name.includes('.'));
  for (const old of others.toSorted().slice(0, -KEPT))
    rmSync(join(folder, old), { recursive: true, force: true });
}

const [, , published] = process.argv;
if (published) {
  rmSync(published, { recursive: true, force: true });
  await bundle(published);
} else await bundleForStart(bundles.bundleFolder());
