import { lockFolder } from '../folder-lock.ts'
import { serve } from '../server.ts'
import { openStore } from '../streams/stream-store.ts'

/* Nodes in one process, by the folder of their data. The process that started this one opens and closes them. */

/** `open` and `close` contain the folder of a node. */
export type HostRequest = { readonly id: number } & ({ readonly open: string } | { readonly close: string })
/** The port of the node, or why it could not be opened or closed. */
export type HostAnswer = { readonly id: number } & ({ readonly port: number } | { readonly failed: string })

type Node = { port: number; close(): Promise<void> }

const nodes = new Map<string, Node>()

process.on('message', (request: HostRequest) => {
  void answerTo(request).then((answer) => process.send?.(answer))
})
process.once('disconnect', () => process.exit())

async function answerTo(request: HostRequest): Promise<HostAnswer> {
  const { id } = request
  try {
    return { id, port: 'open' in request ? await open(request.open) : await close(request.close) }
  } catch (error) {
    return { id, failed: error instanceof Error ? error.message : String(error) }
  }
}

async function open(folder: string): Promise<number> {
  const lock = await lockFolder(folder)
  const store = openStore(folder, endWith)
  const server = await serve(store, { host: '127.0.0.1', port: 0, accounts: undefined, tls: undefined })
  const close = async () => {
    await server.stop()
    await store.close()
    lock.release()
  }
  nodes.set(folder, { port: server.port, close })
  return server.port
}

async function close(folder: string): Promise<number> {
  const node = nodes.get(folder)
  if (node === undefined) throw new Error(`no node is open in ${folder}`)
  nodes.delete(folder)
  await node.close()
  return node.port
}

/** As a node that is a process of its own. */
function endWith(error: Error): never {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
}
