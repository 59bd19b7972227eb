import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import type { ChannelPlace, Channels, Listening } from '../../contracts/events/channels.ts'
import { greatestPageBytes, itemsWithin } from '../../platform/http/cursors.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { feedAfter, newestInFeed, sees } from './feed-queries.ts'

/** Whose events of which channel and types. */
export interface Subject {
  readonly channel: string
  readonly tenant: TenantId | null
  readonly types: readonly string[] | undefined
}

export interface FeedItem {
  readonly place: ChannelPlace
  /** JSON of the event. */
  readonly payload: string
}

export interface FeedPart {
  readonly items: readonly FeedItem[]
  /** Everything of the subject up to here is in this part or in earlier ones. */
  readonly reached: ChannelPlace
  readonly hasMore: boolean
}

export interface FeedDependencies {
  readonly pool: Pool
  readonly channels: Channels
  /** Milliseconds without an event of the subject after which an empty part comes. 15,000 without it. */
  readonly silenceMs?: number
  /** Events of all types that a look for some types passes at most. 10,000 without it. */
  readonly mostLooked?: number
}

/** Events of one wake-up come within this time, in milliseconds. */
const gatherMs = 200
/** Pauses before a read model that lags is looked at again. */
const looks = { firstMs: 25, mostMs: 2_000 }
/** Bytes of the events of one answer, from which no more are gathered. */
const mostGathered = 1024 * 1024

type Places = Pick<FeedDependencies, 'pool' | 'channels'>

/**
 * The place of the newest event, or before the oldest one that is left. If an operator has removed all events of the channel,
 * both are its end. The read model still has the events.
 */
export async function placeAt(
  { pool, channels }: Places,
  channel: string,
  which: 'newest' | 'oldest',
): Promise<ChannelPlace> {
  // Read before the channel, so that no event that comes meanwhile counts as removed.
  const removed = await newestInFeed(pool, channel)
  const newest = await channels.newest(channel)
  if (newest.id !== null) return which === 'newest' ? newest : channels.oldest(channel)
  return removed === undefined || removed.revision <= newest.revision ? newest : removed
}

/** Whether everything after the place is still on the channel. */
export async function isWhole(places: Places, channel: string, place: ChannelPlace): Promise<boolean> {
  const found = await places.channels.check(channel, place)
  if (found !== 'hidden') return found === 'whole'
  const newest = await newestInFeed(places.pool, channel)
  if (newest === undefined || newest.revision <= place.revision) return true
  // Perhaps it came meanwhile. Then the channel shows it.
  return (await places.channels.check(channel, place)) === 'whole'
}

/** A page of the read model behind a place. It may be empty and have more: then the events that it passed are of other types. */
export async function readPart(
  { pool, mostLooked = 10_000 }: Pick<FeedDependencies, 'pool' | 'mostLooked'>,
  subject: Subject,
  after: ChannelPlace,
  limit: number,
): Promise<FeedPart> {
  // Read before the rows, so that no row up to it is missing from them.
  const newest = await newestInFeed(pool, subject.channel)
  const question = { ...subject, after: after.revision, limit, mostLooked }
  const { rows, hasMore, lookedUpTo } = await feedAfter(pool, question)
  const items = rows.map(({ streamRevision, eventId, payload }) => ({
    place: { revision: BigInt(streamRevision), id: eventId },
    payload,
  }))
  if (!hasMore && lookedUpTo !== undefined) {
    const { streamRevision, eventId } = lookedUpTo
    return { items, reached: { revision: BigInt(streamRevision), id: eventId }, hasMore: true }
  }
  const last = items.at(-1)?.place ?? after
  const isBehind = newest === undefined || newest.revision <= last.revision
  return { items, reached: hasMore || isBehind ? last : newest, hasMore }
}

/**
 * The parts of a subject behind a place, as they come, until the signal is aborted. While there are none, a part without items
 * comes at least every `silenceMs`.
 */
export async function* followFeed(
  deps: FeedDependencies,
  subject: Subject,
  after: ChannelPlace,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<FeedPart, void, undefined> {
  let place = after
  while (!signal.aborted) {
    const listening = await deps.channels.listen(subject.channel)
    try {
      // The subscription may be ahead of the read model.
      for (let isRead = false, looked = 0; !isRead && !signal.aborted; looked += 1) {
        const part = await readPart(deps, subject, place, limit)
        if (part.items.length > 0 || looked > 3) yield part
        place = part.reached
        isRead = !part.hasMore && place.revision >= listening.since
        if (part.items.length > 0) looked = 0
        if (!isRead && !part.hasMore) await pause(backoffMs(looks, looked + 1), signal)
      }
      for await (const part of live(deps, listening, subject, place, signal)) {
        place = part.reached
        yield part
      }
    } finally {
      listening.stop()
    }
  }
}

/** What the subscription delivers. Ends when the listener has lost events: then the read model has them. */
async function* live(
  { silenceMs = 15_000 }: FeedDependencies,
  listening: Listening,
  subject: Subject,
  after: ChannelPlace,
  signal: AbortSignal,
): AsyncGenerator<FeedPart, void, undefined> {
  let place = after
  let sentAt = performance.now()
  while (!signal.aborted) {
    const events = listening.take()
    if (events === undefined) return
    const news = events.filter(({ revision }) => revision > place.revision)
    const items = news.flatMap(({ revision, id, type, rows }) =>
      subject.types?.includes(type) === false
        ? []
        : rows.filter((row) => sees(subject.tenant, row)).map(({ payload }) => ({ place: { revision, id }, payload })),
    )
    const newest = news.at(-1)
    if (newest !== undefined) place = { revision: newest.revision, id: newest.id }
    // Events of other readers wake this one, too. They are no reason to be silent for longer.
    if (items.length > 0 || performance.now() - sentAt >= silenceMs) {
      sentAt = performance.now()
      yield { items, reached: place, hasMore: false }
    }
    await listening.wait(Math.max(0, sentAt + silenceMs - performance.now()), signal)
  }
}

/** The first events behind a place within the time, and those that come up to 200 ms later. Empty if none came. */
export async function waitForPart(
  deps: FeedDependencies,
  subject: Subject,
  after: ChannelPlace,
  { limit, seconds, signal }: { readonly limit: number; readonly seconds: number; readonly signal: AbortSignal },
): Promise<FeedPart> {
  const late = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1_000)])
  const gathering = new AbortController()
  const items: FeedItem[] = []
  let reached = after
  let hasMore = false
  let bytes = 0
  for await (const part of followFeed(deps, subject, after, limit, AbortSignal.any([late, gathering.signal]))) {
    items.push(...part.items)
    ;({ reached, hasMore } = part)
    bytes += part.items.reduce((sum, { payload }) => sum + payload.length, 0)
    if (items.length >= limit || bytes > mostGathered) break
    if (part.items.length > 0) setTimeout(() => gathering.abort(), gatherMs).unref()
  }
  const kept = items.slice(0, limit)
  kept.length = itemsWithin(greatestPageBytes, kept, ({ payload }) => payload).length
  if (kept.length === items.length) return { items, reached, hasMore }
  return { items: kept, reached: kept.at(-1)?.place ?? after, hasMore: true }
}
