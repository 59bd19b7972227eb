import { isDeepStrictEqual } from 'node:util'
import { isObject, listOf, objectOf, resolved, type Json, type JsonObject } from './json.ts'

export const lower = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
export const upper = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
/** Keywords that constrain no value. */
export const annotations = ['title', 'description', 'examples', 'default', 'deprecated']

/** One schema for the values that both take. Undefined if there are none. */
export function merged(one: JsonObject, other: JsonObject): JsonObject | undefined {
  const [types, otherTypes] = [typesOf(one), typesOf(other)]
  const common = commonTypes(types, otherTypes)
  const [values, otherValues] = [valuesOf(one), valuesOf(other)]
  const isTaken = (value: Json) => otherValues?.some((second) => isDeepStrictEqual(value, second)) ?? true
  const fixed = values?.filter(isTaken) ?? otherValues
  if ((types.length > 0 && otherTypes.length > 0 && common.length === 0) || fixed?.length === 0) return undefined
  const { const: _, ...members } = { ...one, ...other }
  const shared = Object.keys(one).filter((key) => key in other && key !== 'const')
  return {
    ...members,
    ...Object.fromEntries(shared.map((key) => [key, bothOf(key, one[key] ?? null, other[key] ?? null)])),
    ...(common.length === 0 ? {} : { type: common }),
    ...(fixed === undefined ? {} : { enum: fixed }),
  }
}

/** A keyword that both have. */
function bothOf(key: string, one: Json, other: Json): Json {
  if (isDeepStrictEqual(one, other) || annotations.includes(key)) return one
  if (key === 'properties') return joined(objectOf(one), objectOf(other))
  if (key === 'required') return [...new Set([...listOf(one), ...listOf(other)])]
  if (key === 'not') return { anyOf: [...excludedBy({ not: one }), ...excludedBy({ not: other })] }
  if (lower.includes(key)) return Math.max(Number(one), Number(other))
  if (upper.includes(key)) return Math.min(Number(one), Number(other))
  if (one === false || other === false) return false
  return isObject(one) && isObject(other) ? { allOf: [one, other] } : [one, other].flat()
}

function joined(one: JsonObject, other: JsonObject): JsonObject {
  const both = Object.keys(one).filter((name) => name in other)
  const members = both.map((name) => [name, bothOf('', one[name] ?? {}, other[name] ?? {})] as const)
  return { ...one, ...other, ...Object.fromEntries(members) }
}

function commonTypes(types: readonly string[], others: readonly string[]): readonly string[] {
  if (types.length === 0 || others.length === 0) return [...types, ...others]
  const within = (some: readonly string[], all: readonly string[]) =>
    some.filter((type) => all.includes(type) || (type === 'integer' && all.includes('number')))
  return [...new Set([...within(types, others), ...within(others, types)])]
}

/** The alternatives that `not` excludes. */
export function excludedBy({ not }: JsonObject): readonly Json[] {
  if (not === undefined) return []
  const { anyOf, ...others } = objectOf(not)
  return anyOf !== undefined && Object.keys(others).length === 0 ? listOf(anyOf) : [not]
}

/** A schema with the contents of its references and without annotations, to compare it as a whole. */
export function bare(document: JsonObject, schema: Json, open: readonly string[] = []): Json {
  if (Array.isArray(schema)) return schema.map((part) => bare(document, part, open))
  if (!isObject(schema)) return schema
  const reference = schema['$ref']
  if (typeof reference === 'string' && open.includes(reference)) return reference
  const inner = typeof reference === 'string' ? [...open, reference] : open
  const members = Object.entries(resolved(document, schema)).filter(([key]) => !annotations.includes(key))
  return Object.fromEntries(
    members.map(([key, part]) => {
      if (key !== 'properties') return [key, bare(document, part ?? null, inner)]
      const named = Object.entries(objectOf(part))
      return [key, Object.fromEntries(named.map(([name, member]) => [name, bare(document, member ?? null, inner)]))]
    }),
  )
}

export function typesOf(schema: JsonObject): readonly string[] {
  const given = [schema['type'] ?? []].flat().filter((type) => typeof type === 'string')
  if (given.length > 0) return given
  const values = valuesOf(schema) ?? []
  return [...new Set(values.map((value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)))]
}

export function valuesOf(schema: JsonObject): readonly Json[] | undefined {
  if (schema['const'] !== undefined) return [schema['const']]
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined
}
