import type { KeyObject } from 'node:crypto'
import {
  checkpointRefusal,
  parseCheckpoint,
  parseNumber,
  type Checkpoint,
  type SignedCheckpoint,
} from '../../platform/transparency-log/checkpoint.ts'
import { cosign, withCosignatures } from '../../platform/transparency-log/cosignature.ts'
import { parseHashes } from '../../platform/transparency-log/log-proof.ts'
import { emptyRoot, isConsistent, type Hash } from '../../platform/transparency-log/merkle.ts'
import { NoteError, signatureLine, type VerifierKey } from '../../platform/transparency-log/signed-note.ts'

export interface WitnessKey {
  readonly key: VerifierKey
  readonly privateKey: KeyObject
}

/** Answers of C2SP tlog-witness. */
export type Verdict =
  | { readonly status: 200; readonly body: string; readonly signed: SignedCheckpoint }
  | { readonly status: 409; readonly body: string }
  | { readonly status: 400 | 403 | 404 | 422; readonly body: string }

export interface Request {
  readonly oldSize: number
  readonly proof: readonly Hash[]
  readonly checkpoint: SignedCheckpoint
}

/** @throws NoteError */
export function readRequest(body: string): Request {
  const end = body.indexOf('\n\n')
  const [old = '', ...hashes] = body.slice(0, Math.max(end, 0)).split('\n')
  if (!old.startsWith('old ')) throw new NoteError('the first line is not the old size')
  return {
    oldSize: parseNumber(old.slice('old '.length)),
    proof: parseHashes(hashes),
    checkpoint: parseCheckpoint(body.slice(end + 2)),
  }
}

/**
 * Decides about a checkpoint: signs it if the log only grew since `latest`, the last one that was signed. The caller
 * stores what was signed before it answers.
 */
export function judge(
  { oldSize, proof, checkpoint }: Request,
  latest: Checkpoint | undefined,
  logKeys: readonly VerifierKey[],
  witness: WitnessKey,
  seconds: number,
): Verdict {
  if (!logKeys.some(({ name }) => name === checkpoint.origin)) return { status: 404, body: 'unknown log\n' }
  if (checkpointRefusal(checkpoint, logKeys) !== undefined) return { status: 403, body: 'not signed by the log\n' }
  if (oldSize > checkpoint.size) return { status: 400, body: 'the old size is larger\n' }
  const known = latest ?? { size: 0, root: emptyRoot }
  if (oldSize !== known.size) return { status: 409, body: `${known.size}\n` }
  if (!isConsistent(known, checkpoint, proof)) return { status: 422, body: 'the log did not only grow\n' }
  const line = cosign(checkpoint, witness.key, witness.privateKey, seconds)
  return { status: 200, body: `${signatureLine(line)}\n`, signed: withCosignatures(checkpoint, [line]) }
}
