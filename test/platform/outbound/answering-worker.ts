import { createServer } from 'node:http'
import { workerData } from 'node:worker_threads'

/* A server on a thread of its own, which answers while the one that asks stands still. `flags`: 0 it has been asked, 1 it may answer, 2 it has, 3 its port. */

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
