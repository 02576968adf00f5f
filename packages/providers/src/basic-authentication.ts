import { randomBytes } from 'node:crypto';
import type { Secrets } from './provider.ts';

/** For providers whose webhooks use basic authentication. Rails' Action Mailbox expects this user name. */
const USERNAME = 'actionmailbox';

export const makePassword = (): { username: string; password: string } => ({
  username: USERNAME,
  password: randomBytes(24).toString('base64url'),
});

export const shownPassword = ({ username = '', password = '' }: Secrets) => ({ username, password });

export const basicAuthorization = ({ username, password }: Secrets) => ({
  authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
});
