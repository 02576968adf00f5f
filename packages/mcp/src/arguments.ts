/** Validates arguments of tools, with error messages from which a model can correct its call. */
import type { JsonSchemaType } from '@modelcontextprotocol/server';

/** The parts of JSON Schema that the tools use. */
interface Property {
  type?: string;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
}
interface Schema {
  properties: Record<string, Property>;
  required?: string[];
}

function expectation({ type, enum: values, minimum, maximum }: Property): string {
  if (values) return `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
  if (type === 'object') return 'an object of names and texts';
  if (type === 'string') return 'a text';
  if (type === 'boolean') return 'true or false';
  const range = maximum === undefined ? `${minimum} or more` : `from ${minimum} to ${maximum}`;
  return `a whole number, ${range}`;
}

function fits(value: unknown, { type, enum: values, minimum = 0, maximum = Infinity }: Property): boolean {
  if (values) return values.some((one) => one === value);
  if (type === 'string' || type === 'boolean') return typeof value === type;
  if (type === 'integer')
    return Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum;
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((one) => typeof one === 'string')
  );
}

/** The errors in the arguments of a tool, as sentences; empty if they are valid. */
export function problemsOf(input: unknown, schema: JsonSchemaType): string[] {
  const { properties, required = [] } = schema as unknown as Schema;
  const given = Object.entries(Object(input) as object).filter(([, value]) => value !== undefined);
  const names = Object.keys(properties).join(', ');
  const missing = required.filter((name) => !given.some(([one]) => one === name));
  return [
    ...missing.map((name) => `"${name}" is missing.`),
    ...given.flatMap(([name, value]) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (!property) return [`"${name}" is not an argument of this tool. Arguments are: ${names}.`];
      if (fits(value, property)) return [];
      return [`"${name}" must be ${expectation(property)}, not ${JSON.stringify(value)}.`];
    }),
  ];
}
