import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import fastify from 'fastify';
import type { App } from '../context.ts';
import { afterResponse, beforeRequest } from './page-requests.ts';
import { LOGO, STYLE } from './theme.ts';

/** The pages load their own files only; they style elements inline and draw images from data URLs. */
const PAGES_CSP =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

/**
 * An app that serves pages below `/docs` on which people read the API description and send requests.
 * @param document OpenAPI 3.1
 */
export async function referencePages(document: object): Promise<App> {
  const app: App = fastify();
  await app.register(swagger, {
    mode: 'static',
    // biome-ignore lint/suspicious/noExplicitAny: the plugin types documents of OpenAPI 2 and 3.0 only.
    specification: { document: document as any },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: PAGES_CSP,
    uiConfig: {
      // Without the bar that loads descriptions from elsewhere.
      layout: 'BaseLayout',
      persistAuthorization: false,
      validatorUrl: null,
      tryItOutEnabled: true,
      displayRequestDuration: true,
      requestInterceptor: beforeRequest,
      responseInterceptor: afterResponse,
      defaultModelsExpandDepth: 0,
    },
    theme: {
      title: 'Mayfly API',
      css: [{ filename: 'mayfly.css', content: STYLE }],
      favicon: [{ filename: 'mayfly.svg', rel: 'icon', type: 'image/svg+xml', sizes: 'any', content: LOGO }],
    },
  });
  await app.ready();
  return app;
}
