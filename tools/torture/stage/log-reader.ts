import { BACKWARDS, END, EventStoreDBClient, FORWARDS, START, type AllStreamRecordedEvent } from '@eventstore/db-client'
import { setTimeout as sleep } from 'node:timers/promises'
import { officialAddress } from 'embedded-eventstore/official-address'
import { parsePosition } from '../../../platform/kit/positions.ts'
import { waitFor } from '../../../test/support/platform.ts'
import { factOf, type Fact } from '../facts.ts'

const againAfterMs = 100
const catchUpMs = 15_000

/** Reads all events of users, forwards or backwards. Returns the oldest first in both cases. */
export async function readWholeLog(url: string, direction: 'forwards' | 'backwards'): Promise<readonly Fact[]> {
  const client = EventStoreDBClient.connectionString(officialAddress(url))
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

/** A subscriber for the whole run. After every lost subscription it continues behind its last event. */
export class Follower {
  readonly facts: Fact[] = []
  /** Number of lost subscriptions. */
  drops = 0
  readonly #url: string
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #end: () => void = () => undefined

  constructor(url: string) {
    this.#url = url
    this.#running = this.#follow()
  }

  /** Returns all events once there are `count`, or after the time that a subscriber may need. */
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
      // A new client for each subscription, so that it discovers the node as it is now.
      const client = EventStoreDBClient.connectionString(officialAddress(this.#url))
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
