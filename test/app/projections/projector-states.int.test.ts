import { v4 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { retryProjector } from '../../../app/projections/going-on.ts'
import { projectionLag, readLags } from '../../../app/projections/lag.ts'
import { knownProjectors } from '../../../app/projections/known-projectors.ts'
import { listProjectors } from '../../../app/projections/list.ts'
import { skipFailedEvent } from '../../../app/projections/skip.ts'
import { accessLogs } from '../../../streams/access-log/aggregate.ts'
import { projections } from '../../../streams/projection/aggregate.ts'
import { OperatorLocks } from '../../../engine/rebuild/operator-locks.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { consentTypes } from '../../../streams/consent-type/aggregate.ts'
import { openEventStore, type EventStore } from '../../../engine/store/event-store.ts'
import { formatPosition, type Position } from '../../../platform/kit/positions.ts'
import { fixedKeys } from '../../golden-events/golden-file.ts'
import { accessLogFact } from '../../streams/access-log-facts.ts'
import { consentTypeFact, ids, projectionFact } from '../../streams/facts.ts'
import { hostedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { eventually } from '../../support/eventually.ts'

let node: TestEventStore
let store: EventStore
let database: FreshDatabase
let pool: Pool
/** Positions of the events that the projectors see. */
const places: Position[] = []

beforeAll(async () => {
  node = await hostedEventStore()
  store = await openEventStore({ url: node.url, catalogue, vault: fixedKeys })
  for (let count = 0; count < 5; count += 1) {
    const [commandId, consentTypeId] = [v4(), v4()]
    const context = { commandId, correlationId: commandId, clientId: 'test' }
    const created = [consentTypeFact('ConsentTypeCreated', { consentTypeId })]
    places.push(
      (
        await store.append(
          { fold: consentTypes, stream: `consent_type-${ids.org}-${consentTypeId}` },
          'no_stream',
          created,
          context,
        )
      ).position,
    )
    // An event that no projector sees.
    const skipped = projectionFact('ProjectionEventSkipped')
    await store.append(projections.of(v4()), 'no_stream', [skipped], {
      commandId: v4(),
      correlationId: v4(),
      clientId: 'test',
    })
  }
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 4 })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
  await store.close()
  await node.stop()
})

/** This program's version; 1 for a projector that it does not have. */
function versionOf(name: string): number {
  return knownProjectors.find((known) => known.name === name)?.version ?? 1
}

/** A projector that has passed this many of the events. */
async function stored(
  name: string,
  passed: number,
  { version = versionOf(name), status = 'running', silentSeconds = 0 } = {},
): Promise<void> {
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

test('lists every projector as unseen if the database has no projections', async () => {
  const listed = await listProjectors(pool, false)
  expect(lineOf(listed, 'patients')).toMatch(/^patients +- \(this program: \d+\) +unseen +- +-$/)
  expect(await projectionLag(pool, store, false)).toBe('NAME  STATUS  POSITION  BEHIND  LAST MOVED')
})

test('the list contains versions, copies, missing instances, and the event of a failure', async () => {
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
  expect(lineOf(listed, 'consent_types')).toMatch(
    new RegExp(
      `^consent_types +\\d+ +running +${at(5)} +next \\(version 90, at ${at(3)}\\), previous \\(version 1, at ${at(1)}\\)$`,
    ),
  )
  expect(listed).not.toContain('consent_types__')
  expect(lineOf(listed, 'cases')).toMatch(/running, but no process runs it since 36\d\d s/)
  expect(lineOf(listed, 'patients')).toMatch(/^patients +97 \(this program: \d+\) +failed /)
  expect(lineOf(listed, 'letters')).toMatch(/^letters +1 \(not of this program\) +stopped /)
  expect(listed).toContain(
    `patients failed at 7/8: ConsentTypeCreated ${ids.client} of a consent_type stream\n  22003 of table_x\n`,
  )
  const { projectors } = JSON.parse(await listProjectors(pool, true)) as { projectors: { name: string }[] }
  expect(projectors.find(({ name }) => name === 'patients')).toMatchObject({
    version: 97,
    program_version: versionOf('patients'),
    status: 'failed',
    has_process: true,
    copies: [],
    failure: {
      event_id: ids.client,
      event_type: 'ConsentTypeCreated',
      category: 'consent_type',
      position: '7/8',
      reason: '22003 of table_x',
    },
  })
})

test('lag counts the projected events after each checkpoint, up to a limit', async () => {
  const lag = await projectionLag(pool, store, false)
  expect(lineOf(lag, 'consent_types')).toMatch(/ at the head +\d+ s ago$/)
  expect(lineOf(lag, 'cases')).toMatch(/ running, but no process runs it since 36\d\d s +\d+\/\d+ +1 event +\d+ s ago$/)
  expect(lineOf(lag, 'patients')).toMatch(/ failed +\d+\/\d+ +3 events /)
  const limited = await projectionLag(pool, store, false, 2)
  expect(lineOf(limited, 'consent_types')).toContain('at the head')
  expect(lineOf(limited, 'cases')).toContain(' 1 event ')
  expect(lineOf(limited, 'patients')).toContain(' more than 2 events ')
  const { head, projectors } = JSON.parse(await projectionLag(pool, store, true, 2)) as {
    head: string
    projectors: { name: string }[]
  }
  expect(head).toBe(formatPosition(places[4] ?? { commit: 0n, prepare: 0n }))
  expect(projectors.find(({ name }) => name === 'patients')).toMatchObject({
    at_head: false,
    events_behind: 2,
    is_more: true,
  })
  expect(projectors.find(({ name }) => name === 'cases')).toMatchObject({ status: 'running', has_process: false })
  expect(projectors.find(({ name }) => name === 'consent_types')).toMatchObject({
    has_process: true,
    at_head: true,
    events_behind: 0,
    is_more: false,
  })
})

test('alerts count no read model that only another program has', async () => {
  expect(lineOf(await projectionLag(pool, store, false), 'letters')).toMatch(/ stopped .* 4 events /)
  const names = (await readLags(pool, store, 10)).map(({ name }) => name)
  expect(names).toContain('cases')
  expect(names).not.toContain('letters')
})

test.each(['consent_records', 'ai_review_todo'])(
  '%s skips no event, even after a failure: it could be a withdrawn consent',
  async (name) => {
    const [position] = places
    if (position === undefined) throw new Error('no place')
    const report = await skipFailedEvent(pool, store, { name, position, reason: 'unwanted' })
    expect([report.isDone, report.text]).toEqual([false, expect.stringContaining(`projections retry ${name}`)])
    expect(await store.readLast(projections.of(name).stream)).toBeUndefined()
  },
)

/** Its row records a failure at this event. */
async function failedAt(name: string, place: number): Promise<Position> {
  const position = places[place]
  if (position === undefined) throw new Error('no place')
  await pool.query(
    `update runtime.projectors set status = 'failed', failed_event_id = $2, failed_event_type = 'ConsentTypeCreated', failed_category = 'consent_type',
       failed_commit = $3, failed_prepare = $4, failed_reason = 'a test' where name = $1`,
    [name, ids.client, String(position.commit), String(position.prepare)],
  )
  return position
}

function update(name: string, assignments: string): Promise<unknown> {
  return pool.query(`update runtime.projectors set ${assignments} where name = $1`, [name])
}

async function statusOf(name: string): Promise<string | undefined> {
  return (await pool.query<{ status: string }>('select status from runtime.projectors where name = $1', [name])).rows[0]
    ?.status
}

const hint = (name: string, position: Position) => `projections skip ${name} ${formatPosition(position)} --reason TEXT`

test('suggests a retry, never a skip, for projectors that decisions depend on', async () => {
  await stored('consent_records', 1)
  const position = await failedAt('consent_records', 1)
  const listed = await listProjectors(pool, false)
  expect(listed).toContain('  projections retry consent_records\n')
  expect(listed).not.toContain(hint('consent_records', position))
})

test.each(['previous', 'check', 'next'])(
  'an event that only the %s copy of the same version cannot process is not skipped, and no skip is suggested',
  async (kind) => {
    const name = { previous: 'assessments', check: 'assessments_todo', next: 'ai_reviews' }[kind] ?? ''
    await stored(name, 4)
    await stored(`${name}__${kind}`, 1, { status: 'stopped' })
    const position = await failedAt(`${name}__${kind}`, 1)
    const listed = await listProjectors(pool, false)
    expect(listed).toContain(`the ${kind} copy of ${name} failed at ${formatPosition(position)}`)
    expect(listed).not.toContain(hint(name, position))
    const report = await skipFailedEvent(pool, store, { name, position, reason: 'unwanted' })
    expect([report.isDone, report.text]).toEqual([
      false,
      expect.stringContaining(`${name} has not failed at ${formatPosition(position)}: it is running`),
    ])
    expect(await store.readLast(projections.of(name).stream)).toBeUndefined()
    expect(await statusOf(`${name}__${kind}`)).toBe('failed')
  },
)

test('an event that a newer version cannot process is skipped, and its copy is filled again', async () => {
  const name = 'webhook_subscriptions'
  await stored(name, 4)
  await stored(`${name}__next`, 1, { version: 99 })
  const position = await failedAt(`${name}__next`, 1)
  expect(await listProjectors(pool, false)).toContain(hint(name, position))
  const skipping = skipFailedEvent(pool, store, { name, position, reason: 'unwanted' })
  await eventually(async () => expect(await statusOf(`${name}__next`)).toBeUndefined())
  await update(name, 'version = 99')
  const report = await skipping
  expect([report.isDone, report.text]).toEqual([
    true,
    expect.stringMatching(/now and at every rebuild\nwebhook_subscriptions is served in version 99$/),
  ])
  expect(await store.readLast(projections.of(name).stream)).toBeDefined()
})

test('a copy that found no room is listed, and a retry reports it again', async () => {
  const name = 'assessments'
  await stored(`${name}__next`, 1, { version: 99, status: 'failed' })
  const noRoom =
    'the copy of assessments in version 99 found no room on the disk: make room, then projections retry assessments'
  expect(await listProjectors(pool, false)).toContain(noRoom)
  const retrying = retryProjector(pool, name)
  await eventually(async () => expect(await statusOf(`${name}__next`)).toBeUndefined())
  await stored(`${name}__next`, 1, { version: 99, status: 'failed' })
  expect(await retrying).toEqual({ isDone: false, text: noRoom })
})

test('a skip is refused during work on the copies, and for an event that was processed while the skip waited', async () => {
  const name = 'clinical_todo'
  await stored(name, 1)
  const position = await failedAt(name, 1)
  const order = { name, position, reason: 'unwanted' }
  const operators = await OperatorLocks.open({ pool })
  await operators.take(name)
  await expect(skipFailedEvent(pool, store, order)).rejects.toThrow('under way')
  await operators.close()

  const runner = await pool.connect()
  await runner.query('begin')
  await runner.query(`update runtime.projectors set status = 'running' where name = $1`, [name])
  const skipping = skipFailedEvent(pool, store, order)
  await eventually(async () =>
    expect(
      (await pool.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
        .rowCount,
    ).toBe(1),
  )
  await runner.query('commit')
  runner.release()
  expect((await skipping).isDone).toBe(false)
  expect(await store.readLast(projections.of(name).stream)).toBeUndefined()

  await failedAt(name, 1)
  const last = skipFailedEvent(pool, store, order)
  await eventually(async () => expect(await statusOf(name)).toBe('rebuilding'))
  await update(name, `status = 'running'`)
  expect((await last).isDone).toBe(true)
  expect(await skipFailedEvent(pool, store, order)).toEqual({
    isDone: true,
    text: `${name} skips ${formatPosition(position)} already`,
  })
})

test('lag counts accesses for read models, and not for to-do lists, which do not read them', async () => {
  await pool.query(`delete from runtime.projectors where name in ('access_log', 'clinical_todo')`)
  await stored('access_log', 5)
  await stored('clinical_todo', 5)
  const target = accessLogs.of(ids.org, '2026-03-01', v4())
  const context = { commandId: v4(), correlationId: v4(), orgId: ids.org, process: 'access-log' }
  await store.append(target, 'no_stream', [accessLogFact('AccessRecorded'), accessLogFact('AccessRepeated')], context)
  const lag = await projectionLag(pool, store, false)
  expect(lineOf(lag, 'access_log')).toContain(' 2 events ')
  expect(lineOf(lag, 'clinical_todo')).toContain(' at the head ')
})
