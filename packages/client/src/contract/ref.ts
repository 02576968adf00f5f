import { type Static, type TSchema, Type } from 'typebox';

/** References a schema that has an `$id`, so that OpenAPI contains one named component and no copies. */
export function ref<T extends TSchema>(schema: T) {
  if (!('$id' in schema)) throw new Error('only a schema with an $id can be referred to');
  return Type.Unsafe<Static<T>>({ $ref: `${schema.$id}#` });
}

/** The schema, or null. */
export function nullable<T extends TSchema>(schema: T, options: { description?: string } = {}) {
  return Type.Union([schema, Type.Null()], options);
}
