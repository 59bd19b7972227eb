import { checkpointRefusal } from './checkpoint.ts'
import { cosignedAt } from './cosignature.ts'
import { parseEntry, type EventEntry } from './event-entry.ts'
import { parseProof } from './log-proof.ts'
import { isIncluded, leafHash } from './merkle.ts'
import { NoteError, type VerifierKey } from './signed-note.ts'

export interface TrustedKeys {
  /** Of the log. */
  readonly log: readonly VerifierKey[]
  /** Each of them must have signed. */
  readonly witnesses: readonly VerifierKey[]
}

export interface CheckedProof {
  readonly entry: EventEntry
  readonly index: number
  readonly origin: string
  readonly size: number
  readonly witnesses: readonly { readonly name: string; readonly at: Date }[]
}

export type ProofRefusal =
  | 'not-a-proof'
  | 'unknown-key'
  | 'forged-signature'
  | 'not-in-the-log'
  | 'not-witnessed'
  | 'forged-witness'

/** Judges a proof without any other source: whether the log of these keys contains the event that the proof names. */
export function checkProof(text: string, keys: TrustedKeys): CheckedProof | { readonly refusal: ProofRefusal } {
  try {
    const { extra, index, hashes, checkpoint } = parseProof(text)
    if (extra === undefined) return { refusal: 'not-a-proof' }
    const refusal = checkpointRefusal(checkpoint, keys.log)
    if (refusal !== undefined) return { refusal }
    const { origin, size, root } = checkpoint
    if (!isIncluded(leafHash(extra), { index, size, proof: hashes }, root)) return { refusal: 'not-in-the-log' }
    const witnesses: { name: string; at: Date }[] = []
    for (const key of keys.witnesses) {
      const at = cosignedAt(checkpoint, key)
      if (at === undefined || at === 'forged') return { refusal: at === undefined ? 'not-witnessed' : 'forged-witness' }
      witnesses.push({ name: key.name, at })
    }
    return { entry: parseEntry(extra), index, origin, size, witnesses }
  } catch (error) {
    if (error instanceof NoteError) return { refusal: 'not-a-proof' }
    throw error
  }
}
