import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBase64Decoder } from '../../../commands/assessments/base64-decoding.ts'

interface Decoded {
  /** Null if the text is not base64. */
  readonly bytes: Buffer | null
  readonly size: number
}

/** Decodes a text in pieces that end at these places. */
function decode(text: string, cuts: readonly number[] = []): Decoded {
  const decoder = createBase64Decoder()
  const characters = Buffer.from(text, 'latin1')
  const chunks: Buffer[] = []
  let from = 0
  for (const end of [...cuts.map((cut) => cut % (text.length + 1)).toSorted((a, b) => a - b), text.length]) {
    const piece = Buffer.from(characters.subarray(from, end))
    const sizeBefore = decoder.size()
    chunks.push(decoder.push(piece))
    if (piece.length > 0 && /^[A-Za-z0-9+/]*$/.test(text)) expect(decoder.size()).toBeGreaterThanOrEqual(sizeBefore)
    piece.fill('x')
    from = end
  }
  return { bytes: decoder.isBase64() ? Buffer.concat(chunks) : null, size: decoder.size() }
}

/** Decodes the whole text at once, for comparison. */
function decodeWhole(text: string): Decoded {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const size = Math.floor((text.length * 3) / 4) - padding
  if (text.length === 0 || text.length % 4 !== 0) return { bytes: null, size }
  const bytes = Buffer.from(text, 'base64')
  return { bytes: bytes.length === size && !/[-_\s]/.test(text) ? bytes : null, size }
}

const cuts = fc.array(fc.nat(400), { maxLength: 12 })
const nearlyBase64 = fc
  .array(
    fc.constantFrom('A', 'Z', 'a', 'z', '0', '9', '+', '/', '=', '=', 'Qg', '/9j/', '-', '_', '\n', ' ', '\u0000', 'é'),
  )
  .map((parts) => parts.join(''))

describe('base64 in pieces', () => {
  it('decodes to the original bytes, wherever it is cut', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), cuts, (bytes, places) => {
        const whole = Buffer.from(bytes)
        expect(decode(whole.toString('base64'), places)).toEqual({ bytes: whole, size: whole.length })
      }),
      { numRuns: 500 },
    )
  })

  it('gives the same result as the whole text', () => {
    fc.assert(
      fc.property(
        fc.oneof(nearlyBase64, fc.string({ unit: 'grapheme-ascii' }), fc.base64String()),
        cuts,
        (text, places) => {
          expect(decode(text, places)).toEqual(decodeWhole(text))
        },
      ),
      { numRuns: 3000 },
    )
  })

  it.each([
    ['nothing', ''],
    ['one character', 'A'],
    ['no padding', 'QUI'],
    ['too much padding', 'Q==='],
    ['padding alone', '===='],
    ['padding in the middle', '/9g=/9g='],
    ['padding before the end of a group', 'QQ=A'],
    ['padding, and a group that is not whole', 'QQ==QQ'],
    ['the alphabet of addresses', '_-__'],
    ['a blank', 'QU I'],
    ['a line break at its end', 'QUJD\n\n\n\n'],
    ['a character of no ASCII', 'QU\u0080C'],
    ['a NUL', 'QUJ\u0000'],
  ])('is refused with %s, wherever it is cut', (_, text) => {
    const everywhere = Array.from({ length: text.length }, (_unused, place) => place)
    expect([decode(text).bytes, decode(text, everywhere).bytes, decode(text, [text.length - 1]).bytes]).toEqual([
      null,
      null,
      null,
    ])
  })

  it('gives no bytes after a refusal', () => {
    const decoder = createBase64Decoder()
    expect(decoder.push(Buffer.from('QUJD')).toString()).toBe('ABC')
    expect(decoder.push(Buffer.from('QU@D'))).toHaveLength(0)
    expect(decoder.push(Buffer.from('QUJD'))).toHaveLength(0)
    expect([decoder.isBase64(), decoder.size()]).toEqual([false, 9])
  })
})
