/** A number of JSON, from where the expression is set. */
export const numberText = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** So many digits always survive, and `toExponential` writes no more than `mostDigits` of them. */
const safeLength = 15
const mostDigits = 100
const longestText = 400

/**
 * True when a number can be stored and read back without loss. A whole number must lie within 2^53. Of any other number
 * the double (IEEE 754) must have the same decimal digits as the text. -0 becomes 0 in JSON, so it is refused.
 *
 * @param text a number of JSON
 */
export function isExact(text: string): boolean {
  if (text.length <= safeLength && /^-?[1-9]\d*$/.test(text)) return true
  if (text.length > longestText) return false
  const value = Number(text)
  if (Object.is(value, -0) || !Number.isFinite(value)) return false
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false
  const digits = significantDigits(text)
  if (digits === '' || value === 0) return digits === ''
  if (digits.length > mostDigits) return false
  // `toExponential` rounds a half up, other languages round it to the even digit: both texts stand for the same double.
  return significantDigits(value.toExponential(digits.length - 1)) === digits || significantDigits(value.toExponential(digits.length)) === `${digits}5`
}

/** Without sign, point, exponent, and the zeros at both ends; empty for 0. */
function significantDigits(text: string): string {
  const [mantissa = ''] = text.toLowerCase().split('e')
  const digits = mantissa.replace(/[-.]/g, '')
  let from = 0
  let to = digits.length
  while (digits[from] === '0') from += 1
  while (to > from && digits[to - 1] === '0') to -= 1
  return digits.slice(from, to)
}
