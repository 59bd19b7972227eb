import { Type, type TSchema } from 'typebox'

/** The format of `isVisible`: as a pattern, its Unicode properties are more than the clients of some languages can read. */
export const visibleFormat = 'visible-text'
/** Any two texts with a bar between them; there may be further ones in both. */
export const schemeAndValuePattern = '[\\s\\S]\\|[\\s\\S]'

const rules: ReadonlyMap<unknown, string> = new Map([
  [visibleFormat, 'must have a visible character'],
  [schemeAndValuePattern, 'must be scheme|value'],
])

/** What a refusal says instead of the pattern or format; undefined for those that say it themselves. */
export function ruleInWords(patternOrFormat: unknown): string | undefined {
  return rules.get(patternOrFormat)
}

/** Members that recur in bodies, parameters and records. A UUID is taken in either case and answered in lower case. */
export const Uuid = Type.String({ format: 'uuid' })
/** RFC 3339, years 1850 to 9998 (`formats.ts`). */
export const Instant = Type.String({ format: 'date-time' })

/** A name or the like, not of white space and invisible characters only. */
export function Text(maxLength: number) {
  return Type.String({
    minLength: 1,
    maxLength,
    format: visibleFormat,
    description: 'With at least one visible character',
  })
}

export function Nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}
