import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openChannels, type ChannelPlace, type Channels } from '../../../contracts/events/channels.ts'
import { UndecodableEventError, type UndecodableReason } from '../../../engine/store/errors.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { AllSubscription } from '../../../engine/store/subscription-options.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { followFeed, waitForPart, type FeedItem, type FeedPart } from '../../../read-api/events/reader.ts'
import { observed } from '../../engine/commands/decision-world.ts'
import { disabled, granted, openFeedWorld, type FeedWorld, type Published } from './feed-world.ts'

let feed: FeedWorld
const ending = new AbortController()
const [orgA, orgB, orgC] = [randomUUID(), randomUUID(), randomUUID()]
const beginning: ChannelPlace = { revision: -1n, id: null }
const timestamp = '2026-03-01T10:00:00.000Z'

beforeAll(async () => {
  feed = await openFeedWorld()
})
afterAll(async () => {
  ending.abort()
  await feed.close()
})

const registered = (orgId: string): Published => ({
  type: 'clinical.patient.registered',
  data: { org_id: orgId, patient_id: randomUUID(), registered_at: timestamp },
})
const started = (orgId: string): Published => ({
  type: 'workflow.instance.started',
  data: {
    org_id: orgId,
    workflow_instance_id: randomUUID(),
    workflow_definition_id: randomUUID(),
    definition_version: 1,
    case_id: randomUUID(),
    state: 'running',
  },
})

interface FollowOptions {
  readonly channels?: Channels
  readonly silenceMs?: number
  readonly types?: readonly string[]
}

/** Follows a channel from its end, for an organisation or (null) for the platform. */
async function following(channel: string, orgId: string | null, options: FollowOptions = {}) {
  const { channels = feed.channels, silenceMs = 60_000, types } = options
  const after = await channels.newest(channel)
  const subject = { channel, tenant: orgId === null ? null : tenantOfFact(orgId), types }
  const parts = followFeed({ pool: feed.pool, channels, silenceMs }, subject, after, 500, ending.signal)
  return {
    after,
    /** The next part. It may be empty. */
    async next(): Promise<FeedPart> {
      const { value } = await parts.next()
      if (value === undefined) throw new Error('the feed has ended')
      return value
    },
    /** The next events. They may come in several parts. */
    async take(count: number): Promise<FeedItem[]> {
      const items: FeedItem[] = []
      while (items.length < count) items.push(...(await this.next()).items)
      return items
    },
  }
}

const idsOf = (items: readonly FeedItem[]) => items.map(({ place }) => place.id)
const eventsOf = (items: readonly FeedItem[]) => items.map(({ payload }): unknown => JSON.parse(payload))

/** The store, with a look at (and a change of) the options of each subscription. */
function observedStore(store: EventStore, look: (options: AllSubscription) => AllSubscription) {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'subscribeToAll') return (options: AllSubscription) => target.subscribeToAll(look(options))
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

describe('a followed feed', () => {
  it('counts events of other programs at the end of a channel as read', async () => {
    await feed.publish('workflow.events', started(orgA))
    const other = EventStoreDBClient.connectionString(feed.world.url)
    await other.appendToStream('workflow.events', jsonEvent({ type: 'workflow.instance.started', data: {} }))
    await other.dispose()
    const channels = openChannels(feed.world.store)
    const listening = await channels.listen('workflow.events')
    expect(listening.since).toBe(0n)
    listening.stop()
    await channels.close()
  })

  it('begins at the end of the log, however far the newest event of a channel is from there', async () => {
    const asked: unknown[] = []
    const store = observed(feed.world.store, (method, [filter]) => void (method === 'head' && asked.push(filter)))
    const channels = openChannels(store)
    const listening = await channels.listen('consent.events')
    listening.stop()
    await channels.close()
    expect(asked).toEqual([{ streamPrefixes: [] }])
  })

  it('sends how far it has read while only others get events', async () => {
    const feedOfA = await following('consent.events', orgA, { silenceMs: 200 })
    const own = feedOfA.take(1)
    await feed.publish('consent.events', granted(orgA))
    await own
    const over = new AbortController()
    const next = feedOfA.next().finally(() => over.abort())
    for (let published = 0; !over.signal.aborted && published < 1_000; published += 1)
      await feed.publish('consent.events', granted(orgB))
    expect(over.signal.aborted).toBe(true)
    const { items, reached } = await next
    expect(items).toEqual([])
    expect(reached.revision).toBeGreaterThan(feedOfA.after.revision)
  })

  it('has an event of several organisations once for each reader, and only the asked types', async () => {
    const ofA = await following('users.events', orgA, { types: ['users.updated'] })
    const ofPlatform = await following('users.events', null)
    // The read model does not have the events, so the subscription delivers them.
    const resume = await feed.pauseProjector()
    const parts = Promise.all([ofA.take(1), ofPlatform.take(2)])
    const data = { userId: randomUUID(), changedBy: 'bootstrap', timestamp }
    const [suspended, shared] = await feed.publish(
      'users.events',
      { type: 'users.suspended', data: { ...data, externalId: 'x', organisationIds: [orgA] } },
      { type: 'users.updated', data: { ...data, members: ['locale'], organisationIds: [orgA, orgB] } },
    )
    const [forA, forPlatform] = await parts
    await resume()
    expect(eventsOf(forA)).toMatchObject([{ event_id: shared, organisationIds: [orgA] }])
    expect(eventsOf(forPlatform)).toMatchObject([
      { event_id: suspended, organisationIds: [orgA] },
      { event_id: shared, organisationIds: [orgA, orgB] },
    ])
  })

  it('reads the read model again if more events came than are kept', async () => {
    const feedOfA = await following('consent.events', orgA)
    const listening = await feed.channels.listen('consent.events')
    const ids: string[] = []
    const first = feedOfA.take(1)
    ids.push(...(await feed.publish('consent.events', granted(orgA))))
    const found = idsOf(await first)
    for (let append = 0; append < 3; append += 1)
      ids.push(...(await feed.publish('consent.events', ...Array.from({ length: 400 }, () => granted(orgA)))))
    await feed.caughtUp()
    expect(listening.take()).toBeUndefined()
    listening.stop()
    found.push(...idsOf(await feedOfA.take(ids.length - found.length)))
    expect(found).toEqual(ids)
  })

  it('goes on behind the last event after its subscription has ended', async () => {
    let subscriptions = 0
    let isBroken = true
    const { store } = feed.world
    const channels = openChannels(
      observedStore(store, (options) => {
        subscriptions += 1
        const { onBatch } = options
        if (onBatch === undefined) throw new TypeError('the feed takes batches')
        return {
          ...options,
          onBatch: (events) => {
            if (isBroken) throw new Error('a handler has failed')
            return onBatch(events)
          },
        }
      }),
    )
    const feedOfA = await following('webhook.events', orgA, { channels })
    const next = feedOfA.take(1)
    await vi.waitUntil(() => subscriptions === 1, { timeout: 20_000 })
    const [first] = await feed.publish('webhook.events', disabled(orgA))
    expect(idsOf(await next)).toEqual([first])
    isBroken = false
    const later = feedOfA.take(1)
    await vi.waitUntil(() => subscriptions === 2, { timeout: 20_000 })
    const [second] = await feed.publish('webhook.events', disabled(orgA))
    expect(idsOf(await later)).toEqual([second])
    await channels.close()
  })

  it('skips what another program wrote, and nothing else that it cannot read', async () => {
    let handlers: AllSubscription | undefined
    const channels = openChannels(observedStore(feed.world.store, (options) => (handlers = options)))
    const listening = await channels.listen('webhook.events')
    const head = await feed.world.store.readLast('webhook.events')
    if (head === undefined) throw new Error('the channel is empty')
    const skip = (reason: UndecodableReason) => () =>
      handlers?.onUndecodable?.(head, new UndecodableEventError(head, reason))
    expect(skip('signature')).not.toThrow()
    expect(skip('key-missing')).toThrow(UndecodableEventError)
    listening.stop()
    await channels.close()
  })
})

describe('a waiting request', () => {
  it('answers with at most 2 MiB, and continues behind them', async () => {
    const payload = 'x'.repeat(100_000)
    const events = Array.from({ length: 30 }, (_, index) => ({
      revision: BigInt(index),
      id: randomUUID(),
      type: 'assessment.completed',
      rows: [{ orgId: orgC, payload, isWhole: true }],
    }))
    const listening = {
      since: -1n,
      take: () => events,
      wait: () => new Promise<void>(setImmediate),
      stop: () => undefined,
    }
    const deps = { pool: feed.pool, channels: { ...feed.channels, listen: async () => listening } }
    // The read model has nothing of this channel.
    const subject = { channel: 'assessment.events', tenant: tenantOfFact(orgC), types: undefined }
    const { signal } = ending
    const part = await waitForPart(deps, subject, beginning, { limit: 1_000, seconds: 20, signal })
    expect(part.items.length * payload.length).toBeLessThan(2 * 1024 * 1024)
    expect(part).toMatchObject({ hasMore: true, reached: part.items.at(-1)?.place })
  })
})

describe('the place of a cursor', () => {
  it('is lost if the channel ends before it, also when old events were removed', async () => {
    const [, last = ''] = await feed.publish('clinical.events', registered(orgA), registered(orgA))
    await feed.world.store.writeMetadata('clinical.events', { $tb: 1 })
    expect(await feed.channels.check('clinical.events', { revision: 1n, id: last })).toBe('whole')
    expect(await feed.channels.check('clinical.events', { revision: 7n, id: randomUUID() })).toBe('lost')
    // Without any event left, the read model decides.
    await feed.world.store.writeMetadata('clinical.events', { $tb: 2 })
    expect(await feed.channels.check('clinical.events', { revision: 1n, id: last })).toBe('hidden')
  })
})
