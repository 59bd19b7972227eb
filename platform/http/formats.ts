/** Earliest and latest instant that streams, Postgres and JavaScript can all store. */
const earliest = Date.UTC(1850, 0, 1)
const latest = Date.UTC(9998, 11, 31, 23, 59, 59, 999)

const instant =
  /^\d{4}-\d{2}-\d{2}[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
const days = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** RFC 3339, years 1850 to 9998, no leap second. `new Date` reads this form exactly. */
export function isInstant(text: string): boolean {
  if (!instant.test(text) || !isDate(text.slice(0, 10))) return false
  const at = Date.parse(text)
  return at >= earliest && at <= latest
}

/** RFC 3339 full-date of the Gregorian calendar. */
export function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined || month < 1 || day < 1) return false
  if (day > (days[month - 1] ?? 0)) return false
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month !== 2 || day < 29 || isLeap
}

/** RFC 9562 in its usual form. Streams and Postgres do not accept other forms, such as `urn:uuid:`. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text)
}

/**
 * False if the text has only white space, control or format characters, and letters and marks without a visible glyph.
 */
export function isVisible(text: string): boolean {
  return /[^\p{Z}\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text)
}
