import { afterAll, beforeAll, onTestFinished } from 'vitest';

interface Stoppable {
  stop(): Promise<void>;
}

/** What `start` starts, for the tests of a file or a `describe`; its fields are there when these run. */
export function startedOnce<T extends Stoppable>(start: () => Promise<T>): T {
  const started = {} as T;
  beforeAll(async () => void Object.assign(started, await start()));
  afterAll(() => started.stop());
  return started;
}

/** What is being started, which stops with the test. */
export async function ofTest<T extends Stoppable>(starting: Promise<T>): Promise<T> {
  const started = await starting;
  onTestFinished(() => started.stop());
  return started;
}
