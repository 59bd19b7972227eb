import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { officialAddress } from '../official-address.ts'
import { startEventStore } from '../start.ts'
import { hostedEventStore, type TestEventStore } from './hosted-event-store.ts'

export { hostedEventStore, type TestEventStore }

/** An embedded node in a process of its own. */
export interface EmbeddedEventStore extends TestEventStore {
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

/** An empty hosted node, or with `ESDB_URL` the real server, which is not empty. */
export async function freshEventStore(): Promise<TestEventStore> {
  return isRealEventStore ? { url: realEventStoreUrl, dataDir: '', stop: async () => {} } : hostedEventStore()
}

/** An empty embedded node that the test may kill, also with `ESDB_URL`. */
export async function embeddedEventStore(): Promise<EmbeddedEventStore> {
  const dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
  let node = await startEventStore({ dataDir })
  const { port, url } = node
  return {
    url,
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
