import { openBytes, sealBytes } from '../kit/sealed-bytes.ts'
import { MasterKeyError, type MasterKeyRing } from './master-keys.ts'

/** A secret in the database, sealed with the master key of that id. */
export interface WrappedSecret {
  readonly wrapped: Uint8Array
  readonly masterKeyId: string
}

/** Seals a secret, bound to kind and id, so rows cannot be swapped. */
export function wrapSecret({ wrapWith }: MasterKeyRing, kind: string, id: string, secret: Uint8Array): WrappedSecret {
  return { wrapped: sealBytes(wrapWith.key, place(kind, id), secret), masterKeyId: wrapWith.id }
}

/** @throws MasterKeyError if the ring lacks the master key or the row was changed */
export function unwrapSecret(
  ring: MasterKeyRing,
  kind: string,
  id: string,
  { wrapped, masterKeyId }: WrappedSecret,
): Uint8Array {
  const master = ring.byId.get(masterKeyId)
  if (master === undefined)
    throw new MasterKeyError(`the vault needs master key ${masterKeyId}, which is not in the ring`)
  try {
    return new Uint8Array(openBytes(master.key, place(kind, id), wrapped))
  } catch {
    throw new MasterKeyError(`a ${kind} key of the vault does not open with master key ${masterKeyId}`)
  }
}

function place(kind: string, id: string): string {
  return `${kind}\n${id}`
}
