/**
 * Numbers with at most this many characters and without an exponent are always exact. `toExponential` writes no more
 * than `mostDigits` digits.
 */
const safeLength = 15
const mostDigits = 100
const longestText = 400

const minus = 0x2d
const zero = 0x30
const exponents: ReadonlySet<number> = new Set([0x45, 0x65])

/** The end of the number that starts at the place, in well-formed JSON text. */
export function endOfNumber(json: string, from: number): number {
  let end = from + 1
  while (isPartOfNumber(json.charCodeAt(end))) end += 1
  return end
}

function isPartOfNumber(code: number): boolean {
  return (code >= zero && code <= 0x39) || code === 0x2e || code === minus || code === 0x2b || exponents.has(code)
}

/** A fast check that is true for almost every exact number; see `isExact`. */
export function isSurelyExact(json: string, from: number, to: number): boolean {
  if (to - from > safeLength || (json.charCodeAt(from) === minus && json.charCodeAt(from + 1) === zero)) return false
  for (let at = from; at < to; at += 1) if (exponents.has(json.charCodeAt(at))) return false
  return true
}

/**
 * True if a number can be stored and read back without loss. A whole number must be within 2^53. For any other number,
 * the double (IEEE 754) must have the same decimal digits as the text. -0 is refused, because JSON turns it into 0.
 * @param text a number of JSON
 */
export function isExact(text: string): boolean {
  if (text.length > longestText) return false
  const value = Number(text)
  if (Object.is(value, -0) || !Number.isFinite(value)) return false
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false
  const digits = significantDigits(text)
  if (digits === '' || value === 0) return digits === ''
  // JSON writes the shortest text of a double. This comparison decides most numbers, at a tenth of the cost of the next
  // one.
  if (significantDigits(String(value)) === digits) return true
  if (digits.length > mostDigits) return false
  // `toExponential` rounds a half up; other languages round it to the even digit. Both texts mean the same double.
  return (
    significantDigits(value.toExponential(digits.length - 1)) === digits ||
    significantDigits(value.toExponential(digits.length)) === `${digits}5`
  )
}

/** Without sign, point, exponent and outer zeros; empty for 0. */
function significantDigits(text: string): string {
  const [mantissa = ''] = text.toLowerCase().split('e')
  const digits = mantissa.replace(/[-.]/g, '')
  let from = 0
  let to = digits.length
  while (digits[from] === '0') from += 1
  while (to > from && digits[to - 1] === '0') to -= 1
  return digits.slice(from, to)
}
