import { loseConnection, Problem, problemOf } from './problem.ts'
import { backoffMs, either, parsed, pause, repeated, type Repeats } from './sending.ts'
import type { FeedItem } from './shapes.ts'

/** The platform sends something at least every 15 s. */
const mostSilenceMs = 45_000
/** An event is smaller. */
const mostCharacters = 16 * 1024 * 1024

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
    try {
      const response = await repeated(repeats, (token) => {
        ending = new AbortController()
        return open(addressAfter(cursor), token, ending, signal)
      })
      isResuming = retries > 0
      for await (const { id, data } of blocksOf(response, ending)) {
        cursor = id ?? cursor
        if (data !== undefined && cursor !== undefined) yield { cursor, event: JSON.parse(data) as FeedItem['event'] }
      }
      if (!isResuming) loseConnection('the stream has ended')
    } catch (error) {
      signal?.throwIfAborted()
      if (!isResuming || !(error instanceof Problem && error.retriable)) throw error
    } finally {
      ending.abort()
    }
    await pause(backoffMs(4), signal)
  }
}

async function open(url: URL, token: string | undefined, ending: AbortController, signal: AbortSignal | undefined) {
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${token}` }
  const response = await inTime(
    fetch(url, { headers, redirect: 'manual', signal: either(signal, ending.signal) }),
    ending,
  )
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
    const blocks = (rest + value).split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    if (rest.length > mostCharacters) throw new RangeError('the stream has an event without an end')
    for (const block of blocks) yield { id: fieldOf(block, 'id'), data: fieldOf(block, 'data') }
  }
}

function fieldOf(block: string, name: string): string | undefined {
  const lines = block.split(/\r?\n/).filter((line) => line.startsWith(`${name}:`))
  return lines.length === 0 ? undefined : lines.map((line) => line.slice(name.length + 1).replace(/^ /, '')).join('\n')
}
