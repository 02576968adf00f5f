import { type Static, type TSchema, Type } from 'typebox';

/** Points at a schema that has an `$id`, so that OpenAPI shows one named component and not a copy. */
export function ref<T extends TSchema>(schema: T) {
  if (!('$id' in schema)) throw new Error('only a schema with an $id can be referred to');
  return Type.Unsafe<Static<T>>({ $ref: `${schema.$id}#` });
}

/** The value, or null where there is none. */
export function nullable<T extends TSchema>(schema: T, options: { description?: string } = {}) {
  return Type.Union([schema, Type.Null()], options);
}
