/** Rarely used views of a message, loaded when the first message is shown. */
export { AttachmentDialog } from './attachment.tsx';
export { Headers } from './headers.tsx';
export { Json } from './json.tsx';
export { Lint } from './lint.tsx';
export { Parts } from './parts.tsx';
export { ReplyDialog } from './reply.tsx';
export { Source } from './source.tsx';
export { Timeline } from './timeline.tsx';
