import { loseConnection, Problem, problemOf } from './problem.ts'
import { backoffMs, jsonIn, parsed, pause, repeated, type Repeats } from './sending.ts'
import type { FeedItem } from './shapes.ts'

/** The platform sends something at least every 15 s. */
const mostSilenceMs = 45_000
/** A resumed feed waits for what the server asks, up to this. */
const longestWaitSeconds = 3_600
/** An event is smaller: the event store takes 1 MiB at most. */
const mostCharacters = 4 * 1024 * 1024

/**
 * Events behind a cursor, endlessly. A lost connection is opened again behind the last event. Until the first connection,
 * and with `retries: 0`, a failure that stays after the tries ends it.
 */
export async function* readFeed(
  addressAfter: (cursor: string | undefined) => URL,
  repeats: Repeats,
  after: string | undefined,
): AsyncGenerator<FeedItem, void, undefined> {
  const { signal, retries } = repeats
  let cursor = after
  let isResuming = false
  for (let ending = new AbortController(); ;) {
    let isOpen = false
    try {
      const response = await repeated(repeats, (token) => {
        ending = new AbortController()
        return open(addressAfter(cursor), token, ending, signal)
      })
      isOpen = true
      isResuming = retries > 0
      for await (const { id, data = 'null' } of blocksOf(response, ending)) {
        cursor = id ?? cursor
        const event = jsonIn(data)
        if (event === undefined) throw new Problem('answer-unreadable', 200, 'An event is no JSON.')
        if (event !== null && cursor !== undefined) yield { cursor, event: event as FeedItem['event'] }
      }
      if (!isResuming) loseConnection('the stream has ended')
    } catch (error) {
      signal?.throwIfAborted()
      // While it opens, only the caller's function for tokens rejects with anything else.
      const { retriable, retryAfterSeconds = 0 }: Partial<Problem> =
        error instanceof Problem ? error : { retriable: !isOpen }
      if (!isResuming || !retriable) throw error
      await pause(Math.min(retryAfterSeconds, longestWaitSeconds) * 1_000, signal)
    } finally {
      ending.abort()
    }
    await pause(backoffMs(4), signal)
  }
}

async function open(url: URL, token: string | undefined, ending: AbortController, signal = ending.signal) {
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${token}` }
  const init = { headers, redirect: 'manual', signal: AbortSignal.any([ending.signal, signal]) } as const
  const response = await inTime(fetch(url, init), ending)
  if (response.ok && /^text\/event-stream\b/.test(response.headers.get('content-type') ?? '')) return response
  throw problemOf(response, parsed(response, await inTime(response.text(), ending)))
}

async function inTime<Result>(work: Promise<Result>, ending: AbortController): Promise<Result> {
  const silence = setTimeout(() => ending.abort(), mostSilenceMs)
  return work.catch(loseConnection).finally(() => clearTimeout(silence))
}

/** The blocks of a stream of server-sent events. */
async function* blocksOf({ body }: Response, ending: AbortController) {
  if (body === null) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (let rest = ''; ;) {
    const { done, value } = await inTime(reader.read(), ending)
    if (done) return
    const blocks = value.includes('\n') ? (rest + value).split(/\r?\n\r?\n/) : [rest + value]
    rest = blocks.pop() ?? ''
    if (rest.length > mostCharacters) throw new Problem('answer-unreadable', 200, 'An event has no end.')
    for (const block of blocks) yield { id: fieldOf(block, 'id'), data: fieldOf(block, 'data') }
  }
}

function fieldOf(block: string, name: string): string | undefined {
  const lines = block.split(/\r?\n/).filter((line) => line.startsWith(`${name}:`))
  return lines.length === 0 ? undefined : lines.map((line) => line.slice(name.length + 1).replace(/^ /, '')).join('\n')
}
