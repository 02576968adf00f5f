import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take more than four seconds, the longest first. The rest follows in any order; a file that is
 * missing here costs only some of the time that the last worker runs alone.
 * `npx vitest run --reporter=json` shows how long each file takes.
 */
const LONGEST = [
  'system/run/npm-stop.test.ts',
  'system/browser/reference-page.test.ts',
  'system/docs/code-blocks.test.ts',
  'system/durability/trouble.test.ts',
  'system/nodes/kills.test.ts',
  'system/nodes/exact-polling.test.ts',
  'system/nodes/limits.test.ts',
  'system/nodes/clocks.test.ts',
  'system/nodes/rates.test.ts',
  'system/nodes/rolling-restart.test.ts',
  'system/nodes/failover.test.ts',
  'system/nodes/shared-state.test.ts',
  'system/durability/kill.test.ts',
  'system/durability/secrets.test.ts',
  'system/durability/quota.test.ts',
  'system/webhooks/kill.test.ts',
  'system/run/failed-start.test.ts',
  'system/mail-programs/every-library.test.ts',
  'system/run/command-line.test.ts',
  'system/docs/examples.test.ts',
  'store/sqlite/sqlite.test.ts',
  'monitoring/metrics.test.ts',
  'webhooks/outbound/app-ssrf.test.ts',
  'http/routes/messages/account-messages.test.ts',
  'store/sqlite/backup.test.ts',
  'http/routes/messages/waiting.test.ts',
  'http/routes/messages/account-search.test.ts',
  'http/openapi/openapi-examples.test.ts',
  'smtp/transport/tls.test.ts',
  'messages/failed-handshakes.test.ts',
  'inbound/authentication/authenticator.test.ts',
];

/**
 * Gives the longest files to the workers first, so that all workers end at about the same time. Files of one
 * project stay together: a worker that changes the project starts anew.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}`));
      return index < 0 ? LONGEST.length : index;
    };
    const isSystem = ({ project }: TestSpecification): number => (project.name === 'system' ? 0 : 1);
    return files.toSorted((a, b) => isSystem(a) - isSystem(b) || rank(a) - rank(b));
  }
}
