import type { SubjectKey } from '../../platform/kit/key-vault.ts'
import { bytesOf, memberPlace, openMemberBytes, type SealedMember } from './phi-encryption.ts'

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

/** A personal member of an event as the event holds it. Read models keep it unopened, and routes open it. */
export class Sealed<Content = unknown> {
  declare readonly [content]?: Content
  readonly orgId: string
  readonly subjectId: string
  readonly #place: string
  /** The member of an event, or the bytes of a column. */
  readonly #sealed: SealedMember | Uint8Array

  private constructor(orgId: string, subjectId: string, place: string, sealed: SealedMember | Uint8Array) {
    this.orgId = orgId
    this.subjectId = subjectId
    this.#place = place
    this.#sealed = sealed
  }

  static of({ orgId, subjectId, stream, type, member }: SealedPlace, sealed: SealedMember): Sealed {
    return new Sealed(orgId, subjectId, memberPlace(stream, type, member), sealed)
  }

  /** Reverses `stored`. */
  static from(stored: Uint8Array): Sealed {
    const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
    const end = bytes.indexOf(0)
    const head = bytes.toString('utf8', 0, end)
    const first = head.indexOf('\n')
    const second = head.indexOf('\n', first + 1)
    if (end === -1 || first === -1 || second === -1) throw new TypeError('a sealed column holds something else')
    return new Sealed(
      head.slice(0, first),
      head.slice(first + 1, second),
      head.slice(second + 1),
      bytes.subarray(end + 1),
    )
  }

  /** The bytes of a column: organisation, person and place as text, a zero byte, the ciphertext. */
  stored(): Buffer {
    const head = `${this.orgId}\n${this.subjectId}\n${this.#place}\0`
    return Buffer.concat([Buffer.from(head, 'utf8'), this.#bytes()])
  }

  /** Null if the key was destroyed. Throws if the key differs, or if the ciphertext was changed or moved. */
  openedWith(key: SubjectKey): Content | null {
    // The schema of the member describes what was sealed.
    return key === 'destroyed' ? null : (openMemberBytes(key, this.#place, this.#bytes()) as Content)
  }

  #bytes(): Uint8Array {
    return this.#sealed instanceof Uint8Array ? this.#sealed : bytesOf(this.#sealed)
  }

  /** Only a sealed column may hold it. */
  toJSON(): never {
    throw new TypeError('a sealed member was written as JSON')
  }
}
