import { signal } from '@preact/signals';

/** What the last response said of the month's quota; null without a quota. */
export const quota = signal<{ limit: number; remaining: number; resetAt: number } | null>(null);

/** `fetch`, which also notes the quota that the response states. */
export const fetchAndNoteQuota: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const number = (name: string) => Number(response.headers.get(`x-quota-${name}`) ?? Number.NaN);
  const [limit, remaining, reset] = [number('limit'), number('remaining'), number('reset')];
  // The header of an account without a quota says "unlimited".
  if (limit > 0 && remaining >= 0) quota.value = { limit, remaining, resetAt: reset * 1000 };
  return response;
};
