import { problem } from './problems.ts'

/** Decodes the escapes of one JSON string that arrives in pieces. */
export interface JsonText {
  /**
   * Reads the string from this place on.
   * @throws Problem `malformed-body`
   */
  read(chunk: Buffer, from: number): ReadText
}

interface ReadText {
  /** May share the chunk's memory. */
  readonly text: Buffer
  /** Index of the closing quotation mark; the chunk's length if the string continues. */
  readonly to: number
  readonly hasEnded: boolean
}

const quotationMark = 0x22
const backslash = 0x5c
const firstPrintable = 0x20
/** Replaces escaped characters outside ASCII: a byte that no ASCII text has. */
const notAscii = 0x80

const shortEscapes: ReadonlyMap<number, number> = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([name, character]) => [name.charCodeAt(0), character.charCodeAt(0)],
  ),
)
const unicodeEscape = 'u'.charCodeAt(0)

/** For texts that should be ASCII. Of other texts it reports only that they are not ASCII. */
export function createJsonText(): JsonText {
  let isEscaped = false
  /** State of a `\u` escape: digits still to come, and the value of the digits so far. */
  let digitsToCome = 0
  let code = 0

  /** The character of the escape, once it is complete. */
  function unescape(byte: number): number | undefined {
    if (digitsToCome > 0) {
      const value = valueOfDigit(byte)
      if (value === undefined) throw problem('malformed-body')
      code = code * 16 + value
      digitsToCome -= 1
      return digitsToCome > 0 ? undefined : Math.min(code, notAscii)
    }
    if (byte === unicodeEscape) {
      digitsToCome = 4
      code = 0
      return undefined
    }
    const character = shortEscapes.get(byte)
    if (character === undefined) throw problem('malformed-body')
    return character
  }

  return {
    read(chunk, from) {
      /** Text between escapes is copied, unless there are no escapes. */
      let plainFrom = from
      let copied: Buffer | undefined
      let length = 0
      let at = from

      function room(): Buffer {
        copied ??= Buffer.allocUnsafe(chunk.length - from)
        return copied
      }

      for (; at < chunk.length; at += 1) {
        const byte = chunk[at] ?? 0
        if (isEscaped) {
          plainFrom = at + 1
          const character = unescape(byte)
          if (character === undefined) continue
          isEscaped = false
          length = room().writeUInt8(character, length)
        } else if (byte === quotationMark) {
          break
        } else if (byte === backslash) {
          length += chunk.copy(room(), length, plainFrom, at)
          plainFrom = at + 1
          isEscaped = true
        } else if (byte < firstPrintable) {
          throw problem('malformed-body')
        }
      }
      const end = { to: at, hasEnded: at < chunk.length }
      if (copied === undefined) return { text: chunk.subarray(plainFrom, at), ...end }
      length += chunk.copy(copied, length, plainFrom, at)
      return { text: copied.subarray(0, length), ...end }
    },
  }
}

function valueOfDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : undefined
}
