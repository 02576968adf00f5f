import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take more than three seconds of CPU time, the longest first. The rest follows in any order; a file that is
 * missing here costs only some of the time that the last worker runs alone.
 * `npx vitest run --reporter=json` shows how long each file takes.
 */
const LONGEST = [
  'system/nodes/silent-database',
  'system/nodes/kills',
  'system/upgrade/rolling-upgrade',
  'system/console/preview-safety',
  'system/browser/reference-page',
  'system/run/npm-stop',
  'system/deploy/cluster',
  'system/docs/code-blocks',
  'system/nodes/exact-polling',
  'system/console/states',
  'system/console/accessibility',
  'hostile/bombs',
  'system/durability/quota',
  'system/nodes/clocks',
  'store/transfer/transfer',
  'system/example',
  'webhooks/clock-steps',
  'system/mail-programs/every-library',
  'system/docs/examples',
  'system/examples-of-faults',
  'hostile/http-connections',
  'system/run/failed-start',
  'store/postgres/trouble',
  'system/faults/kill',
  'store/postgres/upgrade',
  'system/faults/senders',
  'system/durability/full-disk',
  'system/webhooks/kill',
  'hostile/damaged-rows',
  'system/run/command-line',
  'system/run/serve-output',
  'store/postgres/two-nodes',
  'system/reverse-proxy/nginx',
  'store/hunt/postgres',
  'system/durability/stop',
  'system/console/journey',
  'hostile/secrets',
  'store/postgres/postgres',
  'reading/promises/at-once',
  'outgoing/outgoing',
  'waits/explained',
  'store/sqlite/sqlite',
  'providers/batches',
  'messages/search/conformance',
  'http/access/isolation',
  'http/openapi/openapi-examples',
  'reading/sender-checks/authenticator',
  'store/postgres/interleavings',
  'store/sqlite/sqlite-trouble',
  'dialects/pop3',
  'webhooks/outbound/send',
  'http/routes/messages/preview',
  'hostile/bounds',
  'providers/twilio',
  'hostile/large-messages',
  'http/request/bad-input',
  'webhooks/journey',
  'inbound/injection',
  'dialects/mailpit',
  'operations/metrics',
  'in-process/start-mayfly',
  'providers/resend',
  'inbound/sink',
  'providers/interface',
  'providers/ses',
  'webhooks/same-bytes',
  'usage/usage',
  'messages/streams',
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
