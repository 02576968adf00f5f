import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/config.ts';
import { settingsLike } from '../../../src/config/like.ts';
import { codeBlocksOf, ROOT } from './code-blocks.ts';

const IMAGE = 'mayfly-mailpit';

/** @returns the services of a Compose file with an indentation of two spaces; `ports` are container ports */
function servicesOf(yaml: string) {
  const named = yaml.split(/^ {2}(?=\w[\w-]*:$)/m).slice(1);
  return named.map((text) => {
    const under = (key: string): string =>
      RegExp(`^ {4}${key}:\\n((?: {6}.*\\n?)*)`, 'm').exec(text)?.[1] ?? '';
    const entries = [...under('environment').matchAll(/^ {6}(\w+): '?(.*?)'?$/gm)];
    const ports = [...(under('ports') + under('expose')).matchAll(/(\d+)'?$/gm)];
    return {
      name: text.slice(0, text.indexOf(':')),
      image: /^ {4}image: (\S+)$/m.exec(text)?.[1],
      ports: ports.map(([, port]) => Number(port)),
      environment: Object.fromEntries(
        entries.map(([, key = '', value = '']): [string, string] => [key, value]),
      ),
    };
  });
}

const blocks = codeBlocksOf('docs/migrating.md').filter(({ language }) => language === 'yaml');

describe('the Compose files of docs/migrating.md', () => {
  it('are for six frameworks', () => {
    const names = blocks.map(({ text }) => /^# (\w+)/.exec(text)?.[1]);
    expect(names).toEqual(['Laravel', 'Symfony', 'Rails', 'Django', 'Supabase', 'DDEV']);
  });

  it.each(blocks)('have ports and variables of the image: line $line', ({ text }) => {
    const services = servicesOf(text);
    const ours = services.find(({ image }) => image === IMAGE);
    const environment = { ...ours?.environment };
    for (const [key, value] of Object.entries(environment))
      environment[key] = value.replace(/\$\{\w+\}/, 'a.ddev.site,b.ddev.site');
    const { defaults, env, warning } = settingsLike('mailpit', environment);
    const { smtpPort, httpPort } = parseConfig(env, defaults);
    expect(warning).toBeUndefined();
    expect([smtpPort, httpPort]).toEqual(expect.arrayContaining(ours?.ports ?? []));
    expect(ours?.ports).toContain(httpPort);
    // The application uses the name and the port of the service.
    for (const other of services.filter((one) => one !== ours)) {
      const values = Object.values(other.environment);
      expect(values).toEqual(expect.arrayContaining([ours?.name, String(smtpPort)]));
    }
  });

  it('name the image that deploy/Dockerfile makes, which is like Mailpit without any argument', () => {
    const stages = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8').split(/^FROM /m);
    const stage = stages.find((one) => one.startsWith('server AS mailpit\n'));
    expect(stage).toMatch(/^EXPOSE 1025$/m);
    expect(stage).toMatch(/^CMD \["dev", "--like", "mailpit"\]$/m);
    const page = readFileSync(join(ROOT, 'docs/migrating.md'), 'utf8');
    expect(page).toContain(`--target mailpit -t ${IMAGE} .`);
  });
});
