export type { WebSocket } from 'ws';
export { type Answer, Api, type Asked, Refused } from './api.ts';
export { createChanges, type Owner } from './changes.ts';
export { Mailbox } from './mailbox.ts';
export { MAILHOG } from './mailhog/routes.ts';
export { createWebSockets, MAX_FOLLOWERS, sendEvents } from './mailpit/events.ts';
export { MAILPIT } from './mailpit/routes.ts';
export type { Call, Reply, Route } from './route.ts';
