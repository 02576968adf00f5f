/*
 * Prints the bill of materials of the package `mayfly` as SPDX: the libraries of the server and of the console as npm
 * knows them, and the data that is part of the sources.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './compile.ts';

const DATA = 'packages/server/src/mail/lint/client-support.json';
const WORKSPACES = ['@mayfly/server', '@mayfly/web'].flatMap((name) => ['--workspace', name]);
const sbom = JSON.parse(
  execFileSync('npm', ['sbom', '--sbom-format=spdx', '--omit=dev', ...WORKSPACES], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: Number.POSITIVE_INFINITY,
  }),
);

const { source } = JSON.parse(readFileSync(join(ROOT, DATA), 'utf8'));
const [, name, version] = /^npm package (\S+) (\S+)$/.exec(source) ?? [];
if (!name) throw new Error(`${DATA} does not say which package its data is from: ${source}`);
const id = `SPDXRef-Package-${name}-${version}`;
sbom.packages.push({
  name,
  SPDXID: id,
  versionInfo: version,
  packageFileName: DATA,
  description: 'Support of HTML and CSS by mail clients',
  downloadLocation: 'NOASSERTION',
  filesAnalyzed: false,
  homepage: 'https://www.caniemail.com',
  licenseDeclared: 'MIT',
  externalRefs: [
    {
      referenceCategory: 'PACKAGE-MANAGER',
      referenceType: 'purl',
      referenceLocator: `pkg:npm/${name}@${version}`,
    },
  ],
});
sbom.relationships.push({
  spdxElementId: id,
  relatedSpdxElement: sbom.documentDescribes[0],
  relationshipType: 'CONTAINED_BY',
});
process.stdout.write(`${JSON.stringify(sbom, null, 2)}\n`);
