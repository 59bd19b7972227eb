import { Type, type Static, type TNull, type TSchema } from 'typebox'

/** The reply of a command route: status, record and location. */
export interface CommandReply<Record, Params> {
  readonly status: 200 | 201 | 202 | 204
  readonly schema: TSchema
  /** Path below the service's documented mount. */
  readonly location?: (record: Record, params: Params) => string
  /** A create that finds an equal record answers 200 with it. */
  readonly mayFind?: boolean
}

type LocationOf<Schema extends TSchema, Params> = (record: Static<Schema>, params: Params) => string

/** 201 with Location. */
export function created<Schema extends TSchema, Params>(
  schema: Schema,
  location: LocationOf<Schema, Params>,
): CommandReply<Static<Schema>, Params> {
  return { status: 201, schema, location }
}

/** 201 with Location, or 200 if `handle` found an equal record. */
export function createdOrFound<Schema extends TSchema, Params>(
  schema: Schema,
  location: LocationOf<Schema, Params>,
): CommandReply<Static<Schema>, Params> {
  return { status: 201, schema, location, mayFind: true }
}

/** 202 with Location. Work follows. */
export function accepted<Schema extends TSchema, Params>(
  schema: Schema,
  location: LocationOf<Schema, Params>,
): CommandReply<Static<Schema>, Params> {
  return { status: 202, schema, location }
}

/** 202 with Location, or 200 if `handle` found a record that serves instead. */
export function acceptedOrFound<Schema extends TSchema, Params>(
  schema: Schema,
  location: LocationOf<Schema, Params>,
): CommandReply<Static<Schema>, Params> {
  return { status: 202, schema, location, mayFind: true }
}

/** 200 with the record after the command. */
export function changed<Schema extends TSchema>(schema: Schema): CommandReply<Static<Schema>, unknown> {
  return { status: 200, schema }
}

/** 204 without a body. */
export const deleted: CommandReply<Static<TNull>, unknown> = {
  status: 204,
  schema: Type.Null({ description: 'Deleted' }),
}
