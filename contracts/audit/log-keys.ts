import { createPublicKey, type KeyObject } from 'node:crypto'
import { signatureTypes, verifierKey, type VerifierKey } from '../../platform/transparency-log/signed-note.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { logName } from './log-record.ts'

/** The public key of a log, with the name of the log. */
export function logKeyOf(name: string, key: KeyObject): VerifierKey {
  const der = createPublicKey(key).export({ type: 'spki', format: 'der' })
  return verifierKey(name, signatureTypes.ed25519, der.subarray(-32))
}

/** The public keys of all logs of an installation, newest first. */
export async function logKeys(vault: Pick<Vault, 'sealKeys'>, origin: string): Promise<readonly VerifierKey[]> {
  const keys = await vault.sealKeys()
  return keys.map(({ generation, privateKey }) => logKeyOf(logName({ origin, generation }), privateKey))
}
