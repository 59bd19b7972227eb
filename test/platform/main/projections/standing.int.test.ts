import { v4 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPool, type Pool } from '../../../../platform/database.ts'
import { projectionLag } from '../../../../platform/main/projections/lag.ts'
import { knownProjectors } from '../../../../platform/main/projections/known-projectors.ts'
import { listProjectors } from '../../../../platform/main/projections/list.ts'
import { skipFailedEvent } from '../../../../platform/main/projections/skip.ts'
import { projectionStream } from '../../../../streams/projection/stream.ts'
import { ensureRuntimeSchema } from '../../../../projections/runtime/schema.ts'
import { catalogue } from '../../../../streams/catalogue.ts'
import { consentTypeFold } from '../../../../streams/consent-type/state.ts'
import { oauthClientFold } from '../../../../streams/oauth-client/state.ts'
import { oauthClientStream } from '../../../../streams/oauth-client/stream.ts'
import { openEventStore, type EventStore } from '../../../../streams/store/event-store.ts'
import { formatPosition, type Position } from '../../../../streams/store/positions.ts'
import { fixedKeys } from '../../../golden-events/golden-file.ts'
import { clientFact, consentTypeFact, ids } from '../../../streams/facts.ts'
import { embeddedEventStore, type TestEventStore } from '../../../support/event-store.ts'
import { freshDatabase, type FreshDatabase } from '../../../support/postgres.ts'

let node: TestEventStore
let store: EventStore
let database: FreshDatabase
let pool: Pool
/** Where the events stand that projectors are shown. */
const places: Position[] = []

beforeAll(async () => {
  node = await embeddedEventStore()
  store = await openEventStore({ url: node.url, catalogue, vault: fixedKeys })
  for (let count = 0; count < 5; count += 1) {
    const [commandId, consentTypeId] = [v4(), v4()]
    const context = { commandId, correlationId: commandId }
    const created = [consentTypeFact('ConsentTypeCreated', { consentTypeId })]
    places.push((await store.append(consentTypeFold, `consent_type-${ids.org}-${consentTypeId}`, 'no_stream', created, context)).position)
    // Which no projector is shown.
    await store.append(oauthClientFold, oauthClientStream(v4()), 'no_stream', [clientFact('OauthClientRegistered')], { commandId: v4(), correlationId: v4() })
  }
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 2 })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
  await store.close()
  await node.stop()
})

/** This program's; 1 for what it does not have. */
function versionOf(name: string): number {
  return knownProjectors.find((known) => known.name === name)?.version ?? 1
}

/** A projector that has passed so many of the events. */
async function stored(name: string, passed: number, { version = versionOf(name), status = 'running', silentSeconds = 0 } = {}): Promise<void> {
  const { commit, prepare } = places[passed - 1] ?? { commit: 0n, prepare: 0n }
  await pool.query(
    `insert into runtime.projectors (name, version, shape, commit_position, prepare_position, status, heartbeat_at, updated_at)
     values ($1, $2, '[]', $3, $4, $5, clock_timestamp() - make_interval(secs => $6), clock_timestamp() - interval '90 s')`,
    [name, version, String(commit), String(prepare), status, silentSeconds],
  )
}

function lineOf(text: string, name: string): string {
  return text.split('\n').find((line) => line.startsWith(`${name} `)) ?? ''
}

test('a database that nobody has projected into lists every projector as unseen', async () => {
  const listed = await listProjectors(pool, false)
  expect(lineOf(listed, 'patients')).toMatch(/^patients +- \(this program: \d+\) +unseen +- +-$/)
  expect(await projectionLag(pool, store, false)).toBe('NAME  STATUS  POSITION  BEHIND  LAST MOVED')
})

test('the list tells versions, copies, instances that are gone, and the event of a failure', async () => {
  await ensureRuntimeSchema(pool)
  await stored('consent_types', 5)
  await stored('consent_types__next', 3, { status: 'rebuilding', version: 90 })
  await stored('consent_types__previous', 1)
  await stored('cases', 4, { silentSeconds: 3_600 })
  await stored('patients', 2, { version: 97 })
  await stored('letters', 1, { status: 'stopped' })
  await pool.query(
    `update runtime.projectors set status = 'failed', failed_event_id = $1, failed_event_type = 'ConsentTypeCreated', failed_category = 'consent_type',
       failed_commit = 7, failed_prepare = 8, failed_reason = '22003 of table_x' where name = 'patients'`,
    [ids.client],
  )

  const listed = await listProjectors(pool, false)
  const at = (passed: number) => formatPosition(places[passed - 1] ?? { commit: 0n, prepare: 0n })
  expect(lineOf(listed, 'consent_types')).toMatch(new RegExp(`^consent_types +\\d+ +running +${at(5)} +next \\(version 90, at ${at(3)}\\), previous \\(version 1, at ${at(1)}\\)$`))
  expect(listed).not.toContain('consent_types__')
  expect(lineOf(listed, 'cases')).toMatch(/running, but nobody runs it since 36\d\d s/)
  expect(lineOf(listed, 'patients')).toMatch(/^patients +97 \(this program: \d+\) +failed /)
  expect(lineOf(listed, 'letters')).toMatch(/^letters +1 \(not of this program\) +stopped /)
  expect(listed).toContain(`patients failed at 7/8: ConsentTypeCreated ${ids.client} of a consent_type stream\n  22003 of table_x\n`)
  const { projectors } = JSON.parse(await listProjectors(pool, true)) as { projectors: { name: string }[] }
  expect(projectors.find(({ name }) => name === 'patients')).toMatchObject({
    version: 97, program_version: versionOf('patients'), status: 'failed', copies: [],
    failure: { event_id: ids.client, event_type: 'ConsentTypeCreated', category: 'consent_type', position: '7/8', reason: '22003 of table_x' },
  })
})

test('lag counts the events after each checkpoint, of the streams that are projected, up to a limit', async () => {
  const lag = await projectionLag(pool, store, false)
  expect(lineOf(lag, 'consent_types')).toMatch(/ at the head +\d+ s ago$/)
  expect(lineOf(lag, 'cases')).toMatch(/ 1 event +\d+ s ago$/)
  expect(lineOf(lag, 'patients')).toMatch(/ failed +\d+\/\d+ +3 events /)
  const limited = await projectionLag(pool, store, false, 2)
  expect(lineOf(limited, 'consent_types')).toContain('at the head')
  expect(lineOf(limited, 'cases')).toContain(' 1 event ')
  expect(lineOf(limited, 'patients')).toContain(' more than 2 events ')
  const { head, projectors } = JSON.parse(await projectionLag(pool, store, true, 2)) as { head: string; projectors: { name: string }[] }
  expect(head).toBe(formatPosition(places[4] ?? { commit: 0n, prepare: 0n }))
  expect(projectors.find(({ name }) => name === 'patients')).toMatchObject({ at_head: false, events_behind: 2, is_more: true })
  expect(projectors.find(({ name }) => name === 'consent_types')).toMatchObject({ at_head: true, events_behind: 0, is_more: false })
})

test.each(['consent_records', 'ai_review_todo'])('%s passes over nothing, even where it failed: a withdrawn consent could be among it', async (name) => {
  const [position] = places
  if (position === undefined) throw new Error('no place')
  const told = await skipFailedEvent(pool, store, { name, position, reason: 'unwanted' })
  expect([told.isDone, told.text]).toEqual([false, expect.stringContaining(`projections retry ${name}`)])
  expect(await store.readLast(projectionStream(name))).toBeUndefined()
})
