import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { officialAddress } from '../official-address.ts'
import { startEventStore } from '../start.ts'

/** An event store for one test file: a new embedded node, or the real server of `ESDB_URL`. */
export interface TestEventStore {
  readonly url: string
  /** True for a real server: it is not empty and cannot be killed. */
  readonly isReal: boolean
  /** Folder of the embedded node's data. */
  readonly dataDir: string
  stop(): Promise<void>
  /** SIGKILL, then a start with the same folder and port. */
  restart(): Promise<void>
  kill(): void
}

/** The server of `ESDB_URL`, as the official client reads it too; empty if the tests use embedded nodes. */
export const realEventStoreUrl = officialAddress(process.env['ESDB_URL'] ?? '')
export const isRealEventStore = realEventStoreUrl !== ''

/**
 * Connection string of a real server with accounts and TLS, with its first administrator:
 * `esdb://admin:…@host:port?tls=true&tlsCAFile=…`. Empty if the tests use embedded nodes.
 */
export const securedEventStoreUrl = officialAddress(process.env['ESDB_SECURED_URL'] ?? '')

/** Starts an empty embedded node, unless `ESDB_URL` is set. */
export async function freshEventStore(): Promise<TestEventStore> {
  return isRealEventStore ? realEventStore(realEventStoreUrl) : embeddedEventStore()
}

function realEventStore(url: string): TestEventStore {
  const refuse = (): never => {
    throw new Error('a real event store (ESDB_URL) cannot be killed by a test')
  }
  return { url, isReal: true, dataDir: '', stop: async () => {}, restart: async () => refuse(), kill: refuse }
}

/** Always an empty embedded node: for a whole installation, which shares no log. */
export async function embeddedEventStore(): Promise<TestEventStore> {
  const dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
  let node = await startEventStore({ dataDir })
  const { port, url } = node
  return {
    url,
    isReal: false,
    dataDir,
    stop: async () => {
      await node.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
    restart: async () => {
      node.kill()
      await node.exited
      node = await startEventStore({ dataDir, port })
    },
    kill: () => node.kill(),
  }
}
