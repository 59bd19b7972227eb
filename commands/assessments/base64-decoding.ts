/** Base64 (RFC 4648 section 4, padding required) as it comes, in pieces of any length. */
export interface Base64Decoder {
  /** The bytes that are known now, in memory of their own; none once the text has turned out to be no base64. */
  push(text: Buffer): Buffer
  /** Whether all the text is base64, and any. */
  isBase64(): boolean
  /** How many bytes the text so far stands for, whether or not it is base64. */
  size(): number
}

const padding = 0x3d
const minus = 0x2d
const underscore = 0x5f
const group = 4
const nothing: Buffer = Buffer.alloc(0)

export function createBase64Decoder(): Base64Decoder {
  let characters = 0
  /** How many of the last two characters are padding, counted from the end. */
  let paddingAtEnd = 0
  let carry = nothing
  let isWrong = false
  let isPadded = false

  function refuse(): Buffer {
    isWrong = true
    carry = nothing
    return nothing
  }

  return {
    push(text) {
      if (text.length === 0) return nothing
      characters += text.length
      paddingAtEnd = paddingOf(text, paddingAtEnd)
      if (isWrong || isPadded) return refuse()
      const all = carry.length === 0 ? text : Buffer.concat([carry, text])
      const whole = all.length - (all.length % group)
      // A copy: three bytes would hold on to a whole chunk.
      carry = Buffer.from(all.subarray(whole))
      const groups = all.subarray(0, whole)
      const bytes = Buffer.from(groups.toString('latin1'), 'base64')
      const firstPadding = groups.indexOf(padding)
      isPadded = firstPadding !== -1
      const missing = isPadded ? whole - firstPadding : 0
      const isPaddedWell = !isPadded || (missing <= 2 && groups.at(-1) === padding)
      // Node.js passes over what is not in the alphabet, so the length tells whether anything was, but for base64url.
      const isWhole =
        bytes.length === (whole / group) * 3 - missing && !groups.includes(minus) && !groups.includes(underscore)
      return isPaddedWell && isWhole ? bytes : refuse()
    },
    isBase64: () => !isWrong && carry.length === 0 && characters > 0,
    size: () => Math.floor((characters * 3) / group) - paddingAtEnd,
  }
}

function paddingOf(text: Buffer, before: number): number {
  if (text.at(-1) !== padding) return 0
  if (text.length === 1) return Math.min(2, before + 1)
  return text.at(-2) === padding ? 2 : 1
}
