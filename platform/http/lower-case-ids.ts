import type { TSchema } from 'typebox'

/** What of a JSON schema leads to ids. */
interface Shape {
  readonly format?: string
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
  readonly properties?: Readonly<Record<string, Shape>>
}

type Rewrite = (value: unknown) => unknown

/** Makes a function that returns a valid value with its UUIDs in lower case. The given value stays as it is. */
export function lowerCaseIds(schema: TSchema | undefined): <Value>(value: Value) => Value {
  const rewrite = schema === undefined ? undefined : rewriteOf(schema)
  // Texts stay texts and members stay members.
  return <Value>(value: Value) => (rewrite === undefined ? value : (rewrite(value) as Value))
}

/** Undefined where the schema has no ids. */
function rewriteOf({ format, items, anyOf, properties }: Shape): Rewrite | undefined {
  if (format === 'uuid') return (value) => (typeof value === 'string' ? value.toLowerCase() : value)
  if (items !== undefined) {
    const item = rewriteOf(items)
    return item && ((value) => (Array.isArray(value) ? value.map(item) : value))
  }
  if (anyOf !== undefined) {
    const alternatives = anyOf.map(rewriteOf).filter((rewrite) => rewrite !== undefined)
    if (alternatives.length === 0) return undefined
    return (value) => alternatives.reduce((rewritten, rewrite) => rewrite(rewritten), value)
  }
  const members = Object.entries(properties ?? {}).flatMap(([name, shape]) => {
    const member = rewriteOf(shape)
    return member === undefined ? [] : [{ name, member }]
  })
  if (members.length === 0) return undefined
  return (value) => {
    if (typeof value !== 'object' || value === null) return value
    const rewritten: Record<string, unknown> = { ...value }
    for (const { name, member } of members) {
      if (name in rewritten) rewritten[name] = member(rewritten[name])
    }
    return rewritten
  }
}
