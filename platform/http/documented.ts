import { personalKeyword } from '../kit/personal-content.ts'

/**
 * Keyword of a schema: members that OpenAPI shows in place of the schema's own. For rules that validation cannot express, or
 * whose refusals have their own code and text. `without` names members that OpenAPI leaves out. Validators ignore it.
 */
export const documented = 'documented'

/** A variant of a union. The member that selects it has a list of values. */
interface Variant {
  readonly properties: Readonly<Record<string, object>>
}

/**
 * In place of one object with all members of its variants. Generators of clients read variants that are components, with
 * nothing beside them.
 *
 * @param variants by the names of their components
 * @param tag the member that selects the variant, if one does
 */
export function variantsAlone(variants: Readonly<Record<string, Variant>>, tag?: string) {
  return {
    without: ['type', 'properties', 'required', 'additionalProperties'],
    oneOf: Object.entries(variants).map(([$id, variant]) => ({ $id, ...variant })),
    ...(tag === undefined ? {} : { discriminator: discriminatorOf(tag, variants) }),
  }
}

function discriminatorOf(propertyName: string, variants: Readonly<Record<string, Variant>>) {
  const places = Object.entries(variants).flatMap(([name, { properties }]) => {
    const { enum: values = [] }: { readonly enum?: readonly string[] } = properties[propertyName] ?? {}
    return values.map((value) => [value, `#/components/schemas/${name}`] as const)
  })
  return { propertyName, mapping: Object.fromEntries(places) }
}

/** A further rule of an object. Generators of clients ignore `not`, and take `anyOf` beside `properties` for a union. */
export function furtherRule(rule: object) {
  return { not: { not: rule } }
}

const group = '[0-9A-Fa-f]{1,4}'
const byte = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const ipv4 = `(${byte}\\.){3}${byte}`
/** With `::` after none to seven groups, or without it. */
const ipv6 = [
  `(${group}:){7}${group}`,
  `(${group}:){6}${ipv4}`,
  ...[1, 2, 3, 4, 5, 6].map((before) => `(${group}:){${before}}(:${group}){1,${7 - before}}`),
  `(${group}:){1,7}:`,
  `:((:${group}){1,7}|:)`,
  `::(${group}:){0,5}${ipv4}`,
  ...[1, 2, 3, 4].map((before) => `(${group}:){${before}}:(${group}:){0,${5 - before}}${ipv4}`),
  `(${group}:){5}:${ipv4}`,
].join('|')
/** A last label of digits alone would make the name a number. */
const hostName = '([A-Za-z0-9_-]*\\.)*[0-9]*[A-Za-z_-][A-Za-z0-9_-]*\\.?'
const port = '(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})'

/** Addresses that `checkOutboundUrl` can accept, before the rules of the installation. */
export const urlDocumented = {
  pattern: `^[Hh][Tt][Tt][Pp][Ss]?://(${hostName}|${ipv4}|\\[(${ipv6})\\])(:${port})?([/?][!"$-\\[\\]-~]*)?$`,
}

/** Instants of `formats.ts`: years 1850 to 9998, no leap second. */
const instantPattern =
  '^(18[5-9]\\d|19\\d\\d|[2-8]\\d{3}|9[0-8]\\d\\d|99[0-8]\\d|999[0-8])-\\d{2}-\\d{2}[Tt]([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?([Zz]|[+-]([01]\\d|2[0-3]):[0-5]\\d)$'

/** The document as callers read it. The parts are JSON. */
export function asDocumented(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(asDocumented)
  if (typeof part !== 'object' || part === null) return part
  const shown = new Map<string, unknown>(Object.entries(part))
  const { without = [], ...instead } = Object(shown.get(documented)) as Shown
  for (const name of [documented, personalKeyword, ...without]) shown.delete(name)
  for (const [name, value] of Object.entries(instead)) shown.set(name, value)
  if (shown.get('format') === 'date-time' && !shown.has('pattern')) shown.set('pattern', instantPattern)
  return Object.fromEntries([...shown].map(([name, value]) => [name, asDocumented(value)]))
}

interface Shown extends Readonly<Record<string, unknown>> {
  readonly without?: readonly string[]
}
