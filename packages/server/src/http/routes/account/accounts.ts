import { CreateAccount, CreatedAccount } from '@mayfly/client/contract';
import { createSignUp, SIGN_UPS_PER_ADDRESS, SIGN_UPS_PER_MINUTE } from '../../../accounts/sign-up.ts';
import { sourceKey } from '../../../inbound/source-key.ts';
import type { App, RouteContext } from '../../context.ts';
import { problemResponse, RETRY_AFTER } from '../../openapi/responses.ts';

/** Sign-up without an operator. Where it is off, no route is registered and the path is unknown. */
export function accountRoutes(app: App, { options, deps }: RouteContext): void {
  const { signUpPlan = null } = options;
  if (signUpPlan === null) return;
  const signUp = createSignUp(deps.store, deps.clock, signUpPlan);

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
        429: problemResponse(
          `\`rate_limited\`: more than ${SIGN_UPS_PER_ADDRESS} sign-ups from one address in 10 minutes, or more than ${SIGN_UPS_PER_MINUTE} from all in a minute.`,
          RETRY_AFTER,
        ),
      },
    },
    handler: async (request, reply) => {
      const { account, key } = await signUp(request.body.name, sourceKey(request.ip));
      deps.log.info({ requestId: request.id, accountId: account.id }, 'An account was created by sign-up');
      reply.code(201).header('cache-control', 'no-store');
      const { id, name, plan } = account;
      return { account: { id, name, plan }, key } satisfies CreatedAccount;
    },
  });
}
