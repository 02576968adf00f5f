import { signal } from '@preact/signals';

/** What the last response said of the month's quota; null without a quota. */
export const quota = signal<{ limit: number; remaining: number; resetAt: number } | null>(null);

/** Keeps the quota that a response states. The header of an account without a quota says "unlimited". */
export function noteQuota({ headers }: Response): void {
  const number = (name: string) => Number(headers.get(`x-quota-${name}`) ?? Number.NaN);
  const [limit, remaining, reset] = [number('limit'), number('remaining'), number('reset')];
  if (limit > 0 && remaining >= 0) quota.value = { limit, remaining, resetAt: reset * 1000 };
}
