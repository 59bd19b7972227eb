import type { SubjectKey } from '../../platform/kit/key-vault.ts'
import { readJsonText } from '../../platform/kit/json-reading.ts'
import { openedText } from './opened-texts.ts'
import { bytesOf, memberPlace, type SealedMember } from './phi-encryption.ts'

declare const content: unique symbol

/** The event whose member is sealed, and the person whose key opens it. */
export interface SealedPlace {
  readonly orgId: string
  readonly subjectId: string
  readonly stream: string
  readonly type: string
  readonly member: string
}

/** `stored` in base64, where JSON takes its place. */
export type SealedText<Content> = string & { readonly [content]?: Content }

const lineFeed = 10

/** A personal member of an event as the event holds it. Read models keep it unopened, and routes open it. */
export class Sealed<Content = unknown> {
  declare readonly [content]?: Content
  readonly orgId: string
  readonly subjectId: string
  /** The place, a zero byte, the ciphertext. */
  readonly #placed: () => Buffer

  private constructor(orgId: string, subjectId: string, placed: () => Buffer) {
    this.orgId = orgId
    this.subjectId = subjectId
    this.#placed = placed
  }

  static of({ orgId, subjectId, stream, type, member }: SealedPlace, sealed: SealedMember): Sealed {
    return new Sealed(orgId, subjectId, () =>
      Buffer.concat([Buffer.from(`${memberPlace(stream, type, member)}\0`, 'utf8'), bytesOf(sealed)]),
    )
  }

  /** Reverses `stored`. */
  static from(stored: Uint8Array): Sealed {
    const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
    const first = bytes.indexOf(lineFeed)
    const second = bytes.indexOf(lineFeed, first + 1)
    if (first === -1 || second === -1) throw new TypeError('a sealed column holds something else')
    const placed = bytes.subarray(second + 1)
    return new Sealed(bytes.toString('utf8', 0, first), bytes.toString('utf8', first + 1, second), () => placed)
  }

  /** The bytes of a column: organisation, person and place as text, a zero byte, the ciphertext. */
  stored(): Buffer {
    return Buffer.concat([Buffer.from(`${this.orgId}\n${this.subjectId}\n`, 'utf8'), this.#placed()])
  }

  /** Null if the key was destroyed. Throws if the key differs, or if the ciphertext was changed or moved. */
  openedWith(key: SubjectKey): Content | null {
    // The schema of the member describes what was sealed.
    return key === 'destroyed' ? null : (readJsonText(openedText(key, this.#placed())) as Content)
  }

  /** Only a sealed column may hold it. */
  toJSON(): never {
    throw new TypeError('a sealed member was written as JSON')
  }
}
