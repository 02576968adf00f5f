import type { Reporter, TestModule } from 'vitest/node';

/**
 * Fails a run in which a test was skipped: `REQUIRE_ALL=1` is for machines on which every program is installed.
 * Tests whose file and name match the pattern `MAY_SKIP` may be skipped.
 */
export class RequireAll implements Reporter {
  readonly #maySkip = process.env.MAY_SKIP ? new RegExp(process.env.MAY_SKIP) : undefined;

  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules
      .flatMap((one) => [...one.children.allTests('skipped')])
      .map(({ module, fullName }) => `${module.relativeModuleId} > ${fullName}`)
      .filter((name) => !this.#maySkip?.test(name));
    if (skipped.length === 0) return;
    const list = skipped.map((name) => `  ${name}\n`).join('');
    process.stderr.write(`REQUIRE_ALL=1, and ${skipped.length} tests were skipped:\n${list}`);
    process.exitCode = 1;
  }
}
