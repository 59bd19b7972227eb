import { logKeyOf, successionNote } from '../../contracts/audit/log-keys.ts'
import { decodeRecord, encodeRecord, logName, sealedPartOf, type LogRecord } from '../../contracts/audit/log-record.ts'
import { formatVkey, signatureOf, type VerifierKey } from '../../platform/transparency-log/signed-note.ts'
import type { StoredRecord } from '../../platform/vault/vault-rows.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { operatorAccount } from '../operator-account.ts'

interface OpenedRecord {
  readonly kept: StoredRecord
  readonly record: LogRecord
}

export interface RotatedSealKey {
  readonly vkey: string
  /** The keys that sign each seal beside it, until they are ended. */
  readonly with: readonly string[]
}

/**
 * Adds a key that signs seals, beside those that sign now. The newest of them signs a note that names it. The process
 * that seals appends the note to the log, and from then on its seals have the signatures of all.
 * @throws Error if there is no log, or if the rotation before is not in the log yet
 */
export async function rotateSealKey(vault: Vault): Promise<RotatedSealKey> {
  return changed(vault, async (record) => {
    const [newest = 1] = record.keys
    const number = newest + 1
    const name = logName(record)
    const [signing, added] = await Promise.all([
      vault.sealKey(record.generation, newest),
      vault.sealKey(record.generation, number),
    ])
    const next = logKeyOf(name, added)
    const vkey = formatVkey(next)
    const data = { vkey, note: successionNote(logKeyOf(name, signing), signing, next), by: operatorAccount() }
    const older = await keysOf(vault, record, record.keys)
    return {
      result: { vkey, with: older.map(formatVkey) },
      record: { ...record, keys: [number, ...record.keys], unlogged: [{ type: 'SealKeyRotated', data }] },
    }
  })
}

/**
 * Ends all keys of seals but the newest one: they sign no seal any more.
 * @throws Error if there is only one, or if no seal has the signature of the newest one yet
 */
export async function endSealKeys(
  vault: Vault,
): Promise<{ readonly ended: readonly string[]; readonly signs: string }> {
  return changed(vault, async (record) => {
    const [newest = 1, ...older] = record.keys
    if (older.length === 0) throw new Error('one key signs the seals: keys rotate seal adds another one')
    const [key] = await keysOf(vault, record, [newest])
    const { checkpoint } = sealedPartOf(record)
    if (key === undefined || checkpoint === undefined || signatureOf(checkpoint.note, key) === undefined)
      throw new Error('no seal has the signature of the newest key yet: wait for the next seal')
    const vkeys = (await keysOf(vault, record, older)).map(formatVkey)
    const data = { vkeys, by: operatorAccount() }
    return {
      result: { ended: vkeys, signs: formatVkey(key) },
      record: { ...record, keys: [newest], unlogged: [{ type: 'SealKeysEnded', data }] },
    }
  })
}

async function keysOf(vault: Vault, record: LogRecord, numbers: readonly number[]): Promise<VerifierKey[]> {
  const keys = await Promise.all(numbers.map((number) => vault.sealKey(record.generation, number)))
  return keys.map((key) => logKeyOf(logName(record), key))
}

/** Changes the record as it is now, also if the process that seals changes it meanwhile. */
async function changed<Result>(
  vault: Vault,
  change: (record: LogRecord) => Promise<{ readonly result: Result; readonly record: LogRecord }>,
): Promise<Result> {
  for (;;) {
    const { kept, record } = await openRecord(vault)
    const { result, record: next } = await change(record)
    if ((await vault.replaceRecord('sealed-log', kept, encodeRecord(next))) !== undefined) return result
  }
}

async function openRecord(vault: Vault): Promise<OpenedRecord> {
  const kept = await vault.record('sealed-log')
  if (kept === undefined) throw new Error('nothing is sealed yet: the key of the log is new')
  const record = decodeRecord(kept.bytes)
  if (record.unlogged.length > 0)
    throw new Error('the last change of these keys is not in the log yet: the platform must run, try again in a minute')
  return { kept, record }
}
