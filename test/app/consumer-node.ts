import { AccessDeniedError, EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import type { EventStoreNode } from 'embedded-eventstore'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { startEmbeddedEventStore } from '../../app/embedded-event-store.ts'
import { freePort } from '../../embedded/children/free-port.ts'
import { loadConfiguration } from '../../platform/configuration/configuration.ts'

export const platformPassword = 'a password of the platform'
export const [channel, foreign, patient] = ['assessment.events', 'clinic.events', 'patient-1'] as const

/** The embedded event store with accounts of consumers, and a client for each account. */
export class ConsumerNode {
  readonly passwords: Record<string, string> = {
    billing: 'p@ss:w/rd?&#% ö-of-billing',
    lab: '0123456789abcdef-of-lab',
  }
  dataDir = ''
  port = 0
  readonly #clients = new Map<string, EventStoreDBClient>()
  #node: EventStoreNode | undefined

  /** Starts with both consumers and two events in each stream. Registers set-up and clean-up with the test file. */
  static ofThisFile(): ConsumerNode {
    const consumers = new ConsumerNode()
    beforeAll(async () => {
      consumers.dataDir = await mkdtemp(join(tmpdir(), 'consumers-'))
      consumers.port = await freePort()
      await consumers.start(['billing', 'lab'])
      for (const stream of [channel, foreign, patient])
        await consumers.as('platform').appendToStream(stream, [noted(0), noted(1)])
    })
    afterAll(async () => {
      await consumers.stop()
      await rm(consumers.dataDir, { recursive: true, force: true })
    })
    return consumers
  }

  get url(): string {
    if (this.#node === undefined) throw new TypeError('the node does not run')
    return this.#node.url
  }

  async start(consumers: readonly string[], foreignChannels: string = foreign): Promise<void> {
    const configuration = loadConfiguration({
      PLATFORM_DATA_DIR: this.dataDir,
      FOREIGN_CHANNELS: foreignChannels,
      EVENTSTORE_CONSUMERS: consumers
        .map((login) => `${login}:${encodeURIComponent(this.passwords[login] ?? '')}`)
        .join(),
    })
    this.#node = await startEmbeddedEventStore({ configuration, port: this.port, password: platformPassword })
  }

  async stop(): Promise<void> {
    for (const client of this.#clients.values()) await client.dispose()
    this.#clients.clear()
    await this.#node?.stop()
    this.#node = undefined
  }

  as(login: string, password = this.passwords[login] ?? platformPassword): EventStoreDBClient {
    const account = `${encodeURIComponent(login)}:${encodeURIComponent(password)}`
    const client =
      this.#clients.get(account) ?? EventStoreDBClient.connectionString(this.url.replace(/\/\/[^@]*@/, `//${account}@`))
    this.#clients.set(account, client)
    return client
  }
}

export const noted = (n: number) => jsonEvent({ type: 'Noted', data: { n } })

/** The first event of a read or of a subscription, which ends then. */
export async function first(reading: AsyncIterable<unknown> & { unsubscribe?(): Promise<void> }): Promise<unknown> {
  const { value } = await reading[Symbol.asyncIterator]().next()
  await reading.unsubscribe?.()
  return value
}

export async function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'granted',
    (error: unknown) => (error instanceof AccessDeniedError ? 'denied' : error),
  )
}
