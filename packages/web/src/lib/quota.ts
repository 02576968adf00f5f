import { signal } from '@preact/signals';

/** The monthly quota as of the last response; null without a quota. */
export const quota = signal<{ limit: number; remaining: number; resetAt: number } | null>(null);

/** Stores the quota from the headers of a response, which are "unlimited" without a quota. */
export function noteQuota({ headers }: Response): void {
  const number = (name: string) => Number(headers.get(`x-quota-${name}`) ?? Number.NaN);
  const [limit, remaining, reset] = [number('limit'), number('remaining'), number('reset')];
  if (limit > 0 && remaining >= 0) quota.value = { limit, remaining, resetAt: reset * 1000 };
}
