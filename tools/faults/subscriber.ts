import { setTimeout as sleep } from 'node:timers/promises'
import { END, EventStoreDBClient, START } from '@eventstore/db-client'
import { officialAddress } from 'embedded-eventstore/official-address'

const channel = 'ai_review.events'

/** Follows a public channel as another product does: it continues from its last event after every lost connection. */
export class ChannelSubscriber {
  readonly revisions: bigint[] = []
  drops = 0
  readonly #client: EventStoreDBClient
  readonly #stopping = new AbortController()
  #following: Promise<void> = Promise.resolve()

  constructor(url: string) {
    this.#client = EventStoreDBClient.connectionString(officialAddress(url))
  }

  start(): void {
    this.#following = this.#follow()
  }

  async #follow(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const last = this.revisions.at(-1)
      await this.#once(last ?? START)
      if (this.#stopping.signal.aborted) return
      this.drops += 1
      await sleep(250, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
    }
  }

  #once(fromRevision: bigint | typeof START): Promise<void> {
    return new Promise((resolve) => {
      const subscription = this.#client.subscribeToStream(channel, { fromRevision })
      const end = () => void subscription.unsubscribe().then(resolve, resolve)
      subscription.on('data', ({ event }) => {
        if (event !== undefined) this.revisions.push(event.revision)
      })
      subscription.on('error', end).on('end', () => resolve())
      this.#stopping.signal.addEventListener('abort', end, { once: true })
    })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#following
    await this.#client.dispose()
  }
}

/** Events of the channel by case, in the order of the store. */
export async function channelByCase(
  url: string,
): Promise<{ readonly count: number; readonly cases: ReadonlyMap<string, readonly string[]> }> {
  const client = EventStoreDBClient.connectionString(officialAddress(url))
  const cases = new Map<string, string[]>()
  let count = 0
  try {
    for await (const { event } of client.readStream(channel, { direction: 'forwards', fromRevision: START })) {
      if (event === undefined) continue
      count += 1
      const data: unknown = event.data
      const id = typeof data === 'object' && data !== null && 'caseId' in data ? String(data.caseId) : ''
      cases.set(id, [...(cases.get(id) ?? []), event.type])
    }
  } finally {
    await client.dispose()
  }
  return { count, cases }
}

/** The channel's last revision. */
export async function headOfChannel(url: string): Promise<bigint> {
  const client = EventStoreDBClient.connectionString(officialAddress(url))
  try {
    for await (const { event } of client.readStream(channel, {
      direction: 'backwards',
      fromRevision: END,
      maxCount: 1,
    })) {
      if (event !== undefined) return event.revision
    }
    return -1n
  } finally {
    await client.dispose()
  }
}
