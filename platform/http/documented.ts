/**
 * Keyword of a schema: members that OpenAPI shows in place of the schema's own. For rules that validation cannot express, or
 * whose refusals have their own code and text. `without` names members that OpenAPI leaves out. Validators ignore it.
 */
export const documented = 'documented'

/** In place of one object with all members of its variants. */
export function variantsAlone(variants: readonly object[]) {
  return { without: ['type', 'properties', 'required', 'additionalProperties'], oneOf: variants }
}

/** A further rule of an object. Generators of clients ignore `not`, and take `anyOf` beside `properties` for a union. */
export function furtherRule(rule: object) {
  return { not: { not: rule } }
}

/** Addresses that `checkOutboundUrl` can accept, before the rules of the installation. */
export const urlDocumented = {
  pattern: '^[Hh][Tt][Tt][Pp][Ss]?://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?([/?][!"$-\\[\\]-~]*)?$',
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
  for (const name of [documented, ...without]) shown.delete(name)
  for (const [name, value] of Object.entries(instead)) shown.set(name, value)
  if (shown.get('format') === 'date-time' && !shown.has('pattern')) shown.set('pattern', instantPattern)
  return Object.fromEntries([...shown].map(([name, value]) => [name, asDocumented(value)]))
}

interface Shown extends Readonly<Record<string, unknown>> {
  readonly without?: readonly string[]
}
