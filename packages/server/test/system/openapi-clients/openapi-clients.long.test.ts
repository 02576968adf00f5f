import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../../support/folder.ts';
import { TEST_KEY, useApp } from '../../support/start-app.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../../../', import.meta.url));
/** The folder in which `.ci/openapi-generators` installs generators. */
const generators = join(root, 'node_modules/.cache/openapi-generators');
const typescript = join(generators, 'typescript/node_modules');
const python = join(generators, 'python/bin');
const hasTypescript = existsSync(join(typescript, '.bin/openapi-typescript'));
const hasPython = existsSync(join(python, 'openapi-python-client'));
const openapiGenerator = join(generators, 'openapi-generator-cli-7.17.0.jar');
const programs = fileURLToPath(new URL('programs', import.meta.url));
const runs = (program: string, arg: string) => spawnSync(program, [arg]).status === 0;
const hasJava = runs('javac', '-version') && runs('mvn', '-version') && existsSync(openapiGenerator);
const hasGo = hasJava && runs('go', 'version');
const hasDotnet = hasJava && runs('dotnet', '--version');
for (const [isInstalled, name] of [
  [hasTypescript, 'openapi-typescript'],
  [hasPython, 'openapi-python-client'],
  [hasJava, 'openapi-generator, a JDK or Maven'],
  [hasGo, 'Go'],
  [hasDotnet, 'the SDK of .NET'],
])
  if (!isInstalled) process.stderr.write(`Skipped: ${name} not installed (run .ci/openapi-generators).\n`);

/** The expected output of each program. */
const expected = {
  ...{ subject: 'Please confirm your address', code: '482913', attachment: [0, 255, 128, 10, 13] },
  ...{ deleted: 204, gone: 'not_found' },
};
const byLabel = { listed: [true], removed: 1 };

/** Warnings of openapi-python-client about media types that it does not support; it uses the alternatives. */
const OTHER_MEDIA_TYPES =
  /WARNING parsing POST \/v1\/inboxes\/(?:\{id\}\/messages within messages\.\s+Unsupported content type message\/rfc822|import within inboxes\.\s+Unsupported content type application\/zip)/g;

describe('a client generated from openapi.json creates, waits, reads, fetches bytes and deletes:', () => {
  const app = useApp();
  const folder = useFolder();
  beforeAll(async () => {
    const { body } = await app.api('GET', '/openapi.json', { as: null });
    writeFileSync(join(folder(), 'openapi.json'), JSON.stringify(body));
  });

  /** Runs a program with the URL and the key. @returns the JSON that it prints */
  async function outputOf(program: string, ...args: string[]): Promise<{ rawSize: number[] }> {
    const all = [...args, app.url, TEST_KEY, app.smtp.host, String(app.smtp.port)];
    const env = { ...process.env, PYTHONPATH: folder() };
    return JSON.parse((await run(program, all, { cwd: folder(), env })).stdout);
  }
  function expectAll({ rawSize, ...output }: { rawSize: number[] }, also: object = {}): void {
    expect(output).toEqual({ ...expected, ...also });
    const [fetched, stated] = rawSize;
    expect(fetched).toBe(stated);
  }

  it.skipIf(!hasTypescript)('openapi-typescript with openapi-fetch, type-checked', async () => {
    const inFolder = { cwd: folder() };
    symlinkSync(typescript, join(folder(), 'node_modules'));
    copyFileSync(join(root, 'docs/examples/generated-client.ts'), join(folder(), 'program.ts'));
    writeFileSync(join(folder(), 'package.json'), '{"type": "module"}');
    await run(join(typescript, '.bin/openapi-typescript'), ['openapi.json', '-o', 'schema.d.ts'], inFolder);
    const strict = ['--strict', '--noEmit', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'];
    const types = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node'];
    const tsc = [...strict, ...types, '--allowImportingTsExtensions', 'program.ts'];
    await run(join(typescript, '.bin/tsc'), tsc, inFolder).catch(({ stdout }) => expect.fail(stdout));
    expectAll(await outputOf(process.execPath, 'program.ts'), byLabel);
  });

  it.skipIf(!hasPython)('openapi-python-client, without a warning about the document', async () => {
    const output = join(folder(), 'mayfly_client');
    const args = ['generate', '--path', 'openapi.json', '--meta', 'none', '--output-path', output];
    const { stdout, stderr } = await run(join(python, 'openapi-python-client'), args, { cwd: folder() });
    const told = `${stdout}${stderr}`.replace(OTHER_MEDIA_TYPES, '');
    expect(told).not.toMatch(/WARNING parsing|Cannot parse|Unable to/);
    expect(existsSync(join(output, 'api/messages/inject_message.py'))).toBe(true);
    copyFileSync(join(root, 'docs/examples/generated_client.py'), join(folder(), 'program.py'));
    expectAll(await outputOf(join(python, 'python3'), 'program.py'), byLabel);
  });

  /** Generates a client. @returns its folder @throws if the generator reports an error */
  async function generate(generator: string, properties: string): Promise<string> {
    const output = join(folder(), generator);
    const what = ['generate', '-g', generator, '-i', 'openapi.json', '-o', output];
    const args = ['-jar', openapiGenerator, ...what, `--additional-properties=${properties}`];
    const { stdout, stderr } = await run('java', args, { cwd: folder() });
    expect(`${stdout}${stderr}`).not.toMatch(/\bERROR\b|duplicate/i);
    return output;
  }
  const tell = ({ stdout, stderr }: { stdout: string; stderr: string }) => expect.fail(`${stdout}${stderr}`);

  it.skipIf(!hasJava)('openapi-generator for Java', { timeout: 240_000 }, async () => {
    const packages = 'invokerPackage=app.mayfly,apiPackage=app.mayfly.api,modelPackage=app.mayfly.model';
    const cwd = await generate('java', `library=native,${packages}`);
    copyFileSync(join(programs, 'Program.java'), join(cwd, 'src/main/java/Program.java'));
    const goals = ['compile', 'dependency:build-classpath', '-Dmdep.outputFile=classpath'];
    await run('mvn', ['--quiet', ...goals], { cwd }).catch(tell);
    const classpath = `${cwd}/target/classes:${readFileSync(join(cwd, 'classpath'), 'utf8')}`;
    expectAll(await outputOf('java', '-cp', classpath, 'Program'));
    const operations = readFileSync(join(cwd, 'src/main/java/app/mayfly/api/WebhooksApi.java'), 'utf8');
    expect(operations).toContain('WebhookWithSecret createWebhook(');
  });

  it.skipIf(!hasGo)('openapi-generator for Go', { timeout: 240_000 }, async () => {
    const cwd = await generate('go', 'packageName=mayfly');
    writeFileSync(join(cwd, 'go.mod'), 'module example.test/mayfly\n\ngo 1.23\n');
    mkdirSync(join(cwd, 'program'));
    copyFileSync(join(programs, 'program.go'), join(cwd, 'program/main.go'));
    await run('go', ['build', '-o', 'run', './program'], { cwd }).catch(tell);
    expectAll(await outputOf(join(cwd, 'run')));
  });

  it.skipIf(!hasDotnet)('openapi-generator for C#', { timeout: 240_000 }, async () => {
    const cwd = await generate('csharp', 'packageName=Mayfly,targetFramework=net8.0');
    await run('dotnet', ['build', 'src/Mayfly'], { cwd }).catch(tell);
  });

  const both = it.skipIf(!hasJava || !hasTypescript);
  both('openapi-generator for typescript-fetch', { timeout: 240_000 }, async () => {
    const cwd = await generate('typescript-fetch', 'withoutRuntimeChecks=false');
    symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'));
    copyFileSync(join(programs, 'typescript-fetch.ts'), join(cwd, 'program.ts'));
    writeFileSync(join(cwd, 'mayfly.ts'), "export * from './index';\n");
    writeFileSync(join(cwd, 'package.json'), '{"type": "commonjs"}');
    const options = ['--strict', '--skipLibCheck', '--module', 'commonjs', '--target', 'es2022'];
    const types = ['--types', 'node', '--lib', 'es2022,dom,dom.iterable', '--outDir', 'out'];
    await run(join(typescript, '.bin/tsc'), [...options, ...types, 'program.ts'], { cwd }).catch(tell);
    expectAll(await outputOf(process.execPath, join(cwd, 'out/program.js')));
  });
});
