export { type Answer, Api, type Asked, Refused } from './api.ts';
export { Mailbox } from './mailbox.ts';
export { MAILHOG } from './mailhog/routes.ts';
export { MAILPIT } from './mailpit/routes.ts';
export type { Call, Reply, Route } from './route.ts';
