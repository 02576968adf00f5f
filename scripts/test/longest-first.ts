import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take more than four seconds, the longest first. The rest follows in any order; a file that is
 * missing here costs only some of the time that the last worker runs alone.
 * `npx vitest run --reporter=json` shows how long each file takes.
 */
const LONGEST: string[] = [];

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
