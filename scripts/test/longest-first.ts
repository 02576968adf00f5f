import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take more than four seconds, the longest first. The rest follows in any order; a file that is
 * missing here costs only some of the time that the last worker runs alone.
 * `npx vitest run --reporter=json` shows how long each file takes.
 */
const LONGEST = [
  'store/postgres/postgres.test.ts',
  'system/nodes/silent-database.test.ts',
  'system/nodes/kills.test.ts',
  'system/upgrade/rolling-upgrade.test.ts',
  'system/console/preview-safety.test.ts',
  'system/browser/reference-page.test.ts',
  'system/console/open-all-day.test.ts',
  'system/run/npm-stop.test.ts',
  'store/sqlite/sqlite.test.ts',
  'system/deploy/cluster.test.ts',
  'system/docs/code-blocks.test.ts',
  'system/nodes/rates.test.ts',
  'system/nodes/exact-polling.test.ts',
  'store/sqlite/staging.test.ts',
  'system/console/states.test.ts',
  'monitoring/metrics.test.ts',
  'system/console/accessibility.test.ts',
  'system/faults/postfix.test.ts',
  'system/nodes/limits.test.ts',
  'hostile/bombs.test.ts',
  'system/nodes/clocks.test.ts',
  'store/transfer/transfer.test.ts',
  'system/console/journey.test.ts',
  'system/example.test.ts',
  'webhooks/clock-steps.test.ts',
  'system/mail-programs/every-library.test.ts',
  'system/docs/examples.test.ts',
  'system/examples-of-faults.test.ts',
  'hostile/http-connections.test.ts',
  'system/run/failed-start.test.ts',
  'store/postgres/trouble.test.ts',
  'system/durability/trouble.test.ts',
  'system/faults/kill.test.ts',
  'store/postgres/upgrade.test.ts',
  'system/console/live.test.ts',
  'system/faults/senders.test.ts',
  'messages/waits/explained.test.ts',
  'system/durability/full-disk.test.ts',
  'system/webhooks/kill.test.ts',
  'http/openapi/openapi-examples.test.ts',
  'system/nodes/mutant.test.ts',
  'hostile/damaged-rows.test.ts',
  'system/durability/quota.test.ts',
  'system/run/command-line.test.ts',
  'system/durability/kill.test.ts',
  'system/run/serve-output.test.ts',
  'system/nodes/rolling-restart.test.ts',
  'store/sqlite/backup.test.ts',
  'hostile/waits-clock.test.ts',
  'store/postgres/two-nodes.test.ts',
  'system/reverse-proxy/nginx.test.ts',
  'store/hunt/postgres.test.ts',
  'webhooks/journey.test.ts',
  'system/durability/secrets.test.ts',
  'system/durability/stop.test.ts',
  'webhooks/outbound/app-ssrf.test.ts',
  'webhooks/outbound/resolve.test.ts',
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
