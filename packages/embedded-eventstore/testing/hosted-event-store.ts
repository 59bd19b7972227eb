import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HostedNode } from './node-host.ts'
import { ServerHost } from './server-host.ts'

/** An event store for one test file. */
export interface TestEventStore {
  readonly url: string
  /** Folder of an embedded node's data. Empty for a real server. */
  readonly dataDir: string
  stop(): Promise<void>
}

const host = new ServerHost<HostedNode>(new URL('node-host.ts', import.meta.url))

/**
 * An empty embedded node that nothing kills, also with `ESDB_URL`: for an installation, which shares no log. All of them
 * run in one child process.
 */
export async function hostedEventStore(): Promise<TestEventStore> {
  const dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
  const { port, stop } = await host.open({ dataDir })
  return {
    url: `esdb://127.0.0.1:${port}?tls=false`,
    dataDir,
    stop: async () => {
      await stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
