import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { startEventStore } from 'embedded-eventstore'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { acceptOlderLog } from '../../../app/audit/accept-older-log.ts'
import type { AuditServers } from '../../../app/audit/audit-servers.ts'
import { LogWentBackError, requireSealedLog } from '../../../app/audit/log-went-back.ts'
import type { VerifyOrder } from '../../../app/audit/orders.ts'
import {
  verificationText,
  verifyAndRecord,
  verifyConfiguredLog,
  verifyServers,
} from '../../../app/audit/verify-command.ts'
import { startWitness, type RunningWitness } from '../../../app/witness/start-witness.ts'
import { logKeys } from '../../../contracts/audit/log-keys.ts'
import { bytesOf, tileReader } from '../../../contracts/audit/log-objects.ts'
import { logSealsOf } from '../../../contracts/audit/log-seals.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import type { ObjectStore } from '../../../platform/storage/object-store.ts'
import { formatVkey, type VerifierKey } from '../../../platform/transparency-log/signed-note.ts'
import { TileTree } from '../../../platform/transparency-log/tiles.ts'
import { Witness } from '../../../processes/adapters/witness.ts'
import { LogWriter } from '../../../processes/sealing/log-writer.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { consents } from '../../../streams/consent/aggregate.ts'
import { contextOf, observed } from '../../engine/commands/decision-world.ts'
import { openSealingWorld, origin, type SealingWorld } from '../../processes/sealing/sealing-world.ts'
import { newRecord } from '../../../contracts/audit/log-record.ts'
import { isSealedStream } from '../../../contracts/audit/sealed-events.ts'
import { consentFact } from '../../streams/facts.ts'
import { freshDatabase } from '../../support/postgres.ts'

const logger = createLogger({ level: 'silent' })
const everything: VerifyOrder = { isJson: false, from: undefined, key: undefined, witnesses: [] }

let world: SealingWorld
let witness: RunningWitness
let egress: Egress
let configuration: ReturnType<typeof loadConfiguration>
let folder: string
let older: EventStore
let olderUrl: string
let olderRecord: Uint8Array
/** What the object store had then. */
const olderObjects = new Map<string, Buffer>()
const closers: (() => Promise<unknown>)[] = []

/** An object store whose reads are answered here. */
function objectsWith(stored: ReadonlyMap<string, Buffer>): ObjectStore {
  return {
    ...world.objects,
    async read(key) {
      const bytes = stored.get(key)
      if (bytes === undefined) return undefined
      return { etag: key, bytes: bytes.length, chunks: Readable.from([bytes]) }
    },
  }
}

function servers(changes: Partial<AuditServers> = {}): AuditServers {
  const { store, vault, objects } = world
  return { configuration, store, vault, objects, egress, close: async () => undefined, ...changes }
}

/** A node on a copy of the event store as it is now. */
async function copyOfStore(name: string): Promise<{ store: EventStore; url: string }> {
  const dataDir = join(folder, name)
  await cp(world.nodeDir, dataDir, { recursive: true, filter: (path) => !/index\.sqlite|lock/.test(path) })
  const node = await startEventStore({ dataDir })
  closers.push(() => node.stop())
  return { store: await world.storeOf(catalogue, node.url), url: node.url }
}

async function writeTo(store: EventStore, events: number): Promise<void> {
  for (let left = events; left > 0; left -= 1) {
    const fact = consentFact('ConsentRecorded', {})
    await store.append(consents.of(world.orgId, randomUUID()), 'no_stream', [fact], contextOf(world))
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sealed-log-'))
  world = await openSealingWorld()
  await world.write(300)
  const raw = EventStoreDBClient.connectionString(world.url)
  await raw.appendToStream('lab.events', jsonEvent({ type: 'Measured', data: {} }))
  await raw.dispose()
  await world.sealAll()
  olderRecord = (await world.vault.record('sealed-log'))?.bytes ?? Buffer.alloc(0)
  for await (const { key } of world.objects.list('log/'))
    olderObjects.set(key, (await bytesOf(world.objects, key)) ?? Buffer.alloc(0))
  ;({ store: older, url: olderUrl } = await copyOfStore('older'))
  await world.write(40)
  const writer = await world.sealAll()
  const order = {
    dataDir: join(folder, 'witness'),
    logs: (await logKeys(world.vault, origin)).map(formatVkey),
    port: 0,
    name: 'w.example',
  }
  witness = await startWitness(order, { host: '127.0.0.1', logger, now: () => new Date() })
  configuration = loadConfiguration({ WITNESSES: `${witness.address} ${witness.vkey}`, FOREIGN_CHANNELS: 'lab.events' })
  egress = createEgress({ configuration })
  const [address] = configuration.witnesses
  if (address === undefined || writer.checkpoint === undefined) throw new Error('nothing is sealed')
  const tree = new TileTree(writer.checkpoint.size, tileReader(world.objects, 1))
  const asked = new Witness(egress, address)
  const { signal } = new AbortController()
  const answer = await asked.sign(writer.checkpoint, (from) => tree.consistencyProof(from), signal)
  expect(answer.kind).toBe('signed')
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
  await egress.close()
  await witness.stop()
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

test('has its result also if the event store takes no record of it', async () => {
  const store = observed(world.store, (name) => {
    if (name === 'append') throw new Error('the disk is full')
  })
  const said: string[] = []
  const verification = await verifyAndRecord(servers({ store }), everything, (line) => void said.push(line))
  expect(verification).toMatchObject({ size: 341, faults: [] })
  expect(said).toEqual(['the result is not recorded: the disk is full'])
})

test('verifies the log of a real node, and what its witness signed', async () => {
  const verification = await verifyServers(servers(), everything)
  expect(verification).toEqual({
    size: 341,
    events: 343,
    truncated: 0,
    faults: [],
    witnesses: [{ name: 'w.example', size: 341, at: expect.any(String) }],
  })
  expect(verificationText(verification)).toMatch(
    /^343 events were read, 341 of them are sealed\.\nThe witness w\.example signed 341 events at .*\nNothing was changed/,
  )
  const later = await verifyServers(servers(), { ...everything, from: 301 })
  expect(later).toMatchObject({ size: 341, faults: [] })
  expect(later.events).toBeLessThan(50)
  await expect(verifyServers(servers(), { ...everything, from: 17 })).rejects.toThrow(
    '--from must be the size of a seal',
  )
})

test('trusts the key and the witness that the auditor names', async () => {
  const [key] = await logKeys(world.vault, origin)
  if (key === undefined) throw new Error('no key')
  const order = { ...everything, key: formatVkey(key), witnesses: [witness.vkey] }
  expect((await verifyServers(servers(), order)).faults).toEqual([])
  const stranger = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
  const kinds = (await verifyServers(servers(), { ...everything, key: stranger })).faults.map(({ kind }) => kind)
  expect(new Set(kinds)).toEqual(new Set(['unknown_key']))
  const unknown = 'witness.example/w1+a7e12144+BGG3op9v3HIXXDPBmFc/0CioJHhGCXc+pyvvFPlBZdYO'
  await expect(verifyServers(servers(), { ...everything, witnesses: [unknown] })).rejects.toThrow('does not answer')
  await expect(verifyServers(servers(), { ...everything, witnesses: ['x'] })).rejects.toThrow('--witness must be a key')
})

test('a start accepts the event store that was sealed, also with events after the seal', async () => {
  await requireSealedLog(servers())
  const { store } = await copyOfStore('later')
  await writeTo(store, 5)
  await requireSealedLog(servers({ store }))
})

test('a start refuses an event store that is older than the vault, and the check names the cut', async () => {
  await expect(requireSealedLog(servers({ store: older }))).rejects.toThrow(
    /^log-went-back: the event store ends before its newest seal, which covers 341 events\. Restore/,
  )
  const { faults } = await verifyServers(servers({ store: older }), everything)
  expect(faults.map(({ kind }) => kind)).toContain('tail_cut')
})

/** The store with another read of its log. */
function readingLog(readStoredLog: EventStore['readStoredLog']): EventStore {
  return new Proxy(world.store, {
    get: (target, name) => {
      const member: unknown = name === 'readStoredLog' ? readStoredLog : Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

test('a start takes no read that ended early for an event store that is older', async () => {
  const store = readingLog(async function* () {})
  await expect(requireSealedLog(servers({ store }))).rejects.toThrow('ended the read of its log early: try again')
})

test('a start accepts an event store that lacks sealed events, such as after a scavenge, but not the last one', async () => {
  const without = (isGone: (place: number, sealed: number) => boolean) =>
    readingLog(async function* (start) {
      const events = []
      for await (const event of world.store.readStoredLog(start)) if (isSealedStream(event.stream)) events.push(event)
      yield* events.filter((_, place) => !isGone(place, events.length))
    })
  await requireSealedLog(servers({ store: without((place) => place === 0 || place % 50 === 7) }))
  const endless = without((place, sealed) => place >= sealed - 2)
  await expect(requireSealedLog(servers({ store: endless }))).rejects.toThrow('early: try again')
})

test('a start refuses an older event store although it went on and has as many events', async () => {
  const { store } = await copyOfStore('other')
  const { store: shorter } = await copyOfStore('again')
  await writeTo(store, 10)
  await requireSealedLog(servers({ store }))
  expect(shorter).toBeDefined()
  await writeTo(older, 60)
  await expect(requireSealedLog(servers({ store: older }))).rejects.toThrow('is not the one that was sealed there')
})

test('a start refuses a vault and an event store of the same older backup, by what a witness signed', async () => {
  const vault = new Proxy(world.vault, {
    get: (target, name) => {
      const member: unknown =
        name === 'record' ? async () => ({ bytes: olderRecord }) : Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const restored = servers({ store: older, vault, objects: objectsWith(olderObjects) })
  await expect(requireSealedLog(restored)).rejects.toThrow(
    'log-went-back: the witness w.example has signed 341 events, and 301 are sealed',
  )
  // The object store knows it too, if it was not restored.
  await expect(requireSealedLog(servers({ store: older, vault }))).rejects.toThrow(
    'the tiles of the sealed log do not fit',
  )
  // Nobody else can know it, so a start without a witness goes on.
  await requireSealedLog({ ...restored, configuration: loadConfiguration({}) })
})

test('a start refuses tiles that do not fit, and another name of the log', async () => {
  await expect(requireSealedLog(servers({ objects: objectsWith(new Map()) }))).rejects.toThrow(
    'the tiles of the sealed log do not fit',
  )
  const renamed = loadConfiguration({ SEAL_ORIGIN: 'another.example/log' })
  await expect(requireSealedLog(servers({ configuration: renamed }))).rejects.toThrow(`SEAL_ORIGIN must be ${origin}`)
  await requireSealedLog(servers({ configuration: loadConfiguration({ SEAL_ORIGIN: origin }) }))
})

test('an operator accepts an older log: a new one begins, and names the seal where the old one ended', async () => {
  const database = await freshDatabase()
  closers.push(() => database.drop())
  const env = { ...world.env, DATABASE_URL: database.url }
  const reason = 'restored after a broken disk'
  await expect(acceptOlderLog(env, { reason })).rejects.toThrow('has every sealed event')
  const accepted = await acceptOlderLog({ ...env, ESDB_URL: olderUrl }, { reason })
  expect(accepted).toMatchObject({ origin: `${origin}/2`, size: 341 })
  const seals = []
  for await (const seal of logSealsOf(older)) seals.push(seal)
  expect(seals.at(-1)).toMatchObject({
    type: 'OlderLogAccepted',
    data: { reason, by: accepted.by, size: 341, root: accepted.root },
  })

  await requireSealedLog(servers({ store: older }))
  const writer = await LogWriter.open({ ...world.servers, store: older }, newRecord(origin))
  for await (const event of older.readStoredLog({ after: writer.position }))
    if (isSealedStream(event.stream)) writer.add(event)
  await writer.seal()
  expect(writer.checkpoint).toMatchObject({ origin: `${origin}/2`, size: 361 })
  await requireSealedLog(servers({ store: older }))
  const verification = await verifyServers(servers({ store: older }), everything)
  expect(verification).toMatchObject({ size: 361, faults: [] })
  const [key, formerKey, ...others] = await logKeys(world.vault, origin)
  if (key === undefined || formerKey === undefined) throw new Error('a log has no key')
  expect([key.name, formerKey.name, others]).toEqual([`${origin}/2`, origin, []])
  // An auditor notes down the key of the new log, or still has that of the old one.
  const faultsBy = async (trusted: VerifierKey) =>
    (await verifyServers(servers({ store: older }), { ...everything, key: formatVkey(trusted) })).faults
  expect(await faultsBy(key)).toEqual([])
  expect(new Set((await faultsBy(formerKey)).map(({ kind }) => kind))).toEqual(new Set(['unknown_key']))
  const configured = await verifyConfiguredLog({ ...env, ESDB_URL: olderUrl }, everything, expect.unreachable)
  expect(configured).toMatchObject({ size: 361, faults: [] })
  await expect(requireSealedLog(servers())).rejects.toThrow(LogWentBackError)
})
