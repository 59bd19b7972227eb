import { sign, verify, type KeyObject } from 'node:crypto'
import type { SignedCheckpoint } from './checkpoint.ts'
import { signatureOf, signatureTypes, type NoteSignature, type VerifierKey } from './signed-note.ts'

const timestampBytes = 8

/** Signs a checkpoint as a witness, with an Ed25519 key. `seconds` is the time since the epoch. */
export function cosign(
  checkpoint: SignedCheckpoint,
  { name, id }: VerifierKey,
  privateKey: KeyObject,
  seconds: number,
): NoteSignature {
  const signature = sign(null, ed25519Message(checkpoint, BigInt(seconds)), privateKey)
  return { name, id, bytes: Buffer.concat([uint64(BigInt(seconds)), signature]) }
}

/** When the witness signed the checkpoint. `forged` if its line is wrong, undefined if it has none. */
export function cosignedAt(checkpoint: SignedCheckpoint, key: VerifierKey): Date | 'forged' | undefined {
  const line = signatureOf(checkpoint.note, key)
  return line === undefined ? undefined : (timeOfCosignature(checkpoint, key, line) ?? 'forged')
}

/** The time of a valid cosignature. Undefined for any other line. */
export function timeOfCosignature(
  checkpoint: SignedCheckpoint,
  key: VerifierKey,
  { bytes }: NoteSignature,
): Date | undefined {
  if (bytes.length <= timestampBytes) return undefined
  const seconds = bytes.readBigUInt64BE()
  const signature = bytes.subarray(timestampBytes)
  const message = messageOf(checkpoint, key, seconds)
  if (message === undefined || !verify(null, message, key.publicKey, signature)) return undefined
  const time = new Date(Number(seconds) * 1000)
  return Number.isNaN(time.getTime()) ? undefined : time
}

function messageOf(checkpoint: SignedCheckpoint, key: VerifierKey, seconds: bigint): Buffer | undefined {
  if (key.type === signatureTypes.ed25519Cosignature) return ed25519Message(checkpoint, seconds)
  return key.type === signatureTypes.mlDsa44Cosignature ? mlDsaMessage(checkpoint, key, seconds) : undefined
}

function ed25519Message({ note }: SignedCheckpoint, seconds: bigint): Buffer {
  return Buffer.from(`cosignature/v1\ntime ${seconds}\n${note.text}`)
}

/** It covers the name of the witness, and no extension lines. */
function mlDsaMessage({ origin, size, root }: SignedCheckpoint, { name }: VerifierKey, seconds: bigint): Buffer {
  return Buffer.concat([
    Buffer.from('subtree/v1\n\0'),
    shortText(name),
    uint64(seconds),
    shortText(origin),
    uint64(0n),
    uint64(BigInt(size)),
    root,
  ])
}

function shortText(text: string): Buffer {
  const bytes = Buffer.from(text)
  // No signature fits a text that the structure cannot hold.
  return Buffer.concat([Buffer.of(bytes.length % 256), bytes])
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}

/** The note with the lines of witnesses behind those of the log. Each key has one line: the newest. */
export function withCosignatures(checkpoint: SignedCheckpoint, lines: readonly NoteSignature[]): SignedCheckpoint {
  const kept = checkpoint.note.signatures.filter(
    ({ name, id }) => !lines.some((line) => line.name === name && line.id === id),
  )
  return { ...checkpoint, note: { text: checkpoint.note.text, signatures: [...kept, ...lines] } }
}
