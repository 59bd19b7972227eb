import { createGrowingBytes } from './growing-bytes.ts'
import { repeatedMemberProblem } from './repeated-members.ts'
import { createJsonPlace, type StringRole } from './json-place.ts'
import { createJsonText } from './json-text.ts'

/** Progress of the extracted strings: the start of one, a part of its text, its end. */
export type Extracted =
  | { readonly kind: 'begin'; readonly index: number }
  /** May share the memory of the pushed chunk. */
  | { readonly kind: 'text'; readonly text: Buffer }
  | { readonly kind: 'end' }

/** Extracts the strings at `/images/<n>/data` from a JSON body while it arrives, and keeps the rest. */
export interface Extraction {
  /** @throws Problem `malformed-body`, `body-too-large` */
  push(chunk: Buffer): readonly Extracted[]
  /** The body with each of these strings empty. It is JSON if the whole body was. */
  rest(): Buffer
}

const quotationMark = 0x22
const backslash = 0x5c
/** `images` with each letter as an escape of six characters. A longer name cannot match. */
const longestName = 36

/**
 * A second `images`, or a second `data` in one element, is malformed: it is undefined which one counts (RFC 7493). The
 * reader of the rest checks its JSON. This works because an empty string replaces each extracted string.
 * @param mostRest limit of the kept bytes
 */
export function createExtraction({ mostRest }: { readonly mostRest: number }): Extraction {
  const place = createJsonPlace()
  const rest = createGrowingBytes(mostRest)
  let inside: 'structure' | StringRole = 'structure'
  let isEscaped = false
  let name: number[] = []
  let data = createJsonText()

  function readString(byte: number): void {
    if (isEscaped) isEscaped = false
    else if (byte === backslash) isEscaped = true
    else if (byte === quotationMark) {
      const wasName = inside === 'name'
      inside = 'structure'
      if (wasName && !place.name(unescaped(name))) {
        const pointer = unescaped(name) === 'images' ? '/images' : `/images/${place.index}/data`
        throw repeatedMemberProblem(pointer)
      }
      return
    }
    if (inside === 'name' && name.length <= longestName) name.push(byte)
  }

  function beginString(): StringRole {
    const role = place.roleOfString()
    inside = role
    name = []
    if (role === 'data') data = createJsonText()
    return role
  }

  return {
    push(chunk) {
      const extracted: Extracted[] = []
      let restFrom = 0
      let at = 0
      while (at < chunk.length) {
        if (inside === 'data') {
          const { text, to, hasEnded } = data.read(chunk, at)
          if (text.length > 0) extracted.push({ kind: 'text', text })
          at = to
          restFrom = to
          if (!hasEnded) break
          extracted.push({ kind: 'end' })
          inside = 'structure'
          at += 1
          continue
        }
        const byte = chunk[at] ?? 0
        at += 1
        if (inside !== 'structure') readString(byte)
        else if (byte !== quotationMark) place.structure(byte)
        else if (beginString() === 'data') {
          rest.add(chunk.subarray(restFrom, at))
          extracted.push({ kind: 'begin', index: place.index })
        }
      }
      if (inside !== 'data') rest.add(chunk.subarray(restFrom, at))
      return extracted
    },
    rest: () => rest.all(),
  }
}

/** Empty if it is none of the wanted names. */
function unescaped(name: readonly number[]): string {
  if (name.length > longestName) return ''
  try {
    const value: unknown = JSON.parse(`"${Buffer.from(name).toString()}"`)
    return typeof value === 'string' ? value : ''
  } catch {
    return ''
  }
}
