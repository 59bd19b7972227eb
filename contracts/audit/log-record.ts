import { Type, type Static } from 'typebox'
import { Check } from 'typebox/schema'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { parsePosition, startOfLog, type Position } from '../../platform/kit/positions.ts'
import { parseCheckpoint, type SignedCheckpoint } from '../../platform/transparency-log/checkpoint.ts'
import type { Vault } from '../../platform/vault/vault.ts'

const Note = Type.Union([Type.String(), Type.Null()])

/** What the vault keeps of the sealed log. A restored event store cannot change it. */
const LogRecord = Type.Object({
  /** 1, and one more for each older log that an operator accepted. */
  generation: Type.Integer({ minimum: 1 }),
  /** Origin of the first log. */
  origin: Type.String(),
  /** The newest checkpoint, and the position of its last event. Null before the first seal. */
  checkpoint: Note,
  position: Note,
  /** The newest checkpoint that enough witnesses signed. */
  cosigned: Note,
  /** Numbers of the keys of this log that sign its checkpoints, newest first. */
  keys: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1 }),
  /** Events about these keys that the process which seals has yet to append. */
  unlogged: Type.Array(Type.Object({ type: Type.String(), data: Type.Unknown() })),
})
export type LogRecord = Static<typeof LogRecord>

export function newRecord(origin: string): LogRecord {
  return { generation: 1, origin, checkpoint: null, position: null, cosigned: null, keys: [1], unlogged: [] }
}

export function encodeRecord(record: LogRecord): Uint8Array {
  return Buffer.from(JSON.stringify(record))
}

/** Throws if the bytes are no record: then another version of the program wrote them. */
export function decodeRecord(bytes: Uint8Array): LogRecord {
  const record: unknown = JSON.parse(Buffer.from(bytes).toString())
  if (!Check(LogRecord, record)) throw new Error('the record of the sealed log in the vault has an unknown form')
  return record
}

/** The sealed part of the log that a record names. */
export interface SealedPart {
  readonly size: number
  readonly position: Position
  /** Undefined before the first seal. */
  readonly checkpoint: SignedCheckpoint | undefined
}

export function sealedPartOf({ checkpoint, position }: Pick<LogRecord, 'checkpoint' | 'position'>): SealedPart {
  if (checkpoint === null || position === null) return { size: 0, position: startOfLog, checkpoint: undefined }
  const parsed = parseCheckpoint(checkpoint)
  const place = parsePosition(position)
  if (place === undefined) throw new Error('the record of the sealed log in the vault has no position')
  return { size: parsed.size, position: place, checkpoint: parsed }
}

/** The name of a log, and of its key: the origin, with a number from the second log on. */
export function logName({ origin, generation }: Pick<LogRecord, 'origin' | 'generation'>): string {
  return generation === 1 ? origin : `${origin}/${generation}`
}

/** The origin of a log that has none yet. */
export function firstOrigin(
  { sealOrigin, baseUrl }: Pick<Configuration, 'sealOrigin' | 'baseUrl'>,
  vault: Pick<Vault, 'fingerprint'>,
): string {
  return sealOrigin ?? `${new URL(baseUrl).host}/log/${vault.fingerprint('sealed log').slice(0, 8)}`
}
