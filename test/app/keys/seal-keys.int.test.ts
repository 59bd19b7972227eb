import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verifyConfiguredLog } from '../../../app/audit/verify-command.ts'
import { at } from '../../../app/demo/members.ts'
import { runKeys } from '../../../app/keys/run.ts'
import { endSealKeys, rotateSealKey } from '../../../app/keys/seal-keys.ts'
import { judge, type WitnessKey } from '../../../app/witness/add-checkpoint.ts'
import { logKeys, successorIn } from '../../../contracts/audit/log-keys.ts'
import { encodeRecord, sealedPartOf } from '../../../contracts/audit/log-record.ts'
import { logSealsOf } from '../../../contracts/audit/log-seals.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import type { SignedCheckpoint } from '../../../platform/transparency-log/checkpoint.ts'
import { formatVkey, parseVkey } from '../../../platform/transparency-log/signed-note.ts'
import { LogWriter } from '../../../processes/sealing/log-writer.ts'
import { startSealing } from '../../../processes/sealing/sealing.ts'
import { observed } from '../../engine/commands/decision-world.ts'
import { openSealingWorld, origin, type SealingWorld } from '../../processes/sealing/sealing-world.ts'
import { KilledError } from '../../processes/users/mortal-process.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { newKey } from '../audit/planted-log.ts'
import { eventually } from '../../support/eventually.ts'

let world: SealingWorld
let database: FreshDatabase
let folder: string
/** The key that an auditor wrote down when the log began. */
let noted: string
beforeAll(async () => {
  ;[world, database, folder] = await Promise.all([
    openSealingWorld(),
    freshDatabase(),
    mkdtemp(join(tmpdir(), 'seal-keys-')),
  ])
  await world.write(3)
  await world.sealAll()
  ;[noted = ''] = await vkeys()
})
afterAll(async () => {
  await Promise.all([world.close(), database.drop(), rm(folder, { recursive: true, force: true })])
})

async function vkeys(): Promise<string[]> {
  return (await logKeys(world.vault, origin)).map(formatVkey)
}

async function faults(key?: string) {
  const order = { isJson: false, from: undefined, key, witnesses: [] }
  return (await verifyConfiguredLog({ ...world.env, DATABASE_URL: database.url }, order, () => undefined)).faults
}

async function newest(): Promise<SignedCheckpoint> {
  const { checkpoint } = sealedPartOf(await world.record())
  if (checkpoint === undefined) throw new Error('nothing is sealed')
  return checkpoint
}

async function signers(): Promise<string[]> {
  return (await newest()).note.signatures.map(({ id }) => id)
}

/** What a witness that knows these keys answers to a seal that it sees first. */
async function witnessed(...known: string[]): Promise<number> {
  const key: WitnessKey = newKey('w.example', 4)
  const asked = { oldSize: 0, proof: [], checkpoint: await newest() }
  return judge(asked, undefined, known.map(parseVkey), key, 1_800_000_000).status
}

async function outputOf(order: Parameters<typeof runKeys>[0]): Promise<unknown> {
  let out = ''
  const env = { ...world.env, DATABASE_URL: database.url }
  await runKeys(order, env, { out: (text) => void (out += text), err: () => undefined, isInteractive: false })
  return JSON.parse(out)
}

const logged = async () => {
  const events = []
  for await (const event of logSealsOf(world.store)) events.push(event)
  return events.filter(({ type }) => type === 'SealKeyRotated' || type === 'SealKeysEnded')
}

test('seals have the signatures of both keys until the older one is ended, and the first key vouches for the newest', async () => {
  await expect(endSealKeys(world.vault)).rejects.toThrow('one key signs the seals')
  const rotated = await outputOf({ action: 'rotate', purpose: 'seal' })
  const added = String(at(rotated, 'vkey'))
  expect(at(rotated, 'with')).toEqual([noted])
  expect(await vkeys()).toEqual([added, noted])
  // Nothing has both signatures yet, and the log does not name the key.
  await expect(rotateSealKey(world.vault)).rejects.toThrow('is not in the log yet')
  await expect(endSealKeys(world.vault)).rejects.toThrow('is not in the log yet')
  await LogWriter.open(world.servers, await world.record())
  await expect(endSealKeys(world.vault)).rejects.toThrow('no seal has the signature of the newest key yet')

  await world.write(1)
  await world.sealAll()
  expect(await signers()).toEqual([parseVkey(added).id, parseVkey(noted).id])
  expect([await faults(), await faults(noted)]).toEqual([[], []])
  expect([await witnessed(noted), await witnessed(added), await witnessed(added, noted)]).toEqual([200, 200, 200])

  expect(await outputOf({ action: 'end-seal' })).toEqual({ ended: [noted], signs: added })
  await world.write(1)
  await world.sealAll()
  expect(await signers()).toEqual([parseVkey(added).id])
  expect([await faults(), await faults(noted)]).toEqual([[], []])
  expect([await witnessed(noted), await witnessed(added)]).toEqual([403, 200])
  const [handedOver, ended] = await logged()
  expect(ended?.data).toMatchObject({ vkeys: [noted] })
  const note = String(at(handedOver?.data, 'note'))
  expect(successorIn(note, [parseVkey(noted)])).toMatchObject({ id: parseVkey(added).id })
  expect(successorIn(note.replace('seal key', 'seal kex'), [parseVkey(noted)])).toBeUndefined()
  expect(successorIn(note, [newKey(origin).key])).toBeUndefined()
})

test('a seal of an older key alone is forged', async () => {
  await rotateSealKey(world.vault)
  await world.sealAll()
  const kept = await world.vault.record('sealed-log')
  const record = await world.record()
  const [, older = 0] = record.keys
  await world.vault.replaceRecord('sealed-log', kept, encodeRecord({ ...record, keys: [older] }))
  await world.write(1)
  await world.sealAll()
  expect(await faults()).toMatchObject([
    { kind: 'forged_seal', detail: expect.stringContaining('newest key of the log') },
  ])
})

test('a process that dies between the event and the record leaves a log that the next one continues', async () => {
  const before = (await logged()).length
  const kept = await world.vault.record('sealed-log')
  const record = await world.record()
  await world.vault.replaceRecord('sealed-log', kept, encodeRecord({ ...record, keys: [2], unlogged: [] }))
  await rotateSealKey(world.vault)
  const vault = observed(world.vault, (name) => {
    if (name === 'replaceRecord') throw new KilledError()
  })
  await expect(world.sealAll({ ...world.servers, vault })).rejects.toThrow(KilledError)
  await world.write(1)
  await world.sealAll()
  expect((await logged()).slice(before).map(({ type }) => type)).toEqual(['SealKeyRotated', 'SealKeyRotated'])
  expect(await signers()).toHaveLength(2)
})

test('a process that seals takes the new key without a restart and without a failure', async () => {
  const configuration = loadConfiguration({ SEAL_INTERVAL_SECONDS: '1' })
  const egress = createEgress({ configuration })
  const lines: string[] = []
  const logger = createLogger({ level: 'warn', destination: { write: (line: string) => void lines.push(line) } })
  const options = { ...world.servers, store: world.store, configuration, origin, egress, pool: undefined, logger }
  const sealing = startSealing({ ...options, now: () => new Date() })
  try {
    await world.write(1)
    await eventually(async () => expect((await newest()).size).toBe((await world.stored()).length))
    await endSealKeys(world.vault)
    await eventually(async () => expect((await world.record()).unlogged).toEqual([]))
    const { vkey } = await rotateSealKey(world.vault)
    await eventually(async () => expect((await world.record()).unlogged).toEqual([]))
    await world.write(1)
    await eventually(async () => expect((await signers())[0]).toBe(parseVkey(vkey).id))
    expect([sealing.status().failingSince, lines]).toEqual([undefined, []])
  } finally {
    await sealing.close()
    await egress.close()
  }
})
