/*
 * The files of docs/ci.md: valid by the public schemas of GitHub Actions and GitLab, and their shell steps, run one
 * after the other in a project with the tarballs. The services themselves are not used.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './compile.ts';
import { environment } from './try-python.ts';
import { freePort, project, run, say, type Tarballs, withNode } from './try-tools.ts';

/** A step that downloads a browser; the test below needs none. */
const NOT_HERE = /playwright install/;

const TEST = `
import { execFileSync } from 'node:child_process';
import { expect, test } from '@mayfly/playwright';
test('receives a code', async ({ inbox }) => {
  const server = process.env.SMTP_HOST + ':' + process.env.SMTP_PORT;
  execFileSync('npx', ['mayfly', 'mail', inbox.address, '--server', server, '--subject', 'Code', '--body', 'Your code is 482913.']);
  expect(await inbox.waitForCode()).toBe('482913');
});
`;

/** Prints a YAML file as JSON. \`on\` is a name in GitHub's files, and true in YAML 1.1. */
const TO_JSON = `import json, sys, ruamel.yaml; print(json.dumps(ruamel.yaml.YAML(typ="safe").load(open(sys.argv[1]))))`;

interface Workflow {
  jobs: Record<string, { env: Record<string, string>; steps: Array<{ run?: string }> }>;
}
type Pipeline = Record<string, { variables: Record<string, string>; script: string[] }>;

/** Runs each script in a shell of its own, as a service does; what it started goes on until the end. */
async function runSteps(cwd: string, scripts: string[], variables: Record<string, string>): Promise<void> {
  const [http, smtp] = [String(await freePort()), String(await freePort())];
  // The ports of this machine may be in use.
  const ports = { MAYFLY_HTTP_PORT: http, MAYFLY_SMTP_PORT: smtp, MAYFLY_METRICS_PORT: '0', SMTP_PORT: smtp };
  const here = { ...ports, MAYFLY_URL: `http://127.0.0.1:${http}`, CI: 'true' };
  const groups: number[] = [];
  try {
    for (const script of scripts) {
      const env = withNode(process.execPath, { ...variables, ...here });
      const shell = spawn('bash', ['-e', '-o', 'pipefail', '-c', script], {
        cwd,
        env,
        stdio: ['ignore', 'ignore', 'inherit'],
        detached: true,
      });
      if (shell.pid) groups.push(shell.pid);
      const [code] = await once(shell, 'exit');
      if (code !== 0) throw new Error(`The step failed with ${code}: ${script}`);
    }
  } finally {
    for (const group of groups) {
      try {
        process.kill(-group, 'SIGTERM');
      } catch {
        // Everything that the step started has ended.
      }
    }
  }
}

export async function tryCi(tarballs: Tarballs): Promise<void> {
  const page = readFileSync(join(ROOT, 'docs/ci.md'), 'utf8');
  const [github = '', gitlab = ''] = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(
    ([, text = '']) => text,
  );
  const { python } = environment('ci-tools', ['check-jsonschema', 'ruamel.yaml']);
  const ours = ['client', 'mayfly', 'playwright'].map((name) => tarballs.get(name) ?? '');
  const { cwd } = project('ci', [...ours, '@playwright/test@1.65.1']);
  writeFileSync(join(cwd, 'code.spec.mjs'), TEST);
  run('npm', ['pkg', 'set', 'scripts.test=playwright test'], cwd);
  const load = (name: string, text: string, schema: string) => {
    const file = join(cwd, name);
    writeFileSync(file, text);
    run(python, ['-m', 'check_jsonschema', '--builtin-schema', schema, file], cwd);
    return JSON.parse(run(python, ['-c', TO_JSON, file], cwd).output) as unknown;
  };
  const { jobs } = load('workflow.yml', github, 'vendor.github-workflows') as Workflow;
  for (const { env, steps } of Object.values(jobs)) {
    const scripts = steps.flatMap(({ run: script }) => (script && !NOT_HERE.test(script) ? [script] : []));
    await runSteps(cwd, scripts, env);
  }
  const pipeline = load('.gitlab-ci.yml', gitlab, 'vendor.gitlab-ci') as Pipeline;
  for (const { script, variables } of Object.values(pipeline)) {
    await runSteps(cwd, [script.join('\n')], variables);
  }
  say('docs/ci.md: the files of GitHub Actions and GitLab are valid, and their shell steps pass');
}
