import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { NoteError, parseVkey, type VerifierKey } from '../../platform/transparency-log/signed-note.ts'

/** The key of an option. @throws ConfigurationError */
export function readKey(option: string, vkey: string): VerifierKey {
  try {
    return parseVkey(vkey)
  } catch (error) {
    if (error instanceof NoteError) throw new ConfigurationError(`${option} must be a key, <name>+<id>+<base64>`)
    throw error
  }
}
