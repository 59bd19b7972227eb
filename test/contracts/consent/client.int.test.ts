import { randomBytes, randomUUID } from 'node:crypto'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { openConsentClient, type ConsentClient, type ConsentQuestion } from '../../../contracts/consent/client.ts'
import type { ConsentAnswer } from '../../../contracts/consent/record.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault, type Vault } from '../../../platform/vault/vault.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { consentChannelStream } from '../../../streams/channels/consent.ts'
import { openEventStore, type EventStore } from '../../../streams/store/event-store.ts'
import { importsOf, readSources } from '../../architecture/imports.ts'
import { cutConnection, type CutConnection } from '../../embedded/eventstore/contract/cut-connection.ts'
import { consentPublicFact } from '../../streams/channel-facts.ts'
import { embeddedEventStore, type TestEventStore } from '../../support/event-store.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

const question: ConsentQuestion = { orgId: tenantOfFact(randomUUID()), patientId: randomUUID(), code: 'ai_analysis' }
const { signal } = new AbortController()

let node: TestEventStore
let database: FreshDatabase
let vault: Vault
let store: EventStore
let line: CutConnection
let listening: EventStore
let client: ConsentClient
let time: number
let asked: ConsentQuestion[]
/** What the consent service answers, once this has settled. */
let service: () => Promise<ConsentAnswer> | ConsentAnswer

beforeAll(async () => {
  ;[node, database] = await Promise.all([embeddedEventStore(), freshDatabase()])
  vault = await openVault({
    url: database.vaultUrl,
    masterKeys: parseMasterKeys(`test:${randomBytes(32).toString('base64')}`),
  })
  store = await openEventStore({ url: node.url, catalogue, vault })
  // There is a past, which nobody needs to hear of again.
  await tell({ patientId: randomUUID() })
})

afterAll(async () => {
  await store.close()
  await vault.close()
  await Promise.all([node.stop(), database.drop()])
})

beforeEach(async () => {
  line = await cutConnection(node.url)
  listening = await openEventStore({ url: line.url, catalogue, vault })
  time = 0
  asked = []
  service = () => 'granted'
  const ask = async (one: ConsentQuestion) => {
    asked.push(one)
    return service()
  }
  client = await openConsentClient({ ask, events: listening, now: () => new Date(time) })
  await untilKept()
})

afterEach(async () => {
  await client.close()
  await listening.close()
  await line.close()
})

/** As the relay of the consent service tells a decision. */
async function tell({
  patientId = question.patientId,
  orgId = question.orgId,
}: Partial<ConsentQuestion> = {}): Promise<void> {
  const last = await store.readLast(consentChannelStream.name)
  const id = randomUUID()
  const { type, data } = consentPublicFact('consent.withdrawn', { patient_id: patientId, org_id: orgId })
  const metadata = { commandId: id, $correlationId: id }
  await store.appendRaw(consentChannelStream.name, last?.revision ?? 'no_stream', [{ id, type, data, metadata }])
}

async function check(changes: Partial<ConsentQuestion> = {}): Promise<ConsentAnswer> {
  return client.check({ ...question, ...changes }, signal)
}

/** How often the service was asked for these checks. */
async function asksOf(...checks: readonly Partial<ConsentQuestion>[]): Promise<number> {
  const before = asked.length
  for (const one of checks) await check(one)
  return asked.length - before
}

/** The client listens: what it asked a moment ago it does not ask again. */
async function untilKept(): Promise<void> {
  await vi.waitFor(async () => expect(await asksOf({}, {})).toBeLessThan(2), { timeout: 15_000 })
}

async function untilAskedAgain(): Promise<void> {
  await vi.waitFor(async () => expect(await asksOf({})).toBe(1), { timeout: 15_000 })
}

test('an answer is kept for five minutes, of each patient, organisation and code by itself', async () => {
  expect(await asksOf({}, {}, { patientId: question.patientId.toUpperCase() })).toBe(0)
  expect(await asksOf({ code: 'research' }, { patientId: randomUUID() }, { orgId: tenantOfFact(randomUUID()) })).toBe(3)
  time = 5 * 60_000 - 1
  expect(await asksOf({})).toBe(0)
  time += 1
  expect(await asksOf({}, {})).toBe(1)
})

test('a decision drops what is kept of its patient, and of nobody else', async () => {
  const other = { patientId: randomUUID() }
  await asksOf(other)
  service = () => 'not-granted'
  await tell()
  await vi.waitFor(async () => expect(await check()).toBe('not-granted'))
  expect(await check(other)).toBe('granted')
  await tell({ ...other, orgId: tenantOfFact(randomUUID()) })
  await tell(other)
  await vi.waitFor(async () => expect(await check(other)).toBe('not-granted'))
})

test('an answer that a decision overtook is not kept', async () => {
  const patient = { patientId: randomUUID() }
  let release = (): void => undefined
  service = () =>
    new Promise((resolve) => {
      release = () => resolve('granted')
    })
  const early = check(patient)
  // The line carries events in order: when the second patient is asked for again, the first decision was heard of.
  await tell(patient)
  await tell()
  const held = asked.length
  service = () => 'not-granted'
  await vi.waitFor(async () => expect(await check()).toBe('not-granted'))
  expect(asked.length).toBeGreaterThan(held)
  release()
  expect(await early).toBe('granted')
  expect(await check(patient)).toBe('not-granted')
})

test('no answer is neither a permission nor kept', async () => {
  const patient = { patientId: randomUUID() }
  service = () => 'unavailable'
  expect([await check(patient), await check(patient)]).toEqual(['unavailable', 'unavailable'])
  service = () => 'granted'
  expect(await check(patient)).toBe('granted')
  service = () => Promise.reject(new Error('the service broke'))
  await expect(check({ patientId: randomUUID() })).rejects.toThrow('the service broke')
})

test('a lost subscription empties the cache: everything is asked until it is back, and what was kept before is forgotten', async () => {
  const other = { patientId: randomUUID() }
  await asksOf(other)
  line.cut()
  await untilAskedAgain()
  await untilKept()
  expect(await asksOf(other, other)).toBe(1)
})

test('while the subscription cannot come back, every check is asked, and a decision that it cannot hear of counts at once', async () => {
  await line.close()
  await untilAskedAgain()
  service = () => 'not-granted'
  await tell()
  expect(await check()).toBe('not-granted')
  expect(await asksOf({}, {}, {})).toBe(3)
})

test('a closed client asks each time', async () => {
  await client.close()
  expect(await asksOf({}, {})).toBe(2)
})

test('nothing that decides on a clinical analysis keeps consent', async () => {
  const sources = await readSources()
  const keeping = sources
    .filter((file) => importsOf(file).includes('contracts/consent/client.ts'))
    .map(({ path }) => path)
  expect(keeping.filter((path) => !path.startsWith('test/'))).toEqual([])
})

test('an event that nobody can read may be about anybody: all is forgotten', async () => {
  const foreign = EventStoreDBClient.connectionString(node.url)
  await foreign.appendToStream(
    consentChannelStream.name,
    jsonEvent({ type: 'consent.withdrawn', data: { patient: 'somebody' } }),
  )
  await foreign.dispose()
  await untilAskedAgain()
  await untilKept()
})
