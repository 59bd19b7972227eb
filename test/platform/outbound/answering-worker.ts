import { createServer } from 'node:http'
import { workerData } from 'node:worker_threads'

/*
 * A server on its own thread. It answers while the calling thread stands still. `flags`: 0 asked, 1 may answer, 2 has
 * answered, 3 port.
 */

const flags = new Int32Array(workerData as SharedArrayBuffer)

const server = createServer((_request, response) => {
  tell(0, 1)
  Atomics.wait(flags, 1, 0)
  response.writeHead(204).end(() => {
    tell(2, 1)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address !== null) tell(3, address.port)
})

function tell(flag: number, value: number): void {
  Atomics.store(flags, flag, value)
  Atomics.notify(flags, flag)
}
