import { lockFolder } from '../folder-lock.ts'
import { serve } from '../server.ts'
import { openStore } from '../streams/stream-store.ts'
import { hostServers } from './server-host.ts'

/* The child process of hosted event stores. */

export interface HostedNode {
  readonly dataDir: string
}

hostServers(async ({ dataDir }: HostedNode) => {
  const lock = await lockFolder(dataDir)
  const store = openStore(dataDir, endWith)
  const server = await serve(store, { host: '127.0.0.1', port: 0, accounts: undefined, tls: undefined })
  const stop = async () => {
    await server.stop()
    await store.close()
    lock.release()
  }
  return { port: server.port, stop }
})

/** As a node that is a process of its own. */
function endWith(error: Error): never {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
}
