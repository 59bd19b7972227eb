import { Type, type TSchema } from 'typebox'
import { visibleFormat } from './patterns.ts'

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
