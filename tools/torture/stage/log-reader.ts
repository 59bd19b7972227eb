import { BACKWARDS, END, EventStoreDBClient, FORWARDS, START, type AllStreamRecordedEvent } from '@eventstore/db-client'
import { setTimeout as sleep } from 'node:timers/promises'
import { parsePosition } from '../../../platform/kit/positions.ts'
import { waitFor } from '../../../test/support/platform.ts'
import { factOf, type Fact } from '../facts.ts'

const againAfterMs = 100
const catchUpMs = 15_000

/** One reading of everything that users have recorded, forwards or backwards; the oldest comes first in either case. */
export async function readWholeLog(url: string, direction: 'forwards' | 'backwards'): Promise<readonly Fact[]> {
  const client = EventStoreDBClient.connectionString(url)
  const reading =
    direction === 'forwards'
      ? client.readAll({ fromPosition: START, direction: FORWARDS })
      : client.readAll({ fromPosition: END, direction: BACKWARDS })
  try {
    const facts: Fact[] = []
    for await (const { event } of reading) if (event !== undefined && isOfUsers(event)) facts.push(factOf(event))
    return direction === 'forwards' ? facts : facts.toReversed()
  } finally {
    await client.dispose()
  }
}

/** A subscriber that stays for the whole run: whatever ends its subscription, it goes on behind the last event it saw. */
export class Follower {
  readonly facts: Fact[] = []
  /** How often it had to subscribe anew. */
  drops = 0
  readonly #url: string
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #end: () => void = () => undefined

  constructor(url: string) {
    this.#url = url
    this.#running = this.#follow()
  }

  /** Everything it saw, once that is as much as this, or after as long as a subscriber may need. */
  async caughtUp(count: number): Promise<readonly Fact[]> {
    const look = () => (this.facts.length >= count ? this.facts : undefined)
    return waitFor('the subscriber', look, catchUpMs).catch(() => this.facts)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#end()
    await this.#running
  }

  async #follow(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      // A client remembers nothing across subscriptions, so that each finds the node as it is now.
      const client = EventStoreDBClient.connectionString(this.#url)
      try {
        await this.#subscribe(client)
      } catch {
        this.drops += 1
      } finally {
        await client.dispose().catch(() => undefined)
      }
      await sleep(againAfterMs, undefined, { signal: this.#closing.signal }).catch(() => undefined)
    }
  }

  async #subscribe(client: EventStoreDBClient): Promise<void> {
    const last = this.facts.at(-1)
    const subscription = client.subscribeToAll({
      fromPosition: (last === undefined ? undefined : parsePosition(last.position)) ?? START,
    })
    this.#end = () => void subscription.unsubscribe().catch(() => undefined)
    if (this.#closing.signal.aborted) return this.#end()
    await new Promise<void>((resolve, reject) => {
      subscription.on('data', ({ event }) => {
        if (event !== undefined && isOfUsers(event)) this.facts.push(factOf(event))
      })
      subscription.on('error', reject)
      subscription.on('end', resolve)
      subscription.on('close', resolve)
    })
  }
}

function isOfUsers({ streamId }: AllStreamRecordedEvent): boolean {
  return !streamId.startsWith('$')
}
