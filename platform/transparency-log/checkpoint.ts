import { hashBytes, type Hash } from './merkle.ts'
import { isSignedBy, NoteError, parseNote, signatureOf, type SignedNote, type VerifierKey } from './signed-note.ts'
import { strictBase64 } from './strict-base64.ts'

/** The head of a log: C2SP tlog-checkpoint, without extension lines of our own. */
export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Hash
}

export interface SignedCheckpoint extends Checkpoint {
  readonly note: SignedNote
}

export function checkpointText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`
}

/** Reads a checkpoint and verifies nothing. @throws NoteError */
export function parseCheckpoint(text: string): SignedCheckpoint {
  const note = parseNote(text)
  const [origin = '', size = '', hash = '', ...others] = note.text.split('\n')
  const root = strictBase64(hash)
  if (origin === '' || others.length === 0 || others.slice(0, -1).includes('') || root?.length !== hashBytes)
    throw new NoteError('not a checkpoint')
  return { origin, size: parseNumber(size), root, note }
}

/** A number without leading zeroes. @throws NoteError */
export function parseNumber(text: string): number {
  const number = Number(text)
  if (!/^(0|[1-9]\d{0,15})$/.test(text) || !Number.isSafeInteger(number)) throw new NoteError('not a number')
  return number
}

export type CheckpointRefusal = 'unknown-key' | 'forged-signature'

/**
 * Undefined if one of the keys signed the checkpoint. A line with name and id of a key whose signature is wrong makes
 * the whole note worthless.
 */
export function checkpointRefusal(
  { origin, note }: SignedCheckpoint,
  keys: readonly VerifierKey[],
): CheckpointRefusal | undefined {
  let isSigned = false
  for (const key of keys.filter(({ name }) => name === origin)) {
    const line = signatureOf(note, key)
    if (line === undefined) continue
    if (!isSignedBy(key, note.text, line)) return 'forged-signature'
    isSigned = true
  }
  return isSigned ? undefined : 'unknown-key'
}
