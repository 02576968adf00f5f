const signedHeader = (name: string, description: string, example: string) => ({
  in: 'header',
  name,
  required: true,
  description,
  schema: { type: 'string' },
  example,
});

/** A tag of its own: openapi-generator drops a webhook whose tag an operation of a path has. */
export const EVENTS_TAG = 'Events';

/** The requests that Mayfly sends to webhooks (OpenAPI 3.1, `webhooks`). */
export const WEBHOOKS = {
  'message.received': {
    post: {
      operationId: 'messageReceived',
      tags: [EVENTS_TAG],
      summary: 'A new message arrived',
      description:
        'Sent to each matching webhook, signed as the Standard Webhooks specification says: verify it with one of its libraries and the secret of the webhook. An event is delivered at least once, so the same `webhook-id` may arrive again. Respond with 2xx within 15 seconds. Any other response is retried after 5 s, 30 s, 2 min, 10 min, 30 min, 2 h and 6 h, each ± 20 %, or later if `Retry-After` says so.',
      security: [],
      parameters: [
        signedHeader(
          'webhook-id',
          'Identifier of the event; the same for every attempt and every replay.',
          'evt_01kk4m6c8rq2t5v7w9x1y3z5b7',
        ),
        signedHeader(
          'webhook-timestamp',
          'When this attempt was made, in seconds since 1970-01-01T00:00:00Z.',
          '1772600767',
        ),
        signedHeader(
          'webhook-signature',
          'One `v1,` and base64 for each secret, separated by spaces: HMAC-SHA256 over `webhook-id.webhook-timestamp.body`. There are two for 24 hours after a rotation.',
          'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/MessageReceivedEvent' } } },
      },
      responses: {
        '2XX': {
          description: 'Received. The body is ignored, except that its first kilobyte is logged.',
        },
        410: { description: 'The endpoint wants no more events: the webhook is disabled at once.' },
        default: { description: 'Not received: the delivery is retried.' },
      },
    },
  },
};
