import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ArgumentError } from '../../src/cli/arguments.ts';
import { ConfigError } from '../../src/config/config.ts';
import { type Operator, openOperator } from './operator.ts';

let operator: Operator;
beforeAll(async () => {
  operator = await openOperator();
});
beforeEach(() => {
  operator.env = { MAYFLY_PLANS: '{"free": {"requestsPerMonth": 5000}}' };
});
afterAll(() => operator.close());

describe('mayfly plan', () => {
  it('lists the plans in force, with what MAYFLY_PLANS changes', async () => {
    expect(await operator.run('plan', 'list')).toBe(
      [
        'PLAN       REQ/MONTH  REQ/S  BURST  INBOXES  TTL MINUTES  MSG/INBOX  BYTES/MSG  WEBHOOKS',
        'free       5000       2      10     5        60           50         5242880    1',
        'developer  100000     50     200    1000     10080        1000       26214400   50',
        'unlimited  -          -      -      -        43200        10000      52428800   -',
      ].join('\n'),
    );
  });

  it('shows one in the words of MAYFLY_PLANS, so that its JSON can be given back', async () => {
    expect(await operator.run('plan', 'show', 'unlimited')).toMatch(/^requestsPerMonth: +no limit$/m);
    const { name, ...limits } = await operator.json('plan', 'show', 'unlimited');
    expect(name).toBe('unlimited');
    operator.env = { MAYFLY_PLANS: JSON.stringify({ team: limits }) };
    expect(await operator.json('plan', 'show', 'team')).toEqual({ ...limits, name: 'team' });
  });

  it('refuses an unknown plan, and a configuration that is wrong', async () => {
    await expect(operator.run('plan', 'show', 'gold')).rejects.toThrow(ArgumentError);
    operator.env = { MAYFLY_PLANS: '{"gold": {}}' };
    await expect(operator.run('plan', 'list')).rejects.toThrow(ConfigError);
  });
});
