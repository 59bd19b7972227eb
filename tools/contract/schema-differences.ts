import { isDeepStrictEqual } from 'node:util'
import { isObject, listOf, objectOf, textOf, type Json, type JsonObject } from './json.ts'
import { formsOf } from './schema-forms.ts'
import { bare, excludedBy, lower, typesOf, upper, valuesOf } from './schema-merging.ts'

/** A difference that breaks a caller that was written for the released document. */
export interface Difference {
  /** Where: `GET /v1/patients 200 data[].status`. */
  readonly where: string
  readonly what: string
}

/** The released document and the present one. */
export interface Documents {
  readonly released: JsonObject
  readonly current: JsonObject
}

/** `sent`: the caller writes the value. `read`: the caller gets it. */
export type Direction = 'sent' | 'read'

interface Place {
  readonly documents: Documents
  readonly direction: Direction
  readonly where: string
  /** Pairs of references on the way here: schemas may contain themselves. */
  readonly seen: ReadonlySet<string>
}

/** Characters of a value in a report. */
const longestShown = 60

/**
 * What breaks between two schemas of one value. A sent value may only be taken more widely. A read value may only become
 * more certain; its new members and values are compatible, because callers ignore unknown ones.
 */
export function schemaDifferences(
  documents: Documents,
  direction: Direction,
  where: string,
  released: Json | undefined,
  current: Json | undefined,
): Difference[] {
  return compare({ documents, direction, where, seen: new Set() }, released ?? {}, current ?? {})
}

function compare(place: Place, released: Json, current: Json): Difference[] {
  const pair = JSON.stringify([objectOf(released)['$ref'] ?? null, objectOf(current)['$ref'] ?? null])
  if (objectOf(released)['$ref'] !== undefined && place.seen.has(pair)) return []
  const inner = { ...place, seen: new Set([...place.seen, pair]) }
  const { documents, direction, where } = inner
  const [before, after] = [formsOf(documents.released, released), formsOf(documents.current, current)]
  const found: Difference[] = []
  if (direction === 'sent' && before.isNullable && !after.isNullable)
    found.push({ where, what: 'no longer takes null' })
  if (direction === 'read' && !before.isNullable && after.isNullable) found.push({ where, what: 'may be null' })

  const left = [...after.forms]
  const unmatched = before.forms.filter((form) => {
    const index = left.findIndex((other) => other.name === form.name)
    const [other] = index === -1 ? [] : left.splice(index, 1)
    if (other === undefined) return true
    const isOnly = before.forms.length === 1 && after.forms.length === 1
    found.push(
      ...compareForms({ ...inner, where: isOnly ? where : `${where} (${form.name})` }, form.schema, other.schema),
    )
    return false
  })
  for (const form of unmatched) {
    // A form may have got another name, such as that of a new component.
    const tries = left.map((other) => compareForms(inner, form.schema, other.schema))
    const index = tries.findIndex((differences) => differences.length === 0)
    if (index !== -1) left.splice(index, 1)
    else if (left.length === 1 && unmatched.length === 1) {
      found.push(...(tries[0] ?? []))
      left.pop()
    } else if (direction === 'sent') found.push({ where, what: `no longer takes ${form.name}` })
  }
  const types = new Set(before.forms.flatMap(({ schema }) => typesOf(schema)))
  for (const { name, schema } of left)
    if (direction === 'read' && types.size > 0 && !typesOf(schema).every((type) => types.has(type)))
      found.push({ where, what: `may be ${name}, and was ${[...types].join(' or ')}` })
  return found
}

function compareForms(place: Place, before: JsonObject, after: JsonObject): Difference[] {
  const { direction, where } = place
  const [types, newTypes] = [typesOf(before), typesOf(after)]
  const taken = direction === 'sent' ? [newTypes, types] : [types, newTypes]
  if (!covers(taken[0] ?? [], taken[1] ?? []))
    return [{ where, what: `the type was ${types.join(' or ') || 'any'} and is ${newTypes.join(' or ') || 'any'}` }]
  return [
    ...(direction === 'sent' ? narrowed(where, before, after) : formatOf(where, before, after)),
    ...excluded(place, before, after),
    ...membersOf(place, before, after),
    ...(before['items'] === undefined && after['items'] === undefined
      ? []
      : compare({ ...place, where: `${where}[]` }, before['items'] ?? {}, after['items'] ?? {})),
  ]
}

/** Whether a schema of these types takes all values of the others. No types: any value. */
function covers(types: readonly string[], others: readonly string[]): boolean {
  if (types.length === 0) return true
  const has = (type: string) => types.includes(type) || (type === 'integer' && types.includes('number'))
  return others.length > 0 && others.every(has)
}

/** `not`: a sent value may be excluded where it was not, a read value may be what it was not. */
function excluded({ documents, direction, where }: Place, before: JsonObject, after: JsonObject): Difference[] {
  const was = excludedBy(before).map((one) => bare(documents.released, one))
  const is = excludedBy(after).map((one) => bare(documents.current, one))
  const without = (some: readonly Json[], others: readonly Json[]) =>
    some.filter((one) => !others.some((other) => isDeepStrictEqual(one, other)))
  return direction === 'sent'
    ? without(is, was).map((one) => ({ where, what: `no longer takes what fits ${shown(one)}` }))
    : without(was, is).map((one) => ({ where, what: `may fit ${shown(one)}` }))
}

/** Rules of a sent value that take less than before. */
function narrowed(where: string, before: JsonObject, after: JsonObject): Difference[] {
  const found: string[] = []
  const [values, newValues] = [valuesOf(before), valuesOf(after)]
  if (values === undefined && newValues !== undefined) found.push('takes fixed values only')
  const gone = values?.filter((value) => newValues?.some((other) => isDeepStrictEqual(value, other)) === false) ?? []
  if (gone.length > 0) found.push(`no longer takes ${gone.map((value) => JSON.stringify(value)).join(', ')}`)
  const was = (rule: string) => `${rule} was ${shown(before[rule])} and is ${shown(after[rule])}`
  for (const limit of lower)
    if (numberOf(after[limit], -Infinity) > numberOf(before[limit], -Infinity)) found.push(was(limit))
  for (const limit of upper)
    if (numberOf(after[limit], Infinity) < numberOf(before[limit], Infinity)) found.push(was(limit))
  for (const rule of ['pattern', 'format', 'multipleOf', 'uniqueItems'])
    if (after[rule] !== undefined && after[rule] !== false && !isDeepStrictEqual(after[rule], before[rule]))
      found.push(was(rule))
  return found.map((what) => ({ where, what }))
}

function formatOf(where: string, { format }: JsonObject, after: JsonObject): Difference[] {
  return format === undefined || isDeepStrictEqual(format, after['format'])
    ? []
    : [{ where, what: `format was ${shown(format)} and is ${shown(after['format'])}` }]
}

function membersOf(place: Place, before: JsonObject, after: JsonObject): Difference[] {
  const { direction, where } = place
  const [members, newMembers] = [objectOf(before['properties']), objectOf(after['properties'])]
  const [required, newRequired] = [listOf(before['required']), listOf(after['required'])]
  const isClosed = after['additionalProperties'] === false
  const below = (name: string) => (where.endsWith(' ') ? `${where}${name}` : `${where}.${name}`)
  const found = Object.entries(members).flatMap(([name, member]): Difference[] => {
    const counterpart = newMembers[name]
    if (counterpart === undefined)
      return direction === 'read' || isClosed ? [{ where: below(name), what: 'is gone' }] : []
    const isLess = direction === 'read' && required.includes(name) && !newRequired.includes(name)
    return [
      ...(isLess ? [{ where: below(name), what: 'may be missing' }] : []),
      ...compare({ ...place, where: below(name) }, member ?? {}, counterpart),
    ]
  })
  if (direction === 'sent') {
    for (const name of newRequired)
      if (!required.includes(name)) found.push({ where: below(textOf(name)), what: 'is required' })
    if (isClosed && before['additionalProperties'] !== false) found.push({ where, what: 'takes no further members' })
  }
  const [others, newOthers] = [before['additionalProperties'], after['additionalProperties']]
  return isObject(others) && isObject(newOthers)
    ? [...found, ...compare({ ...place, where: below('*') }, others, newOthers)]
    : found
}

function numberOf(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}

function shown(value: Json | undefined): string {
  const text = value === undefined ? 'absent' : JSON.stringify(value)
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`
}
