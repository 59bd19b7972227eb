import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWitness, type RunningWitness } from '../../../app/witness/start-witness.ts'
import { logKeys } from '../../../contracts/audit/log-keys.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import { parseCheckpoint } from '../../../platform/transparency-log/checkpoint.ts'
import { cosignedAt } from '../../../platform/transparency-log/cosignature.ts'
import { formatVkey, parseVkey } from '../../../platform/transparency-log/signed-note.ts'
import { startSealing, type Sealing, type SealingOptions } from '../../../processes/sealing/sealing.ts'
import type { LogSealEvent } from '../../../streams/log-seals/events.ts'
import { logSealsOf } from '../../../contracts/audit/log-seals.ts'
import { observed } from '../../engine/commands/decision-world.ts'
import { openSealingWorld, origin, type SealingWorld } from './sealing-world.ts'
import { eventually } from '../../support/eventually.ts'

const logger = createLogger({ level: 'silent' })
let world: SealingWorld
let folder: string
const closers: (() => Promise<void>)[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'witness-'))
  world = await openSealingWorld()
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

async function seals(): Promise<LogSealEvent[]> {
  const events: LogSealEvent[] = []
  for await (const event of logSealsOf(world.store)) events.push(event)
  return events
}

async function sealedSizes(): Promise<number[]> {
  return (await seals()).flatMap((event) => (event.type === 'LogSealed' ? [event.data.size] : []))
}

function begin(changes: Partial<SealingOptions> = {}, env: Record<string, string> = {}): Sealing {
  const configuration = loadConfiguration({ SEAL_INTERVAL_SECONDS: '1', ...env })
  const egress: Egress = createEgress({ configuration })
  const options = { ...world.servers, store: world.store, configuration, origin, egress, pool: undefined, logger }
  const sealing = startSealing({ ...options, now: () => new Date(), ...changes })
  closers.push(async () => {
    await sealing.close()
    await egress.close()
  })
  return sealing
}

async function untilSealed(): Promise<void> {
  const events = (await world.stored()).length
  await eventually(async () => expect((await world.checkedCheckpoint()).size).toBe(events))
}

test('seals the past in pages, foreign and unsigned events included, and nothing of its own or of the server', async () => {
  await world.write(250)
  const raw = EventStoreDBClient.connectionString(world.url)
  await raw.appendToStream('foreign.events', jsonEvent({ type: 'SomethingElse', data: { a: 1 } }))
  await raw.setStreamMetadata('foreign.events', { maxCount: 10 })
  await raw.dispose()
  const sealing = begin({ pageEvents: 100 })
  await untilSealed()
  expect((await world.stored()).at(-1)).toMatchObject({ stream: 'foreign.events', type: 'SomethingElse' })
  expect(await sealedSizes()).toEqual([100, 200, 251])
  await world.write(1)
  await untilSealed()
  expect(await sealedSizes()).toEqual([100, 200, 251, 252])
  expect(sealing.status()).toEqual({ failingSince: undefined, quorumMissingSince: undefined, ahead: [] })
  await sealing.close()
})

test('continues when the object store is back, and shows since when it could not seal', async () => {
  let isAway = true
  const objects = observed(world.objects, (name) => {
    if (isAway && name === 'put') throw new Error('away')
  })
  await world.write(1)
  const sealing = begin({ objects })
  await eventually(() => expect(sealing.status().failingSince).toBeInstanceOf(Date))
  isAway = false
  await untilSealed()
  await eventually(() => expect(sealing.status().failingSince).toBeUndefined())
  await sealing.close()
})

async function untilCosigned(): Promise<void> {
  await eventually(async () => {
    const { cosigned } = await world.record()
    expect(parseCheckpoint(cosigned ?? '').size).toBe((await world.stored()).length)
  })
}

async function witnessOf(name: string): Promise<RunningWitness> {
  const logs = (await logKeys(world.vault, origin)).map(formatVkey)
  const order = { dataDir: join(folder, name), logs, port: 0, name }
  return startWitness(order, { host: '127.0.0.1', logger, now: () => new Date() })
}

test('brings each seal to the witnesses, goes on while one is away, and records who signed', async () => {
  const [first, second] = [await witnessOf('w1.example'), await witnessOf('w2.example')]
  closers.push(() => first.stop())
  const pairs = [first, second].map(({ address, vkey }) => `${address} ${vkey}`).join(',')
  const sealing = begin({}, { WITNESSES: pairs })
  const signers = async (): Promise<string[]> => {
    const newest = (await seals()).findLast(({ type }) => type === 'LogCosigned')
    if (newest?.type !== 'LogCosigned') return []
    const checkpoint = parseCheckpoint(newest.data.checkpoint)
    const keys = [first, second].map(({ vkey }) => parseVkey(vkey))
    const { size } = await world.checkedCheckpoint()
    return size === checkpoint.size
      ? keys.filter((key) => cosignedAt(checkpoint, key) instanceof Date).map(({ name }) => name)
      : []
  }
  await world.write(1)
  await eventually(async () => expect(await signers()).toEqual(['w1.example', 'w2.example']))
  await untilCosigned()
  expect(sealing.status().quorumMissingSince).toBeUndefined()

  await second.stop()
  await world.write(1)
  await untilSealed()
  await eventually(async () => expect(await signers()).toEqual(['w1.example']))
  expect(sealing.status()).toMatchObject({ ahead: [] })
  expect(sealing.status().quorumMissingSince).toBeInstanceOf(Date)
  await sealing.close()

  // One of two is enough with a quorum of one.
  await world.write(1)
  const content = begin({}, { WITNESSES: pairs, WITNESS_QUORUM: '1' })
  await untilCosigned()
  await eventually(() => expect(content.status().quorumMissingSince).toBeUndefined())
  await content.close()
})

test('reports a witness that has signed a larger log than there is', async () => {
  const witness = await witnessOf('w3.example')
  closers.push(() => witness.stop())
  const pairs = { WITNESSES: `${witness.address} ${witness.vkey}` }
  await world.write(1)
  const sealing = begin({}, pairs)
  await untilCosigned()
  await eventually(() => expect(sealing.status().quorumMissingSince).toBeUndefined())
  await sealing.close()
  // The store and the vault of another installation, with the key and the witness of this one.
  const other = await openSealingWorld()
  closers.push(() => other.close())
  await other.write(1)
  const sealKey = (generation: number) => world.vault.sealKey(generation)
  const vault = {
    record: other.vault.record.bind(other.vault),
    replaceRecord: other.vault.replaceRecord.bind(other.vault),
    sealKey,
  }
  const behind = begin({ ...other.servers, store: other.store, vault }, pairs)
  await eventually(() => expect(behind.status().ahead).toEqual(['w3.example']))
  await behind.close()
})
