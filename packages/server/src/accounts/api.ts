import { CreateAccount, CreatedAccount, ref } from '@mayfly/client/contract';
import { AppError } from '../errors.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { sourceKey } from '../text/source-key.ts';
import { createSignUp, SIGN_UPS_PER_ADDRESS, SIGN_UPS_PER_MINUTE } from './sign-up.ts';

export function accountRoutes(app: App, { options, deps }: RouteContext): void {
  const { signUpPlan = null } = options;
  const signUp = signUpPlan === null ? null : createSignUp(deps.store, deps.clock, signUpPlan);

  app.route({
    method: 'POST',
    url: '/v1/accounts',
    config: { access: 'public', errors: ['not_found', 'rate_limited'] },
    schema: {
      operationId: 'createAccount',
      tags: ['Accounts'],
      summary: 'Sign up',
      description: `Creates an account with its first API key; only this response shows the key. Needs no credential. Where the operator does not allow sign-up the response is 404. One address may sign up ${SIGN_UPS_PER_ADDRESS} times in 10 minutes, all together ${SIGN_UPS_PER_MINUTE} times a minute.`,
      body: ref(CreateAccount),
      response: { 201: json(CreatedAccount, 'The new account and its key.') },
    },
    handler: async (request, reply) => {
      if (!signUp) throw signUpOff();
      const { account, key } = await signUp(request.body.name, sourceKey(request.ip));
      deps.log.info({ requestId: request.id, accountId: account.id }, 'An account was created by sign-up');
      reply.code(201).header('cache-control', 'no-store');
      const { id, name, plan } = account;
      return { account: { id, name, plan }, key } satisfies CreatedAccount;
    },
  });
}

const signUpOff = (): AppError =>
  new AppError('not_found', 'This server has no sign-up. Ask its operator for an account.');
