/** The OpenAPI document of the API: `npm run openapi` writes it. */
export const OPENAPI_FILE = new URL('../../../../../openapi.json', import.meta.url);
