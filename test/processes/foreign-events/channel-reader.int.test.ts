import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { ChannelReader, type ChannelReaderOptions } from '../../../processes/foreign-events/channel-reader.ts'
import { foreignEventId, foreignEvents } from '../../../streams/foreign-event/aggregate.ts'
import { openDecisionWorld, watched, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { silentLogger } from '../../engine/projections/tickets.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { eventually } from '../../support/eventually.ts'

let world: DecisionWorld
let clinic: EventStoreDBClient
let database: FreshDatabase
let pool: Pool
const readers: ChannelReader[] = []

beforeAll(async () => {
  ;[world, database] = await Promise.all([openDecisionWorld(), freshDatabase()])
  clinic = EventStoreDBClient.connectionString(world.url)
  pool = createPool({ url: database.url, max: 6 })
})
afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.close()))
})
afterAll(async () => {
  await pool.end()
  await Promise.all([world.close(), database.drop(), clinic.dispose()])
})

const newChannel = () => `clinic_${randomUUID().slice(0, 8)}.events`

/** Appends an event to a foreign channel, as another service does: with the official client, without a signature. */
async function publish(channel: string, data: Readonly<Record<string, unknown>>, id = randomUUID()): Promise<string> {
  await clinic.appendToStream(channel, jsonEvent({ id, type: 'visit.booked', data }))
  return id
}

function start(channel: string, options: Partial<ChannelReaderOptions> = {}): ChannelReader {
  const reader = new ChannelReader({
    store: world.store,
    channel: { name: channel, organisations: null },
    pool,
    logger: silentLogger,
    failpoint: () => undefined,
    now: world.now,
    pollMs: 10,
    standbyMs: 20,
    ...options,
  })
  readers.push(reader)
  reader.start()
  return reader
}

const isAt = (reader: ChannelReader, next: bigint) => eventually(() => expect(reader.status().next).toBe(next))
const recordOf = async (channel: string, id: string) =>
  world.otherStore.load(foreignEvents.of(foreignEventId(channel, id)))

/** A reader that stands at the end of a new channel. */
async function startNew(channel: string): Promise<ChannelReader> {
  const reader = start(channel)
  await isAt(reader, 0n)
  return reader
}

describe('the reader of a foreign channel', () => {
  it('records events after the end at which it was named, each once, signed and encrypted', async () => {
    const channel = newChannel()
    const before = await publish(channel, { orgId: world.orgId })
    const reader = start(channel)
    await isAt(reader, 1n)
    const after = await publish(channel, { orgId: world.orgId, note: 'canary' })
    await isAt(reader, 2n)
    expect((await recordOf(channel, before)).state).toEqual({ status: 'absent' })
    expect((await recordOf(channel, after)).state).toMatchObject({
      status: 'received',
      eventId: after,
      eventType: 'visit.booked',
      channelRevision: '1',
      orgId: world.orgId,
      data: JSON.stringify({ orgId: world.orgId, note: 'canary' }),
    })
    const { stream } = foreignEvents.of(foreignEventId(channel, after))
    for await (const { event } of clinic.readStream(stream)) expect(JSON.stringify(event?.data)).not.toContain('canary')
  })

  it('continues at its stored place, so a restart loses nothing', async () => {
    const channel = newChannel()
    await (await startNew(channel)).close()
    const ids = [await publish(channel, {}), await publish(channel, {})]
    await isAt(start(channel), 2n)
    for (const id of ids) expect((await recordOf(channel, id)).state.status).toBe('received')
  })

  it('records an event once if it dies between the record and the place', async () => {
    const channel = newChannel()
    const dead = new Error('killed')
    await (await startNew(channel)).close()
    const id = await publish(channel, {})
    const killed = start(channel, {
      failpoint: () => {
        throw dead
      },
    })
    await eventually(async () => expect((await recordOf(channel, id)).revision).toBe(0n))
    await killed.close()
    await isAt(start(channel, { store: world.otherStore }), 1n)
    expect((await recordOf(channel, id)).revision).toBe(0n)
  })

  it('records an event once if the other service stores it twice', async () => {
    const channel = newChannel()
    const reader = await startNew(channel)
    const id = await publish(channel, {})
    await publish(channel, {})
    await clinic.appendToStream(channel, jsonEvent({ id, type: 'visit.booked', data: { n: 2 } }), {
      expectedRevision: 1n,
    })
    await isAt(reader, 3n)
    const { state, revision } = await recordOf(channel, id)
    expect([state, revision]).toMatchObject([{ data: '{}' }, 0n])
  })

  it('passes over rejected events, and goes on with the next one', async () => {
    const channel = newChannel()
    const reader = await startNew(channel)
    const bad = await publish(channel, { org_id: 'somewhere' })
    const good = await publish(channel, {})
    await isAt(reader, 2n)
    expect((await recordOf(channel, bad)).state).toMatchObject({ status: 'rejected', reason: 'organisation' })
    expect((await recordOf(channel, good)).state).toMatchObject({ status: 'received' })
  })

  it('is blocked while the event store refuses its records, and then records them', async () => {
    const channel = newChannel()
    await (await startNew(channel)).close()
    let isRefusing = true
    const store = watched(world.store, () => {
      if (isRefusing) throw new Error('no room')
    })
    const reader = start(channel, { store })
    const id = await publish(channel, {})
    await eventually(() => expect(reader.status().state).toBe('blocked'))
    isRefusing = false
    await isAt(reader, 1n)
    expect(reader.status().state).toBe('running')
    expect((await recordOf(channel, id)).state.status).toBe('received')
  })

  it('runs on one instance at a time', async () => {
    const channel = newChannel()
    const first = await startNew(channel)
    const second = start(channel, { store: world.otherStore })
    await publish(channel, {})
    await isAt(first, 1n)
    expect(second.status()).toMatchObject({ state: 'standby', next: undefined })
    await first.close()
    await isAt(second, 1n)
  })
})
