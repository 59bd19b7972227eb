import { sample } from 'fast-check'
import { v5 } from 'uuid'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { verify } from '../../../engine/rebuild/rebuild.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { categoryOf } from '../../../engine/store/catalogue.ts'
import { eventIdOf, type DomainEvent, type Fold } from '../../../engine/store/events.ts'
import { openEventStore, type EventStore } from '../../../engine/store/event-store.ts'
import { MemoryKeys } from '../../engine/store/fixtures.ts'
import { embeddedEventStore, type EmbeddedEventStore } from 'embedded-eventstore/testing'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { allProjectors } from '../../../tools/equality/check.ts'
import { opened } from '../../../engine/reads/opened.ts'
import { rowsOf, tableOf, viewsOf } from '../../../engine/reads/tenant-rows.ts'
import { patientsProjector, patientsTable } from '../../../projections/clinical/patients.projector.ts'
import { silentLogger } from '../../../tools/equality/contents.ts'
import { histories, storyOf, type Move } from '../../../tools/equality/histories.ts'
import { caughtUpTo, startInstance, type Instance } from '../../../tools/equality/instances.ts'
import type { StoryAppend } from '../../../tools/equality/story.ts'

const namespace = '5e5c2b0c-7a51-5b6c-9d0a-0d3f3c1c4b10'
const filter = { streamPrefixes: projectedStreams }
const p = tableOf(patientsProjector, patientsTable, 'p')
const keys = new MemoryKeys()
let node: EmbeddedEventStore
let store: EventStore
let database: FreshDatabase
let pool: Pool

beforeAll(async () => {
  node = await embeddedEventStore()
  store = await openEventStore({ url: node.url, catalogue, vault: keys })
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 8 })
})
afterAll(async () => {
  await store.close()
  await node.stop()
  await pool.end()
  await database.drop()
})

/** Appends like commands and relays: at the end of the stream, through the codec. */
async function append({ stream, orgId, commandId, correlationId, events }: StoryAppend): Promise<void> {
  if (stream.endsWith('.events')) {
    const revision = (await store.readLast(stream))?.revision ?? 'no_stream'
    const metadata = { commandId, $correlationId: correlationId, orgId, source: '1/1' }
    await store.appendRaw(
      stream,
      revision,
      events.map((event, index) => ({ ...event, id: eventIdOf(commandId, index), metadata })),
    )
    return
  }
  const fold: Fold<number, DomainEvent> = {
    category: categoryOf(stream),
    initialState: 0,
    evolve: (count) => count + 1,
  }
  const { revision } = await store.load({ fold, stream })
  await store.append({ fold, stream }, revision, events, { commandId, correlationId, clientId: 'test', orgId })
}

it('the same holds on a real log, with encryption, erasures and a kill of the node', { timeout: 300_000 }, async () => {
  const registrations = Array.from({ length: 8 }, (_, chance): Move => ({
    act: 'registerPatient',
    chance,
    text: 'text',
  }))
  const stories = sample(histories(80), { numRuns: 9, seed: 20_261_121 }).map((moves, index) =>
    storyOf([...registrations, ...moves], v5(`story ${index}`, namespace), { hasCodec: true }),
  )
  const begin = (): Promise<Instance> => startInstance(database.url, allProjectors, { eventStore: store, filter })
  const gone: Promise<void>[] = []
  let instance: Instance | undefined
  for (const [index, { appends, patients }] of stories.entries()) {
    const half = Math.ceil(appends.length / 2)
    for (const each of appends.slice(0, half)) await append(each)
    // Their later facts are stored as null.
    if (instance === undefined) for (const { orgId, id, isErased } of patients) if (isErased) keys.destroy(orgId, id)
    instance ??= await begin()
    if (index % 3 === 0) instance.proxy.cutAfter(5, 'after', false)
    if (index % 3 === 1) await node.restart()
    for (const each of appends.slice(half)) await append(each)
    await caughtUpTo(instance, await store.head(filter), [])
    if (index % 3 !== 2) continue
    instance.proxy.kill()
    gone.push(instance.close())
    instance = undefined
  }
  instance ??= await begin()
  await caughtUpTo(instance, await store.head(filter), [])
  const rows = await viewsOf(pool, rowsOf(p, { name: p.person }))
  const names = (
    await opened(
      { subjectKeyForReading: keys.subjectKeyForReading.bind(keys), cachedSubjectKey: () => undefined },
      rows,
    )
  ).map(({ name }) => name)
  expect(names.filter((name) => name === null).length).toBeGreaterThan(0)
  expect(names.filter((name) => name !== null).length).toBeGreaterThan(0)

  const outcomes = await verify({ eventStore: store, pool, filter, logger: silentLogger }, allProjectors)
  expect(outcomes.map((outcome) => [outcome.name, outcome.kind])).toEqual(
    allProjectors.map(({ name }) => [name, 'equal']),
  )
  await pool.query(
    `update patients.patients set person = 'damaged' where patient_id = (select min(patient_id::text)::uuid from patients.patients)`,
  )
  const [damaged] = await verify(
    { eventStore: store, pool, filter, logger: silentLogger },
    allProjectors.filter(({ name }) => name === 'patients'),
  )
  expect(damaged).toMatchObject({
    kind: 'differs',
    comparison: { difference: { kind: 'changed', table: 'patients', columns: ['person'] } },
  })
  await instance.close()
  await Promise.all(gone)
})
