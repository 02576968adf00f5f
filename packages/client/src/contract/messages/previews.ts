import { type Static, Type } from 'typebox';
import { closed, Timestamp } from '../common.ts';

/** Body of `POST /v1/inboxes/{id}/messages/{messageId}/preview`; all of it is optional. */
export const PreviewRequest = Type.Object(
  {
    remoteContent: Type.Optional(
      Type.Boolean({
        description:
          'Whether the page may load images, fonts and style sheets from other servers; their operators then see that the message was opened. Default: false.',
      }),
    ),
  },
  {
    ...closed,
    $id: 'PreviewRequest',
    description: 'How the message is shown. All fields are optional.',
    examples: [{}, { remoteContent: true }],
  },
);
export type PreviewRequest = Static<typeof PreviewRequest>;

/** A link to a message as a browser shows it. */
export const Preview = Type.Object(
  {
    url: Type.String({
      description:
        'URL of the page. It needs no credential and is valid until `expiresAt`. The page runs no script, has an opaque origin, and shows images of the message itself.',
      examples: ['https://mail.example.com/preview/pv_7Qh3vK9sLm2Xc8Rt4Wb6Yn1Zd5Fg0Hj3Pq9'],
    }),
    expiresAt: Timestamp('When the link ends.'),
    remoteCount: Type.Integer({
      description: 'Number of images, fonts, style sheets and other resources on other servers.',
      minimum: 0,
    }),
  },
  { $id: 'Preview', description: 'A link to a message as a browser shows it.' },
);
export type Preview = Static<typeof Preview>;
