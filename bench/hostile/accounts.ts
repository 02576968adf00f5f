import type { Inbox, Mayfly } from '../support/mayfly.ts';

export interface OtherAccount {
  key: string;
  inbox: Inbox;
}

/** A second account, on a server that lets anybody sign up. */
export async function makeAccount({ url }: Mayfly): Promise<OtherAccount> {
  const post = async <T>(path: string, key: string | null, body: object): Promise<T> => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const { key } = await post<{ key: { key: string } | string }>('/v1/accounts', null, { name: 'other' });
  const text = typeof key === 'string' ? key : key.key;
  return { key: text, inbox: await post<Inbox>('/v1/inboxes', text, {}) };
}
