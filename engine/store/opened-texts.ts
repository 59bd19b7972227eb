import type { KeyObject } from 'node:crypto'
import { openBytes } from '../../platform/kit/sealed-bytes.ts'

/** Bytes of sealed members that one key keeps open. */
const greatestBytes = 2_048

interface Kept {
  readonly texts: Map<string, string>
  bytes: number
}

/**
 * Opens sealed members, each once for a key object: `place`, a zero byte, the ciphertext. All of it names the text, so a ciphertext
 * that was moved or changed does not open. The cache of keys has the only lasting reference to a key. So what a key opened ends with
 * it: at the erasure of the person in every process, and when the key is read again.
 */
export function createOpenedTexts(open: typeof openBytes = openBytes) {
  const kept = new WeakMap<KeyObject, Kept>()

  function textOf(key: KeyObject, placed: Buffer): string {
    const end = placed.indexOf(0)
    if (end === -1) throw new TypeError('a sealed column holds something else')
    return open(key, placed.subarray(0, end), placed.subarray(end + 1)).toString('utf8')
  }

  return (key: KeyObject, placed: Buffer): string => {
    if (placed.length > greatestBytes) return textOf(key, placed)
    const name = placed.toString('latin1')
    const before = kept.get(key)
    const known = before?.texts.get(name)
    if (known !== undefined) return known
    const text = textOf(key, placed)
    const hasRoom = before !== undefined && before.bytes + placed.length <= greatestBytes
    const room: Kept = hasRoom ? before : { texts: new Map(), bytes: 0 }
    room.texts.set(name, text)
    room.bytes += placed.length
    if (!hasRoom) kept.set(key, room)
    return text
  }
}

/** The texts that this process has opened. */
export const openedText = createOpenedTexts()
