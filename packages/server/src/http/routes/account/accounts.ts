import { CreateAccount, CreatedAccount } from '@mayfly/client/contract';
import { createSignUp } from '../../../accounts/sign-up.ts';
import type { App, RouteContext } from '../../context.ts';
import { problemAnswer } from '../../response/openapi-responses.ts';

/** Sign-up without an operator. Where it is off nothing is registered: the path is as unknown as any. */
export function accountRoutes(app: App, { options, deps }: RouteContext): void {
  const { signUpPlan = null } = options;
  if (signUpPlan === null) return;
  const signUp = createSignUp(deps.store.accounts, deps.clock, signUpPlan);

  app.route({
    method: 'POST',
    url: '/v1/accounts',
    config: { access: 'public' },
    schema: {
      operationId: 'createAccount',
      tags: ['Accounts'],
      summary: 'Sign up',
      description:
        'Creates an account with its first API key; only this response shows the key. Needs no credential. Exists only where the operator allows sign-up.',
      body: CreateAccount,
      response: {
        201: {
          description: 'The new account and its key.',
          content: { 'application/json': { schema: CreatedAccount } },
        },
        429: problemAnswer('`rate_limited`: too many sign-ups within a minute.'),
      },
    },
    handler: async (request, reply) => {
      const { account, key } = await signUp(request.body.name);
      deps.log.info({ requestId: request.id, accountId: account.id }, 'signed up');
      reply.code(201).header('cache-control', 'no-store');
      const { id, name, plan } = account;
      return { account: { id, name, plan }, key } satisfies CreatedAccount;
    },
  });
}
