import { createPublicKey, type KeyObject } from 'node:crypto'
import {
  formatNote,
  formatVkey,
  isSignedBy,
  NoteError,
  parseNote,
  parseVkey,
  signatureOf,
  signatureTypes,
  signNote,
  verifierKey,
  type VerifierKey,
} from '../../platform/transparency-log/signed-note.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { logName } from './log-record.ts'

/** The public key of a log, with the name of the log. */
export function logKeyOf(name: string, key: KeyObject): VerifierKey {
  const der = createPublicKey(key).export({ type: 'spki', format: 'der' })
  return verifierKey(name, signatureTypes.ed25519, der.subarray(-32))
}

/** Begins the note in which a key of a log names the next one. No checkpoint begins with it. */
const noteHead = 'clinical-assessment-platform seal key'

/** The note by which a key hands on to the next one of the same log. */
export function successionNote(key: VerifierKey, privateKey: KeyObject, next: VerifierKey): string {
  const text = `${noteHead}\n${key.name}\n${formatVkey(next)}\n`
  return formatNote({ text, signatures: [signNote(text, key, privateKey)] })
}

/** The key that a note names as the next one, if one of the given keys of the same log signed it. */
export function successorIn(note: string, keys: readonly VerifierKey[]): VerifierKey | undefined {
  try {
    const parsed = parseNote(note)
    const [head, name, vkey = '', ...rest] = parsed.text.split('\n')
    const next = parseVkey(vkey)
    if (head !== noteHead || next.name !== name || rest.join() !== '') return undefined
    const isSigned = keys.some((key) => {
      const line = key.name === name ? signatureOf(parsed, key) : undefined
      return line !== undefined && isSignedBy(key, parsed.text, line)
    })
    return isSigned ? next : undefined
  } catch (error) {
    if (error instanceof NoteError) return undefined
    throw error
  }
}

/** The public keys of all logs of an installation, newest first. */
export async function logKeys(vault: Pick<Vault, 'sealKeys'>, origin: string): Promise<readonly VerifierKey[]> {
  const keys = await vault.sealKeys()
  return keys.map(({ generation, privateKey }) => logKeyOf(logName({ origin, generation }), privateKey))
}
