import { at } from '../../../app/demo/members.ts'

/** A hostile part of a request. */
export interface Load {
  readonly name: string
  readonly contentType?: string
  readonly body?: string
  /** Length of the body that the head announces. Default: its own. */
  readonly announcedBytes?: number
  /** Appended to the path. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Replaces each parameter of the path. */
  readonly parameter?: string
}

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'
/** Slightly below the limits: body of 1 MiB, 10,000 members, 50,000 members and items, head of 16 KiB. */
const mostBytes = 1_040_000
const mostMembers = 9_900
const mostItems = 49_000
const headRoom = 14_000

/** As many pieces as fit. */
function fill(
  piece: (n: number) => string,
  { bytes = mostBytes, count = Number.POSITIVE_INFINITY, separator = ',' } = {},
): string {
  const pieces: string[] = []
  for (let n = 0, length = 0; pieces.length < count; n += 1) {
    const next = piece(n)
    length += next.length + separator.length
    if (length > bytes) break
    pieces.push(next)
  }
  return pieces.join(separator)
}

const jsonBodies = {
  'many members': {
    'many members': `{${fill((n) => `"m${n}":0`, { count: mostMembers })}}`,
    'many members with escaped names': `{${fill((n) => `"\\u0061${n}":0`, { count: mostMembers })}}`,
    'many members in both casings': `{${fill((n) => `"aB_c${n}":0`, { count: mostMembers })}}`,
    'too many members': `{${fill((n) => `"m${n}":0`)}}`,
  },
  'repeated names': { 'a member many times': `{${fill(() => '"a":0')}}` },
  'many items': {
    'many items': `[${fill(() => '0', { count: mostItems })}]`,
    'too many items': `[${fill(() => '0')}]`,
    'many objects': `[${fill((n) => `{"m${n}":${n}}`, { count: mostMembers })}]`,
    'many long numbers': `[${fill((n) => `0.1234567890123${n + 1000}1`)}]`,
    'many tiny numbers': `[${fill((n) => ((n + 1) * Number.MIN_VALUE).toExponential(20))}]`,
    'many numbers of many digits': `[${fill((n) => (1.7e-300 * (n + 1)).toExponential(20))}]`,
  },
  'long texts': {
    'a long number': `[${'1'.repeat(mostBytes)}]`,
    'a long text': JSON.stringify({ a: 'x'.repeat(mostBytes) }),
    'a long text of blanks': `{"a":"${' '.repeat(mostBytes)}"}`,
    'blanks between members': `{"a":0${' '.repeat(mostBytes)},"b":0}`,
    'a text of backslashes': `{"a":"${'\\\\'.repeat(mostBytes / 2)}"}`,
    'a text of quotation marks': `{"a":"${'\\"'.repeat(mostBytes / 2)}"}`,
  },
  'deep nesting': {
    'nested lists': '['.repeat(mostBytes / 2) + ']'.repeat(mostBytes / 2),
    'nested objects': '{"a":'.repeat(mostBytes / 6) + '0' + '}'.repeat(mostBytes / 6),
  },
}

const forms = {
  'a form of many names': fill((n) => String(n), { separator: '&' }),
  'a form of many names, small': fill((n) => String(n), { separator: '&', bytes: 155_000 }),
  'a form of one name many times': fill((n) => `a=${n}`, { separator: '&' }),
  'a form of escapes': `a=${'%41'.repeat(mostBytes / 3)}`,
  'a form of percent signs': `a=${'%'.repeat(mostBytes)}`,
}

const queries = {
  'a query of many names': fill((n) => String(n), { separator: '&', bytes: headRoom }),
  'a query of one name many times': fill(() => 'limit=1', { separator: '&', bytes: headRoom }),
  'a query of escapes': `cursor=${'%20'.repeat(headRoom / 3)}`,
  'a query of bars': `identifier=${'%7C'.repeat(headRoom / 3)}`,
}

/** All headers that the platform or its framework reads, with texts that are hard to parse. */
const headerNames = [
  'accept',
  'authorization',
  'content-type',
  'content-encoding',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'prefer',
  'traceparent',
  'x-actor-context',
  'x-admin-api-secret',
  'x-forwarded-for',
  'x-min-commit-position',
  'x-request-id',
]
const headerTexts = {
  'a name and blanks': `a${' '.repeat(headRoom)}x`,
  'a mark and blanks': `Bearer a=${' '.repeat(headRoom)}x`,
  commas: 'a,'.repeat(headRoom / 2),
  'quotation marks': `"${'\\"'.repeat(headRoom / 2)}`,
}

/** By kind. Every route gets one load of each kind, some routes get all. */
export const kindsOfLoad: readonly (readonly Load[])[] = [
  ...Object.values(jsonBodies).map((bodies) =>
    Object.entries(bodies).map(([name, body]) => ({ name, contentType: json, body })),
  ),
  Object.entries(forms).map(([name, body]) => ({ name, contentType: form, body })),
  Object.entries(queries).map(([name, query]) => ({ name, query })),
  ...Object.entries(headerTexts).map(([text, value]) =>
    headerNames.map((name) => ({ name: `${text} in ${name}`, headers: { [name]: value } })),
  ),
  [
    { name: 'a long parameter', parameter: 'a'.repeat(headRoom) },
    { name: 'a parameter of escapes', parameter: '%41'.repeat(headRoom / 3) },
  ],
]

/** Bodies from the schema of the route, with full lists and long texts. */
export function loadsOfSchema(document: unknown, schema: unknown): Load[] {
  const places = placesOf(document, schema)
  const full = places
    .filter(({ type }) => type === 'array')
    .flatMap(({ path }) =>
      Object.entries(itemForms).map(([form, item]) => ({
        name: `/${path.join('/')} full of ${form}`,
        contentType: json,
        body: inside(path, `[${fill(item, { count: form === 'objects' ? mostMembers / 2 : mostItems })}]`),
      })),
    )
  const texts = places
    .filter(({ type }) => type === 'string')
    .map(({ path }) => ({
      name: `a long /${path.join('/')}`,
      contentType: json,
      body: inside(path, JSON.stringify(' '.repeat(mostBytes))),
    }))
  return [...full, ...texts]
}

const itemForms: Readonly<Record<string, (n: number) => string>> = {
  numbers: (n) => String(n),
  texts: (n) => `"${n}"`,
  objects: (n) => `{"scheme":"s","value":"${n}"}`,
}

interface Place {
  /** Names of members, `0` for an element. */
  readonly path: readonly string[]
  readonly type: string
}

/** The lists and texts of a schema. */
function placesOf(document: unknown, schema: unknown, path: readonly string[] = []): Place[] {
  const reference = at(schema, '$ref')
  if (typeof reference === 'string')
    return placesOf(document, at(document, ...reference.slice('#/'.length).split('/')), path)
  const type = at(schema, 'type')
  const own = type === 'array' || type === 'string' ? [{ path, type }] : []
  const members = Object.entries(Object(at(schema, 'properties') ?? {}) as Record<string, unknown>).flatMap(
    ([name, member]) => placesOf(document, member, [...path, name]),
  )
  const branches = Object.values(Object(at(schema, 'anyOf') ?? []) as Record<string, unknown>).flatMap((branch) =>
    placesOf(document, branch, path),
  )
  const items = at(schema, 'items') === undefined ? [] : placesOf(document, at(schema, 'items'), [...path, '0'])
  return [...own, ...members, ...branches, ...items]
}

/** A body with only this value, at this place. */
function inside(path: readonly string[], value: string): string {
  return path
    .toReversed()
    .reduce((inner, name) => (name === '0' ? `[${inner}]` : `{${JSON.stringify(name)}:${inner}}`), value)
}
