import { Ajv2020 } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import type { Body } from './api-client.ts';

/** A document with every object closed: a field that is sent but not described is an error. */
function closed(node: Body): Body {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  const open = node.type === 'object' && node.properties && node.additionalProperties === undefined;
  return open ? { ...copy, additionalProperties: false } : copy;
}

/**
 * Checks JSON against the schemas of an OpenAPI document.
 * @returns what is wrong with a value by a schema of the document; '' for nothing
 */
export function answerChecker(document: Body): (schema: Body, value: unknown) => string {
  const ajv = new Ajv2020({
    strict: false,
    formats: {
      byte: true,
      date: fullFormats.date,
      'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    },
  });
  const { schemas } = closed(document.components);
  return (schema, value) => {
    const valid = ajv.compile({ ...schema, components: { schemas } });
    return valid(value) ? '' : JSON.stringify(valid.errors);
  };
}
