import type { SubjectKey } from '../../platform/kit/key-vault.ts'
import { memberPlace, openMember, type SealedMember } from './phi-encryption.ts'

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
  readonly #member: SealedMember

  private constructor(orgId: string, subjectId: string, place: string, member: SealedMember) {
    this.orgId = orgId
    this.subjectId = subjectId
    this.#place = place
    this.#member = member
  }

  static of({ orgId, subjectId, stream, type, member }: SealedPlace, sealed: SealedMember): Sealed {
    return new Sealed(orgId, subjectId, memberPlace(stream, type, member), sealed)
  }

  /** Reverses `stored`. */
  static from(stored: Uint8Array): Sealed {
    const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
    const end = bytes.indexOf(0)
    const [orgId, subjectId, ...place] = bytes.toString('utf8', 0, end).split('\n')
    if (end === -1 || orgId === undefined || subjectId === undefined)
      throw new TypeError('a sealed column holds something else')
    return new Sealed(orgId, subjectId, place.join('\n'), { $phi: bytes.toString('base64url', end + 1) })
  }

  /** The bytes of a column: organisation, person and place as text, a zero byte, the ciphertext. */
  stored(): Buffer {
    const head = `${this.orgId}\n${this.subjectId}\n${this.#place}\0`
    return Buffer.concat([Buffer.from(head, 'utf8'), Buffer.from(this.#member.$phi, 'base64url')])
  }

  /** Null if the key was destroyed. Throws if the key differs, or if the ciphertext was changed or moved. */
  openedWith(key: SubjectKey): Content | null {
    // The schema of the member describes what was sealed.
    return key === 'destroyed' ? null : (openMember(key, this.#place, this.#member) as Content)
  }

  /** Only a sealed column may hold it. */
  toJSON(): never {
    throw new TypeError('a sealed member was written as JSON')
  }
}
