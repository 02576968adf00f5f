import type { Reporter, TestModule } from 'vitest/node';

/** Fails a run in which a test was skipped: `REQUIRE_ALL=1` is for machines on which every program is installed. */
export class RequireAll implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap((one) => [...one.children.allTests('skipped')]);
    if (skipped.length === 0) return;
    const names = skipped.map(({ module, fullName }) => `  ${module.relativeModuleId} > ${fullName}`);
    process.stderr.write(`REQUIRE_ALL=1, and ${skipped.length} tests were skipped:\n${names.join('\n')}\n`);
    process.exitCode = 1;
  }
}
