import { GenerateAddress, GeneratedAddress, ref } from '@mayfly/client/contract';
import { MINUTE_MS } from '../clock.ts';
import { AppError } from '../errors.ts';
import { keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { toTime } from '../http/response/time.ts';
import { quoted } from '../text/nearest.ts';
import { type AddressParts, anyAddress, onFreeAddress, servedDomain } from './address-parameters.ts';

/** A generated address is reserved for the account for this long. */
const ADDRESS_HOLD_MS = 10 * MINUTE_MS;

export function addressRoutes(app: App, { options, deps }: RouteContext): void {
  const { store, clock } = deps;

  app.route({
    method: 'POST',
    url: '/v1/addresses/generate',
    config: { access: 'account:write' },
    schema: {
      operationId: 'generateAddress',
      tags: ['Addresses'],
      summary: 'Generate a free address',
      description:
        'Returns a random free address without creating an inbox. It is reserved for your account for 10 minutes: pass it as `address` to create an inbox with it.',
      body: ref(GenerateAddress),
      response: { 200: json(GeneratedAddress, 'The address.') },
    },
    handler: async (request) => {
      const { account } = keyCaller(request);
      const domain = await servedDomain(request.body.domain, {
        accountId: account.id,
        configured: options.domains,
        owned: store.domains,
      });
      const now = clock.now();
      const heldUntil = now + ADDRESS_HOLD_MS;
      const parts = await onFreeAddress(anyAddress(domain), async (free) => {
        if (await store.addresses.hold(account.id, free.address, heldUntil, now)) return free;
        throw new AppError(
          'address_taken',
          `No free random address was found under ${quoted(domain)}. Retry the request.`,
        );
      });
      return toGeneratedAddress(parts, heldUntil);
    },
  });
}

function toGeneratedAddress(parts: AddressParts, heldUntil: number): GeneratedAddress {
  return { ...parts, heldUntil: toTime(heldUntil) };
}
