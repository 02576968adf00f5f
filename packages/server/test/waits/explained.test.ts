import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ON_POSTGRES } from '../support/start-app.ts';
import { type Outcome, Stage } from './play.ts';
import { type Situation, situations } from './situations.ts';

/** On PostgreSQL other nodes may receive mail, so a server does not know that nothing connected. */
const orUnknown = (code: string): string =>
  code === 'nothing_connected' && ON_POSTGRES ? 'nothing_arrived' : code;

/** The codes of the causes, and all that is said to a person. */
const answerOf = ({ status, body }: Outcome): { codes: string[]; summary: string } =>
  status === 200
    ? { codes: body.explanation?.causes.map(({ code }: { code: string }) => code), ...body.explanation }
    : { codes: [body.code], summary: body.detail };

describe.each(['dev', 'serve', 'shared'] as const)('a wait that fails on a server like %s', (kind) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open(kind);
  });
  afterAll(() => stage.app.stop());

  it.each(situations.filter(({ server }) => server === kind))('$title', async (situation: Situation) => {
    const { facts, lies = [], first, also = [], never = [] } = situation;
    const outcome = await stage.play(situation);
    const { codes, summary } = answerOf(outcome);
    const isKnown = first !== 'nothing_connected' || !ON_POSTGRES;
    for (const fact of isKnown ? facts : []) expect(summary).toMatch(new RegExp(fact));
    for (const lie of lies) expect(summary).not.toMatch(new RegExp(lie));
    expect(codes.slice(0, 1 + also.length)).toEqual([orUnknown(first), ...also]);
    for (const code of ON_POSTGRES ? [] : never) expect(codes).not.toContain(code);
    if (outcome.status === 200) expect(outcome.stored.explanation).toEqual(outcome.body.explanation);
  });
});
