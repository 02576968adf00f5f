export { type Answer, Api, type Asked, Refused, refusalOf } from './api.ts';
export { Mailbox } from './mailbox.ts';
export { MAILHOG } from './mailhog/routes.ts';
export { MAILPIT } from './mailpit/routes.ts';
export { Pop3Connection } from './pop3/connection.ts';
export type { Credentials, Maildrop } from './pop3/session.ts';
export type { Call, Reply, Route } from './route.ts';
