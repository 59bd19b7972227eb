import { pause } from '../kit/backoff.ts'
import type { StreamRevision } from '../kit/positions.ts'
import { applyPreference, preferencesOf } from './preferences.ts'
import { etagOf, namesVersion, type ReplyHead } from './replies.ts'

declare module 'fastify' {
  interface FastifyInstance {
    waiting: Waiting
  }
}

/** Long poll: answers that wait because their caller prefers it (`Prefer: wait=N`). */
export interface Waiting {
  /**
   * Repeats `look` until its result is final, at most for the preferred time. Without the preference it looks once.
   * Only the first look may fail: after that, the last result is the answer.
   */
  hold<Look>(
    reply: ReplyHead,
    look: () => Promise<Look>,
    isFinal: (look: Look) => boolean,
    watch?: Watch,
  ): Promise<Look>
}

/** Calls `wake` when the look may have another result. Returns how to stop; undefined if nobody can tell. */
export type Watch = (wake: () => void) => (() => void) | undefined

const longestSeconds = 25
const firstPauseMs = 50
const longestPauseMs = 250
/** Pause of an answer that is woken. It looks nevertheless, in case the one who wakes it has stopped. */
const wokenPauseMs = 1_000
/** Each waiting answer polls. Above these limits, per client or in total, callers are answered at once. */
const mostHeld = 200
const mostHeldOfClient = 50

export function createWaiting({ isStopping }: { readonly isStopping: () => boolean }): Waiting {
  let heldNow = 0
  const heldByClient = new Map<string, number>()

  function count(clientId: string, change: 1 | -1): void {
    const ofClient = (heldByClient.get(clientId) ?? 0) + change
    heldNow += change
    if (ofClient === 0) heldByClient.delete(clientId)
    else heldByClient.set(clientId, ofClient)
  }

  async function lookOn<Look>(
    { request }: ReplyHead,
    look: () => Promise<Look>,
    isFinal: (look: Look) => boolean,
    first: Look,
    seconds: number,
    watch: Watch | undefined,
  ): Promise<Look> {
    const deadline = performance.now() + seconds * 1000
    let woken = new AbortController()
    const stop = watch?.(() => woken.abort())
    let seen = first
    let hasLooked = false
    try {
      for (let pauseMs = firstPauseMs; !isFinal(seen); pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
        const leftMs = deadline - performance.now()
        if (leftMs <= 0 || isStopping() || request.socket.destroyed) return seen
        // An event may have come between the first look and the watch.
        if (hasLooked || stop === undefined)
          await pause(Math.min(stop === undefined ? pauseMs : wokenPauseMs, leftMs), woken.signal)
        hasLooked = true
        woken = new AbortController()
        try {
          seen = await look()
        } catch {
          return seen
        }
      }
      return seen
    } finally {
      stop?.()
    }
  }

  return {
    async hold(reply, look, isFinal, watch) {
      const first = await look()
      const seconds = preferredSeconds(reply.request.headers.prefer)
      if (seconds === undefined) return first
      const { clientId } = reply.request.caller
      const hasRoom = heldNow < mostHeld && (heldByClient.get(clientId) ?? 0) < mostHeldOfClient
      if (!hasRoom && !isFinal(first)) return first
      applyPreference(reply, `wait=${seconds}`)
      count(clientId, 1)
      try {
        return await lookOn(reply, look, isFinal, first, seconds, watch)
      } finally {
        count(clientId, -1)
      }
    },
  }
}

/** The N of `wait=N`, at most 25. Undefined if there is no valid preference (RFC 7240 ignores malformed ones). */
export function preferredSeconds(header: string | readonly string[] | undefined): number | undefined {
  const wait = preferencesOf(header).get('wait')
  if (wait === undefined || !/^\d+$/.test(wait)) return undefined
  const seconds = Math.min(Number(wait), longestSeconds)
  return seconds === 0 ? undefined : seconds
}

/**
 * Returns the record once it is final, if the caller prefers to wait. For a caller with a known version
 * (If-None-Match), also as soon as there is a newer one.
 */
export function heldRecord<View extends { readonly revision: StreamRevision }>(
  reply: ReplyHead,
  look: () => Promise<View>,
  isOver: (view: View) => boolean,
): Promise<View> {
  const known = reply.request.headers['if-none-match']
  const isNews = (view: View): boolean => known !== undefined && !namesVersion(known, etagOf(view.revision))
  return reply.request.server.waiting.hold(reply, look, (view) => isOver(view) || isNews(view))
}
