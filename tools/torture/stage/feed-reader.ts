import { setTimeout as sleep } from 'node:timers/promises'
import { at, textAt } from '../../../app/demo/members.ts'
import { requestToken, type ClientSecrets } from '../../../test/support/raw-api.ts'
import { channelsByDomain } from '../../../contracts/events/channels.ts'

/** What one consumer of the feed got from one channel, in the order in which it came. */
export interface FeedReading {
  readonly channel: string
  /** The organisation of the consumer's token. */
  readonly orgId: string
  readonly how: 'pages' | 'stream'
  readonly events: readonly unknown[]
}

/** With the place up to which it has read. */
interface Growing extends FeedReading {
  readonly events: unknown[]
  cursor: string | undefined
}

const againAfterMs = 150
/** Longer than any wait of the feed. */
const answerMs = 40_000

/**
 * Consumers of the feed for the whole run: for each client and channel one that asks for pages, and one with a stream. Each
 * keeps its cursor together with its events, as a consumer with its own table does, so no event may come twice.
 */
export class FeedReaders {
  readonly #baseUrl: string
  readonly #closing = new AbortController()
  readonly #readings: Growing[] = []
  readonly #running: Promise<unknown>

  constructor(baseUrl: string, clients: readonly (ClientSecrets & { readonly org_id: string | null })[]) {
    this.#baseUrl = baseUrl
    const loops = clients.flatMap(({ org_id: orgId, ...client }) =>
      [...channelsByDomain].flatMap(([domain, { name: channel }]) =>
        (['pages', 'stream'] as const).map((how) => {
          const reading: Growing = { channel, orgId: orgId ?? '', how, events: [], cursor: undefined }
          this.#readings.push(reading)
          return this.#follow(client, domain, reading)
        }),
      ),
    )
    this.#running = Promise.all(loops)
  }

  /** The readings, once none has grown for a while, or after the time, in milliseconds. */
  async caughtUp(quietMs: number, limitMs: number): Promise<readonly FeedReading[]> {
    const count = () => this.#readings.reduce((sum, { events }) => sum + events.length, 0)
    let [seen, since] = [count(), performance.now()]
    for (const end = since + limitMs; performance.now() < end && performance.now() - since < quietMs;) {
      await sleep(againAfterMs)
      if (count() !== seen) [seen, since] = [count(), performance.now()]
    }
    return this.#readings
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #follow(client: ClientSecrets, domain: string, reading: Growing): Promise<void> {
    let token = ''
    while (!this.#closing.signal.aborted) {
      try {
        if (token === '') token = textAt((await requestToken(this.#baseUrl, client)).body, 'access_token')
        const after = reading.cursor === undefined ? '' : `&after=${reading.cursor}`
        const response = await fetch(`${this.#baseUrl}/v1/events/${domain}?limit=200${after}`, {
          headers: {
            authorization: `Bearer ${token}`,
            ...(reading.how === 'pages' ? { prefer: 'wait=10' } : { accept: 'text/event-stream' }),
          },
          signal: AbortSignal.any([
            this.#closing.signal,
            ...(reading.how === 'pages' ? [AbortSignal.timeout(answerMs)] : []),
          ]),
        })
        if (response.status === 401) token = ''
        if (response.status !== 200) await sleep(againAfterMs)
        else if (reading.how === 'pages') take(reading, await response.json())
        else await takeStream(reading, response)
      } catch {
        // A process was killed, or the run is over.
        await sleep(againAfterMs)
      }
    }
  }
}

function take(reading: Growing, page: unknown): void {
  const data = at(page, 'data')
  reading.events.push(...(Array.isArray(data) ? data : []))
  reading.cursor = textAt(page, 'next_cursor')
}

async function takeStream(reading: Growing, response: Response): Promise<void> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const member = (name: string) =>
        block
          .split('\n')
          .find((line) => line.startsWith(name))
          ?.slice(name.length)
      const [id, data] = [member('id: '), member('data: ')]
      if (data !== undefined) reading.events.push(JSON.parse(data))
      if (id !== undefined) reading.cursor = id
    }
  }
}
