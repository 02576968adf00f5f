/* The Python package: its wheel and source archive, installed into an empty environment and used with pytest. */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILD } from './build.ts';
import { ROOT } from './compile.ts';
import { folder, kb, run, say, serverProject, startServer, type Tarballs } from './try-tools.ts';

const TESTS = `
import smtplib

def test_code(mail_inbox, mayfly_smtp):
    with smtplib.SMTP(*mayfly_smtp) as server:
        server.sendmail("app@shop.example", mail_inbox.address, "Subject: Code\\n\\nYour code is 482913.")
    assert mail_inbox.wait_for_code() == "482913"
`;

/** A virtual environment with some packages. */
export function environment(name: string, packages: string[], env: Record<string, string> = {}) {
  const venv = join(folder, name);
  run('python3', ['-m', 'venv', venv], folder);
  const pip = ['install', '--quiet', '--disable-pip-version-check', ...packages];
  const { ms } = run(join(venv, 'bin/pip'), pip, folder, process.execPath, env);
  return { python: join(venv, 'bin/python'), ms };
}

/** What builds, checks, serves and uploads packages. */
const TOOLS = ['build', 'setuptools>=77', 'pypiserver==2.4.2', 'twine==6.2.0'];
let tools: ReturnType<typeof environment> | undefined;
/** One environment for all parts: making one takes longer than most of them. @returns its Python */
export function toolsPython(): string {
  tools ??= environment('tools', TOOLS);
  return tools.python;
}

/** Builds the wheel and the source archive, unless another part has: build/ is made anew for each run. */
export function buildWheel(target: string): void {
  if (existsSync(target)) return;
  mkdirSync(target, { recursive: true });
  const args = ['-m', 'build', '--no-isolation', '--outdir', target, join(ROOT, 'python')];
  run(toolsPython(), args, folder);
  // What the build leaves behind in the sources.
  for (const left of ['python/build', 'python/src/pytest_mayfly.egg-info'])
    rmSync(join(ROOT, left), { recursive: true, force: true });
}

export async function tryPython(tarballs: Tarballs): Promise<void> {
  const target = join(BUILD, 'python');
  buildWheel(target);
  const files = readdirSync(target);
  const wheel = files.find((file) => file.endsWith('.whl')) ?? '';
  for (const file of files) say(`pytest-mayfly: ${file} ${kb(statSync(join(target, file)).size)}`);

  const user = environment('user', [join(target, wheel)]);
  const imported = run(user.python, ['-c', 'import mayfly'], folder);
  const { cwd } = serverProject(tarballs);
  const server = await startServer(cwd);
  try {
    writeFileSync(join(cwd, 'test_code.py'), TESTS);
    const env = { MAYFLY_URL: server.url, MAYFLY_SMTP: `127.0.0.1:${server.smtpPort}` };
    const { output, ms } = run(user.python, ['-m', 'pytest', '-q'], cwd, process.execPath, env);
    if (!/1 passed/.test(output)) throw new Error(output);
    say(
      `pytest-mayfly: install ${user.ms} ms with pytest, import mayfly ${imported.ms} ms, a run with one test ${ms} ms`,
    );
  } finally {
    await server.stop();
  }
}
