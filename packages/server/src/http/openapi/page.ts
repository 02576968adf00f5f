import { afterResponse, beforeRequest } from './page-requests.ts';
import { LOGO, STYLE } from './theme.ts';

/** The page loads its own files only; it styles elements inline and draws images from data URLs. */
const CSP =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

interface Page {
  headers: Record<string, string>;
  body: string;
}

const file = (type: string, body: string): Page => ({ headers: { 'content-type': type }, body });

/** @param files path of the folder of its files, relative to the page */
const html = (files: string): Page => ({
  headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': CSP },
  body: `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<title>Mayfly API</title>
<link rel="stylesheet" href="${files}/swagger-ui.css">
<link rel="stylesheet" href="${files}/mayfly.css">
<link rel="icon" type="image/svg+xml" href="${files}/mayfly.svg">
</head>
<body>
<div id="swagger-ui"></div>
<script src="${files}/swagger-ui-bundle.js"></script>
<script src="${files}/start.js"></script>
</body>
</html>
`,
});

const START = `const url = new URL('../../openapi.json', document.currentScript.src).href;
window.onload = () => SwaggerUIBundle({
  url,
  dom_id: '#swagger-ui',
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis],
  // Without the bar that loads descriptions from elsewhere.
  layout: 'BaseLayout',
  persistAuthorization: false,
  validatorUrl: null,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  requestInterceptor: ${beforeRequest},
  responseInterceptor: ${afterResponse},
});
`;

export const PAGES: Record<string, Page> = {
  '/docs': html('docs/static'),
  '/docs/': html('static'),
  '/docs/static/start.js': file('text/javascript; charset=utf-8', START),
  '/docs/static/mayfly.css': file('text/css; charset=utf-8', STYLE),
  '/docs/static/mayfly.svg': file('image/svg+xml', LOGO),
};
