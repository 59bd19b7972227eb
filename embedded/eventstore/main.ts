import { parseArgs } from 'node:util'
import { lockFolder } from './folder-lock.ts'
import { serve } from './server.ts'
import { finishInterruptedUndelete } from './streams/append.ts'
import { openStore } from './streams/stream-store.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    port: { type: 'string', default: '2113' },
    'exit-with-parent': { type: 'boolean', default: false },
  },
})

process.on('uncaughtException', exitWith)

try {
  await run()
} catch (error) {
  exitWith(error)
}

async function run(): Promise<void> {
  const port = Number(values.port)
  if (values.data === undefined || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error('usage: main.ts --data DIR [--port N] [--exit-with-parent]')
  }
  const lock = await lockFolder(values.data)
  const store = openStore(values.data, exitWith)
  finishInterruptedUndelete(store)
  const server = await serve(store, { host: '127.0.0.1', port, tls: undefined, accounts: undefined })
  let isStopping = false
  const stop = async (): Promise<void> => {
    if (isStopping) return
    isStopping = true
    await server.stop()
    await store.close()
    lock.release()
    process.exit(0)
  }
  const stopOrFail = (): void => {
    stop().catch(exitWith)
  }
  process.on('SIGTERM', stopOrFail)
  process.on('SIGINT', stopOrFail)
  if (values['exit-with-parent']) {
    process.stdin.on('end', stopOrFail).on('error', stopOrFail)
    process.stdin.resume()
  }
  process.stdout.write(`${JSON.stringify({ ready: true, port: server.port })}\n`)
}

/** Nothing is flushed here: what was acknowledged is on disk, and nothing else may be. */
function exitWith(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${JSON.stringify({ level: 'fatal', event: 'event-store-stopped', message })}\n`)
  process.exit(1)
}
