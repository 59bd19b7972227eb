import { Type, type TSchema, type TSchemaOptions } from 'typebox'
import { mailAddressPattern } from '../kit/mail-address.ts'

/** Format name of `isVisible`. A pattern would need Unicode properties, which clients in some languages cannot read. */
export const visibleFormat = 'visible-text'
/** Two texts, not empty, with a bar between them. More bars may follow. */
export const schemeAndValuePattern = '[\\s\\S]\\|[\\s\\S]'

const rules: ReadonlyMap<unknown, string> = new Map([
  [visibleFormat, 'must have a visible character'],
  [schemeAndValuePattern, 'must be scheme|value'],
  [mailAddressPattern, 'must be an address to which mails are sent, such as local@example.org'],
])

/** Error text for a pattern or format; undefined if the pattern or format is clear enough. */
export function ruleInWords(patternOrFormat: unknown): string | undefined {
  return rules.get(patternOrFormat)
}

/** Members that bodies, parameters and records share. A UUID is accepted in either case and returned in lower case. */
export const Uuid = Type.String({ format: 'uuid' })
/** RFC 3339, years 1850 to 9998 (`formats.ts`). */
export const Instant = Type.String({ format: 'date-time' })

/** Well-formed tags of BCP 47 in their usual parts. */
export const localeDocumented = {
  pattern: '^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-([A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))?$',
}

/** A text, such as a name, with at least one visible character. */
export function Text(maxLength: number, options: TSchemaOptions = {}) {
  return Type.String({
    minLength: 1,
    maxLength,
    format: visibleFormat,
    description: 'With at least one visible character',
    ...options,
  })
}

export function Nullable<Schema extends TSchema>(schema: Schema, options: TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options)
}
