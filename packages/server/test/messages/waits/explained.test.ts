import { appendFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnEngines } from '../../support/nodes.ts';
import { type Outcome, Stage } from './play.ts';
import { type Situation, situations } from './situations.ts';

const summaryOf = ({ status, body }: Outcome): string =>
  status === 200 ? (body.explanation?.summary ?? 'matched') : body.detail;

describeOnEngines('a wait that fails', (engine) => {
  let stop: () => Promise<void>;
  let settings: () => Promise<Record<string, string>>;
  beforeAll(async () => {
    const started = await engine.start();
    stop = started.stop;
    settings = started.env;
  });
  afterAll(() => stop());

  describe.each(['dev', 'serve', 'shared'] as const)('on a server like %s', (kind) => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await Stage.open(kind, await settings());
    });
    afterAll(() => stage.app.stop());

    it.each(situations.filter(({ server }) => server === kind))('$title', async (situation: Situation) => {
      const outcome = await stage.play(situation);
      const summary = summaryOf(outcome);
      const isRight =
        situation.facts.every((fact) => fact.test(summary)) &&
        !(situation.lies ?? []).some((lie) => lie.test(summary));
      if (process.env.RECORD)
        appendFileSync(process.env.RECORD, `${JSON.stringify({ engine: engine.name, isRight, title: situation.title, summary, says: situation.says, causes: outcome.body.explanation?.causes })}\n`);
      for (const fact of situation.facts) expect(summary).toMatch(fact);
      for (const lie of situation.lies ?? []) expect(summary).not.toMatch(lie);
    });
  });
});
