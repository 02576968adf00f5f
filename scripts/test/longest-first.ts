import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take more than four seconds, the longest first. The rest follows in any order; a file that is
 * missing here costs only some of the time that the last worker runs alone.
 * `npx vitest run --reporter=json` shows how long each file takes.
 */
const LONGEST = [
  'store/postgres/postgres',
  'system/nodes/silent-database',
  'system/nodes/kills',
  'system/upgrade/rolling-upgrade',
  'system/console/preview-safety',
  'system/browser/reference-page',
  'system/console/open-all-day',
  'system/run/npm-stop',
  'store/sqlite/sqlite',
  'system/deploy/cluster',
  'system/docs/code-blocks',
  'system/nodes/rates',
  'system/nodes/exact-polling',
  'system/console/states',
  'operations/metrics',
  'system/console/accessibility',
  'system/faults/postfix',
  'system/nodes/limits',
  'hostile/bombs',
  'system/nodes/clocks',
  'store/transfer/transfer',
  'system/console/journey',
  'system/example',
  'webhooks/clock-steps',
  'system/mail-programs/every-library',
  'system/docs/examples',
  'system/examples-of-faults',
  'hostile/http-connections',
  'system/run/failed-start',
  'store/postgres/trouble',
  'system/durability/trouble',
  'system/faults/kill',
  'store/postgres/upgrade',
  'system/console/live',
  'system/faults/senders',
  'waits/explained',
  'system/durability/full-disk',
  'system/webhooks/kill',
  'http/openapi/openapi-examples',
  'hostile/damaged-rows',
  'system/run/command-line',
  'system/durability/kill',
  'system/run/serve-output',
  'system/nodes/rolling-restart',
  'store/sqlite/backup',
  'hostile/waits-clock',
  'store/postgres/two-nodes',
  'system/reverse-proxy/nginx',
  'store/hunt/postgres',
  'webhooks/journey',
  'system/durability/secrets',
  'system/durability/stop',
  'webhooks/outbound/resolve',
];

/**
 * Gives the longest files to the workers first, so that all workers end at about the same time. Files of one
 * project stay together: a worker that changes the project starts anew.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = LONGEST.findIndex((name) =>
        new RegExp(`/test/${name}(\\.long)?\\.test\\.ts$`).test(moduleId),
      );
      return index < 0 ? LONGEST.length : index;
    };
    const isSystem = ({ project }: TestSpecification): number => (project.name === 'system' ? 0 : 1);
    return files.toSorted((a, b) => isSystem(a) - isSystem(b) || rank(a) - rank(b));
  }
}
