import type { Provider, ProviderName, Secrets } from '@mayfly/providers/border';
import type { Store } from '../store.ts';
import type { Item } from './sql.ts';

export interface ProviderSettingsRecord {
  webhookUrl: string | null;
  inboundUrl: string | null;
  secrets: Secrets;
  /** Base URL of the provider's public files for this account. */
  baseUrl: string;
}

/** Loads the providers' code at first use, so that the server starts faster. @throws Error if unknown */
export async function providerNamed(name: ProviderName): Promise<Provider> {
  const { PROVIDERS } = await import('@mayfly/providers');
  const provider = PROVIDERS.find((one) => one.name === name);
  if (!provider) throw new Error(`There is no provider ${name}.`);
  return provider;
}

export const settingsItem = (accountId: string, provider: ProviderName): Item => ({
  ...{ owner: { id: accountId, accountId }, provider, kind: 'settings', name: '' },
});

export async function findSettings(
  { providerItems }: Pick<Store, 'providerItems'>,
  accountId: string,
  provider: ProviderName,
  now: number,
): Promise<ProviderSettingsRecord | undefined> {
  const found = await providerItems.find(settingsItem(accountId, provider), now);
  return found?.value as ProviderSettingsRecord | undefined;
}
