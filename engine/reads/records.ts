import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox'
import { namePairsOf, type MemberName } from '../../platform/kit/member-names.ts'

type ReadOnly<Value> = Value extends readonly (infer Item)[] ? readonly ReadOnly<Item>[] : Value

type IfLeftOut<Values, Name extends keyof Values, Value> = object extends Pick<Values, Name> ? Value : never

/**
 * The values of a record. Its own members are in camelCase, in any casing of the record. The members of nested parts
 * have the names of the record.
 */
export type ValuesOf<Schema extends TSchema> = {
  readonly [Name in keyof Static<Schema> as Name extends string ? MemberName<Name> : never]:
    | ReadOnly<Static<Schema>[Name]>
    | IfLeftOut<Static<Schema>, Name, undefined>
}

/**
 * A record with the members of its schema, in the order of the schema, because rows and states have other orders. Other
 * members of the values are ignored, so that a row or a state may be spread into them.
 */
export function toRecord<Properties extends TProperties>(
  schema: TObject<Properties>,
  values: ValuesOf<TObject<Properties>>,
): Static<TObject<Properties>> {
  const given: Readonly<Record<string, unknown>> = values
  const record: Record<string, unknown> = {}
  for (const { name, member } of namePairsOf(schema.properties)) {
    const value = given[member]
    if (typeof value === 'object' && value !== null) record[name] = inOrder(schema.properties[name], value)
    else if (value !== undefined) record[name] = value
  }
  // The values have all members of the schema, each of its type.
  return record as Static<TObject<Properties>>
}

/** The values of a part of a body, by their members. A value that may be left out and is, is null. */
type WholeValuesOf<Schema extends TSchema> = {
  readonly [Name in keyof Static<Schema> as Name extends string ? MemberName<Name> : never]-?:
    | Static<Schema>[Name]
    | IfLeftOut<Static<Schema>, Name, null>
}

/** The way back from a part of a body to its values, as an event stores them. */
export function wholeValues<Properties extends TProperties>(
  schema: TObject<Properties>,
  part: Static<TObject<Properties>>,
): WholeValuesOf<TObject<Properties>> {
  const given = new Map<string, unknown>(Object.entries(part))
  const values = namePairsOf(schema.properties).map(({ name, member }) => [member, given.get(name) ?? null] as const)
  // The part has all members of the schema that may not be left out, each of its type.
  return Object.fromEntries(values) as WholeValuesOf<TObject<Properties>>
}

/** A part of a record in the order of its schema. */
function inOrder(schema: TSchema | undefined, value: unknown): unknown {
  if (schema === undefined || typeof value !== 'object' || value === null) return value
  if (Type.IsUnion(schema)) return inOrder(schema.anyOf.find(hasParts), value)
  if (Type.IsArray(schema)) return Array.isArray(value) ? value.map((item) => inOrder(schema.items, item)) : value
  if (!Type.IsObject(schema)) return value
  const given = new Map<string, unknown>(Object.entries(value))
  const names = Object.keys(schema.properties).filter((name) => given.get(name) !== undefined)
  return Object.fromEntries(names.map((name) => [name, inOrder(schema.properties[name], given.get(name))]))
}

function hasParts(schema: TSchema): boolean {
  return Type.IsObject(schema) || Type.IsArray(schema)
}
