import { channelStreams } from '../../streams/channels/channel-streams.ts'
import { feedRowsOf, type FeedRow } from '../../streams/channels/feed-rows.ts'
import { isForeign } from '../../engine/store/errors.ts'
import { isHiding } from '../../engine/store/stream-metadata.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'

/** Channels by the name of their domain in paths and scopes: `ai-review`. */
export const channelsByDomain = new Map(
  channelStreams.map((channel) => [channel.name.replace(/\.events$/, '').replaceAll('_', '-'), channel] as const),
)

/** The place of an event on a channel. Id null, revision -1: before the first event. */
export interface ChannelPlace {
  readonly revision: bigint
  readonly id: string | null
}

/** An event of a channel that was just published. */
export interface ChannelEvent {
  readonly revision: bigint
  readonly id: string
  readonly type: string
  readonly rows: readonly FeedRow[]
}

export interface Listening {
  /** The events since the last call, oldest first. Undefined: too many came, so the listener reads the read model again. */
  take(): readonly ChannelEvent[] | undefined
  /** Resolves when `take` has something, when the signal is aborted or after the time, in milliseconds. */
  wait(ms: number, signal: AbortSignal): Promise<void>
  /** Events up to here are in the read model only, not in `take`. */
  readonly since: bigint
  stop(): void
}

export interface Channels {
  /**
   * Whether everything after the place is still on the channel. `lost`: the channel has another event there (a restored
   * log), or a later event was removed. `hidden`: an operator has removed all events, so the channel does not show it.
   */
  check(channel: string, place: ChannelPlace): Promise<'whole' | 'lost' | 'hidden'>
  /** The place before the oldest event that is left. */
  oldest(channel: string): Promise<ChannelPlace>
  /** The place of the newest event. Without an id: the channel shows none, and there may have been later ones. */
  newest(channel: string): Promise<ChannelPlace>
  /** Takes part in the one subscription of this process. */
  listen(channel: string): Promise<Listening>
  close(): Promise<void>
}

const fromEnd = { from: 'end', direction: 'backwards', limit: 1 } as const

/** Events that a listener keeps before it reads the read model instead. */
const mostKept = 1_000

export function openChannels(
  store: Pick<EventStore, 'readLast' | 'readUnsigned' | 'readMetadata' | 'subscribeToAll' | 'head'>,
): Channels {
  const listeners = new Map<string, Set<Listener>>()
  /** The revision of the newest event of the platform that this process knows of each channel. */
  const known = new Map<string, bigint>()
  const closing = new AbortController()
  let following: Promise<void> | undefined
  let ended: Promise<void> = Promise.resolve()

  async function placeOf(channel: string, range: Parameters<EventStore['readUnsigned']>[1]) {
    for await (const { revision, id } of store.readUnsigned(channel, range)) return { revision, id }
    return undefined
  }

  async function newest(channel: string): Promise<ChannelPlace> {
    return (
      (await placeOf(channel, fromEnd)) ?? {
        revision: await lastHidden(channel),
        id: null,
      }
    )
  }

  /** The revision before the first event that a channel without readable events may still get. */
  async function lastHidden(channel: string): Promise<bigint> {
    const { $tb } = await store.readMetadata(channel)
    return typeof $tb === 'number' ? BigInt($tb) - 1n : -1n
  }

  function take({ stream, revision, id, type, data }: RecordedEvent): void {
    known.set(stream, revision)
    const interested = listeners.get(stream)
    if (interested === undefined) return
    const event = { revision, id, type, rows: feedRowsOf(data) }
    for (const listener of interested) listener.add(event)
  }

  /** The next call of `listen` subscribes again. */
  function lose(): void {
    following = undefined
    for (const listener of [...listeners.values()].flatMap((all) => [...all])) listener.lose()
  }

  async function follow(): Promise<void> {
    const names = channelStreams.map(({ name }) => name)
    const filter = { streamPrefixes: names }
    // Of all events. The newest event of a channel may be far from the end of the log.
    const from = await store.head({ streamPrefixes: [] })
    // Read after the head, so that no event lies between the two.
    for (const name of names) known.set(name, (await store.readLast(name, { skipForeign: true }))?.revision ?? -1n)
    const subscription = store.subscribeToAll({
      name: 'event feed',
      filter,
      from,
      onBatch: (events) => events.forEach(take),
      // Others may write to a channel, too. The feed has only what the platform signed.
      onUndecodable: (_, error) => {
        if (!isForeign(error)) throw error
      },
      onError: lose,
      signal: closing.signal,
    })
    ended = subscription.ended
  }

  return {
    async check(channel, { revision, id }) {
      const found = await placeOf(channel, {
        from: revision < 0n ? 'start' : revision,
        direction: 'forwards',
        limit: 1,
      })
      if (found === undefined) {
        // The channel ends before the place.
        if ((await placeOf(channel, fromEnd)) !== undefined) return 'lost'
        if (isHiding(await store.readMetadata(channel))) return 'hidden'
        return revision < 0n ? 'whole' : 'lost'
      }
      if (found.revision === revision) return found.id === id || id === null ? 'whole' : 'lost'
      return found.revision === revision + 1n ? 'whole' : 'lost'
    },

    async oldest(channel) {
      const first = await placeOf(channel, { from: 'start', direction: 'forwards', limit: 1 })
      return { revision: first === undefined ? await lastHidden(channel) : first.revision - 1n, id: null }
    },

    newest,

    async listen(channel) {
      following ??= follow().catch((error: unknown) => {
        following = undefined
        throw error
      })
      await following
      const all = listeners.get(channel) ?? new Set()
      listeners.set(channel, all)
      const listener = new Listener(known.get(channel) ?? -1n, () => all.delete(listener))
      all.add(listener)
      return listener
    },

    async close() {
      closing.abort()
      await following?.catch(() => undefined)
      await ended.catch(() => undefined)
    },
  }
}

class Listener implements Listening {
  readonly since: bigint
  readonly stop: () => void
  #events: ChannelEvent[] | undefined = []
  #wake: (() => void) | undefined

  constructor(since: bigint, stop: () => void) {
    this.since = since
    this.stop = stop
  }

  add(event: ChannelEvent): void {
    if (this.#events?.length === mostKept) return this.lose()
    this.#events?.push(event)
    this.#wake?.()
  }

  /** From here on there is no event for `take`. */
  lose(): void {
    this.#events = undefined
    this.#wake?.()
  }

  take(): readonly ChannelEvent[] | undefined {
    const events = this.#events
    if (events !== undefined) this.#events = []
    return events
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#events?.length !== 0 || signal.aborted) return
    const woken = Promise.withResolvers<unknown>()
    this.#wake = () => woken.resolve(undefined)
    const timer = setTimeout(this.#wake, ms)
    signal.addEventListener('abort', woken.resolve, { once: true })
    await woken.promise
    signal.removeEventListener('abort', woken.resolve)
    clearTimeout(timer)
    this.#wake = undefined
  }
}
