import { randomBytes, randomUUID } from 'node:crypto'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openConsentClient, type ConsentClient, type ConsentQuestion } from '../../../contracts/consent/client.ts'
import type { ConsentAnswer } from '../../../contracts/consent/record.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault, type Vault } from '../../../platform/vault/vault.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { consentChannelStream } from '../../../streams/channels/consent.ts'
import { openEventStore, type EventStore } from '../../../engine/store/event-store.ts'
import { importsOf, readSources } from '../../architecture/imports.ts'
import { cutConnection, type CutConnection } from 'embedded-eventstore/cut-connection'
import { consentPublicFact } from '../../streams/channel-facts.ts'
import { hostedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { freshVault, type FreshDatabase } from '../../support/postgres.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { eventually } from '../../support/eventually.ts'

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
/** The answer of the consent service. */
let service: () => Promise<ConsentAnswer> | ConsentAnswer

beforeAll(async () => {
  ;[node, database] = await Promise.all([hostedEventStore(), freshVault()])
  vault = await openVault({
    url: database.url,
    masterKeys: parseMasterKeys(`test:${randomBytes(32).toString('base64')}`),
  })
  store = await openEventStore({ url: node.url, catalogue, vault })
  // An earlier event, which the client must not need.
  await publishDecision({ patientId: randomUUID() })
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

/** Publishes a decision as the relay of the consent service does. */
async function publishDecision({
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

/** Number of queries to the service for these checks. */
async function asksOf(...checks: readonly Partial<ConsentQuestion>[]): Promise<number> {
  const before = asked.length
  for (const one of checks) await check(one)
  return asked.length - before
}

/** Waits until the client caches answers. */
async function untilKept(): Promise<void> {
  await eventually(async () => expect(await asksOf({}, {})).toBeLessThan(2))
}

async function untilAskedAgain(): Promise<void> {
  await eventually(async () => expect(await asksOf({})).toBe(1))
}

test('an answer is cached for five minutes, separately per patient, organisation and code', async () => {
  expect(await asksOf({}, {}, { patientId: question.patientId.toUpperCase() })).toBe(0)
  expect(await asksOf({ code: 'research' }, { patientId: randomUUID() }, { orgId: tenantOfFact(randomUUID()) })).toBe(3)
  time = 5 * 60_000 - 1
  expect(await asksOf({})).toBe(0)
  time += 1
  expect(await asksOf({}, {})).toBe(1)
})

test('an answer is not cached for longer because the clock was set back', async () => {
  time = -5 * 60_000
  expect(await asksOf({}, {})).toBe(1)
})

test('a patient has at most twenty cached answers, whatever codes are asked for', async () => {
  const codes = Array.from({ length: 19 }, (_, number) => ({ code: `type_${number}` }))
  await asksOf(...codes)
  expect(await asksOf({}, ...codes)).toBe(0)
  await asksOf({ code: 'one_more' })
  expect(await asksOf({}, { code: 'one_more' })).toBe(1)
})

test('a decision removes the cached answers of its patient only', async () => {
  const other = { patientId: randomUUID() }
  await asksOf(other)
  service = () => 'not-granted'
  await publishDecision()
  await eventually(async () => expect(await check()).toBe('not-granted'))
  expect(await check(other)).toBe('granted')
  await publishDecision({ ...other, orgId: tenantOfFact(randomUUID()) })
  await publishDecision(other)
  await eventually(async () => expect(await check(other)).toBe('not-granted'))
})

test('an answer is not cached if a decision came meanwhile', async () => {
  const patient = { patientId: randomUUID() }
  let release = (): void => undefined
  service = () =>
    new Promise((resolve) => {
      release = () => resolve('granted')
    })
  const early = check(patient)
  // Events come in order: when the second patient is queried again, the first decision was received.
  await publishDecision(patient)
  await publishDecision()
  const held = asked.length
  service = () => 'not-granted'
  await eventually(async () => expect(await check()).toBe('not-granted'))
  expect(asked.length).toBeGreaterThan(held)
  release()
  expect(await early).toBe('granted')
  expect(await check(patient)).toBe('not-granted')
})

test('a missing answer is no permission, and is not cached', async () => {
  const patient = { patientId: randomUUID() }
  service = () => 'unavailable'
  expect([await check(patient), await check(patient)]).toEqual(['unavailable', 'unavailable'])
  service = () => 'granted'
  expect(await check(patient)).toBe('granted')
  service = () => Promise.reject(new Error('the service broke'))
  await expect(check({ patientId: randomUUID() })).rejects.toThrow('the service broke')
})

test('a lost subscription clears the cache, and every check is a query until it is back', async () => {
  const other = { patientId: randomUUID() }
  await asksOf(other)
  line.cut()
  await untilAskedAgain()
  await untilKept()
  expect(await asksOf(other, other)).toBe(1)
})

test('while the subscription is down, every check is a query, and a missed decision counts at once', async () => {
  await line.close()
  await untilAskedAgain()
  service = () => 'not-granted'
  await publishDecision()
  expect(await check()).toBe('not-granted')
  expect(await asksOf({}, {}, {})).toBe(3)
})

test('a closed client queries for every check', async () => {
  await client.close()
  expect(await asksOf({}, {})).toBe(2)
})

test('no decision on a clinical analysis uses cached consent', async () => {
  const sources = await readSources()
  const keeping = sources
    .filter((file) => importsOf(file).includes('contracts/consent/client.ts'))
    .map(({ path }) => path)
  expect(keeping.filter((path) => !path.startsWith('test/'))).toEqual([])
})

test('an undecodable event clears the cache', async () => {
  const foreign = EventStoreDBClient.connectionString(node.url)
  await foreign.appendToStream(
    consentChannelStream.name,
    jsonEvent({ type: 'consent.withdrawn', data: { patient: 'somebody' } }),
  )
  await foreign.dispose()
  await untilAskedAgain()
  await untilKept()
})
