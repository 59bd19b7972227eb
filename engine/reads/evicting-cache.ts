import { LRUCache } from 'lru-cache'
import { atMost } from '../../platform/kit/at-most.ts'
import type { EventStore } from '../store/event-store.ts'
import type { RecordedEvent } from '../store/events.ts'

/** Time limit of client caches (specification section 8), in milliseconds. */
const lifetimeMs = 5 * 60_000
const mostGroups = 10_000
/** Answers of one group. Callers choose the keys, and may name any number of them. */
const mostOfGroup = 20

export interface EvictingCacheOptions<Answer> {
  /** Of the subscription, for logs. */
  readonly name: string
  /** The channel whose events say that an answer has changed. */
  readonly channel: string
  /** The group whose answers an event removes. Undefined: the event may concern any group. */
  readonly groupOf: (event: RecordedEvent) => string | undefined
  /** Answers that may be kept. */
  readonly isKept: (answer: Answer) => boolean
  readonly events: Pick<EventStore, 'readLast' | 'subscribeToStream'>
  readonly now: () => Date
}

export interface EvictingCache<Answer> {
  /** The kept answer, or a new one. `ask` must give an answer that includes everything recorded before the call. */
  get(group: string, key: string, ask: () => Promise<Answer>): Promise<Answer>
  /** Whether the subscription is live, and was without a break since the last call. If not, nothing stays cached. */
  isListening(): boolean
  close(): Promise<void>
}

interface KeptAnswer<Answer> {
  readonly answer: Answer
  /** When it was asked for, by two clocks: the one may be set back, the other stands still while a machine sleeps. */
  readonly askedAt: number
  readonly askedMs: number
}

/**
 * Keeps answers for at most five minutes, and only while it receives every event of a channel. An event removes the
 * answers of its group. Without a live subscription it keeps nothing, and each call asks.
 *
 * Rejects if the event store cannot be read.
 */
export async function openEvictingCache<Answer>({
  name,
  channel,
  groupOf,
  isKept,
  events,
  now,
}: EvictingCacheOptions<Answer>): Promise<EvictingCache<Answer>> {
  const kept = new LRUCache<string, Map<string, KeptAnswer<Answer>>>(atMost(mostGroups))
  const closing = new AbortController()
  const last = await events.readLast(channel, { skipForeign: true })
  const subscription = events.subscribeToStream({
    name,
    stream: channel,
    fromRevision: last?.revision ?? 'start',
    signal: closing.signal,
    onEvent: (event) => {
      const group = groupOf(event)
      if (group === undefined) kept.clear()
      else kept.delete(group)
    },
    // The event may concern any group.
    onUndecodable: () => kept.clear(),
    // The subscription never connects again, so nothing may stay cached.
    onError: () => kept.clear(),
  })
  let connections = subscription.stats().restarts

  function isListening(): boolean {
    if (closing.signal.aborted) return false
    const { connected, caughtUp, restarts } = subscription.stats()
    const isUnbroken = connected && caughtUp && restarts === connections
    connections = restarts
    if (!isUnbroken) kept.clear()
    return isUnbroken
  }

  function isYoung({ askedAt, askedMs }: KeptAnswer<Answer>): boolean {
    return Math.max(performance.now() - askedMs, Math.abs(now().getTime() - askedAt)) < lifetimeMs
  }

  return {
    async get(group, key, ask) {
      if (!isListening()) return ask()
      const answers = kept.get(group) ?? new Map<string, KeptAnswer<Answer>>()
      const known = answers.get(key)
      if (known !== undefined && isYoung(known)) return known.answer
      kept.set(group, answers)
      const asked = { askedAt: now().getTime(), askedMs: performance.now() }
      const answer = await ask()
      // If the group was removed or replaced, an event came meanwhile, and this answer may be older.
      const isStill = isListening() && kept.peek(group) === answers
      if (!isStill || !isKept(answer)) return answer
      if (answers.size >= mostOfGroup) answers.clear()
      answers.set(key, { answer, ...asked })
      return answer
    },
    isListening,
    async close() {
      closing.abort()
      kept.clear()
      await subscription.ended.catch(() => undefined)
    },
  }
}
