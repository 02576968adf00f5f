/** A mayfly: two pairs of wings, a body and its tails. Drawn for this project. */
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" role="img" aria-label="Mayfly">
<g fill="#7cc4b8" fill-opacity=".85" stroke="#1f6f63" stroke-width="1.5" stroke-linejoin="round">
<path d="M31 26C22 8 10 4 5 8c-4 5 6 17 25 22z"/>
<path d="M33 26C42 8 54 4 59 8c4 5-6 17-25 22z"/>
<path d="M30 31C20 29 12 32 11 36c0 4 10 4 20-2z"/>
<path d="M34 31c10-2 18 1 19 5 0 4-10 4-20-2z"/>
</g>
<g fill="none" stroke="#1f4f48" stroke-linecap="round">
<path d="M32 20v24" stroke-width="5"/>
<path d="M32 44c0 6-3 11-8 16M32 44v17M32 44c0 6 3 11 8 16" stroke-width="1.8"/>
<path d="M31 18c-1-4-3-6-6-7M33 18c1-4 3-6 6-7" stroke-width="1.5"/>
</g>
<circle cx="32" cy="19" r="4" fill="#1f4f48"/>
</svg>
`;

/** Adds a bar with the logo and the name, and hides columns that are always empty. */
const STYLE = `
body { margin: 0; }
body::before {
  content: 'Mayfly API';
  display: block;
  padding: 14px 20px 14px 74px;
  font: 600 22px/36px system-ui, sans-serif;
  color: #143d37;
  background: #e6f4f1 url('data:image/svg+xml;base64,${Buffer.from(LOGO).toString('base64')}') no-repeat 22px center / 40px 40px;
  border-bottom: 1px solid #b9ddd6;
}
.swagger-ui .info { margin: 28px 0 20px; }
.swagger-ui .info .title small.version-stamp { background-color: #1f6f63; }
.swagger-ui .scheme-container { box-shadow: none; border-bottom: 1px solid #d8e6e3; padding: 16px 0; }
.swagger-ui .btn.authorize { color: #1f6f63; border-color: #1f6f63; }
.swagger-ui .btn.authorize svg { fill: #1f6f63; }
.swagger-ui .servers-title, .swagger-ui .servers, .swagger-ui .response-col_links { display: none; }
.swagger-ui .btn.execute { background-color: #1f6f63; border-color: #1f6f63; }
`;

/** The page loads files of this server only, but uses inline styles and images in data URLs. */
const CSP =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

interface Page {
  type: string;
  body: string;
  headers?: Record<string, string>;
}

/** @param files path of the folder that contains the page's files, relative to the page */
const html = (files: string): Page => ({
  type: 'text/html; charset=utf-8',
  headers: { 'content-security-policy': CSP },
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
});
`;

export const PAGES: Record<string, Page> = {
  '/docs': html('docs/static'),
  '/docs/': html('static'),
  '/docs/static/start.js': { type: 'text/javascript; charset=utf-8', body: START },
  '/docs/static/mayfly.css': { type: 'text/css; charset=utf-8', body: STYLE },
  '/docs/static/mayfly.svg': { type: 'image/svg+xml', body: LOGO },
};
