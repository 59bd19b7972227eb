import { createServer } from 'node:http'
import { workerData } from 'node:worker_threads'

/*
 * A server on its own thread. It answers while the calling thread stands still. `flags`: 0 asked, 1 may answer, 2 has
 * answered, 3 port.
 */

const flags = new Int32Array(workerData as SharedArrayBuffer)

const server = createServer((_request, response) => {
  Atomics.store(flags, 0, 1)
  Atomics.wait(flags, 1, 0)
  response.writeHead(204).end(() => {
    Atomics.store(flags, 2, 1)
    Atomics.notify(flags, 2)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address !== null) Atomics.store(flags, 3, address.port)
})
