/** Decodes base64 (RFC 4648 section 4, padding required) in pieces of any length. */
export interface Base64Decoder {
  /** Returns the decoded bytes in new memory; none after the text proved not to be base64. */
  push(text: Buffer): Buffer
  /** True if all text so far is base64, and there is some. */
  isBase64(): boolean
  /** Number of bytes that the text so far encodes, also if it is not base64. */
  size(): number
}

const padding = 0x3d
const minus = 0x2d
const underscore = 0x5f
const group = 4
const nothing: Buffer = Buffer.alloc(0)

export function createBase64Decoder(): Base64Decoder {
  let characters = 0
  /** Number of padding characters at the end, at most two. */
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
      // A copy, because a view of three bytes would keep the whole chunk in memory.
      carry = Buffer.from(all.subarray(whole))
      const groups = all.subarray(0, whole)
      const bytes = Buffer.from(groups.toString('latin1'), 'base64')
      const firstPadding = groups.indexOf(padding)
      isPadded = firstPadding !== -1
      const missing = isPadded ? whole - firstPadding : 0
      const isPaddedWell = !isPadded || (missing <= 2 && groups.at(-1) === padding)
      // Node.js skips characters outside the alphabet, so the length reveals them. It accepts base64url, so check that
      // too.
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
