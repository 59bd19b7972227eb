import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

/** The exact bytes of a request. */
interface RawRequest {
  readonly port: number
  readonly head: string
  readonly body: Uint8Array | undefined
}

/** Sends requests from another thread, so that only the server uses the measured event loop. */
export interface RawClient {
  /** The status of the answer after the connection is closed. 0 if the server closed it without an answer. */
  send(request: RawRequest): Promise<number>
  close(): Promise<void>
}

interface Asked {
  readonly id: number
  readonly request: RawRequest
}

interface Answered {
  readonly id: number
  readonly status: number
}

export function startRawClient(): RawClient {
  const worker = new Worker(fileURLToPath(import.meta.url), { execArgv: [] })
  const waiting = new Map<number, (status: number) => void>()
  let last = 0
  worker.on('message', ({ id, status }: Answered) => {
    waiting.get(id)?.(status)
    waiting.delete(id)
  })
  return {
    send: (request) =>
      new Promise((resolve) => {
        last += 1
        waiting.set(last, resolve)
        worker.postMessage({ id: last, request }, [])
      }),
    close: async () => void (await worker.terminate()),
  }
}

function exchange({ port, head, body }: RawRequest): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(head, 'latin1')
      if (body !== undefined) socket.write(body)
    })
    let answer = ''
    socket.on('data', (chunk: Buffer) => {
      if (answer.length < 100) answer += chunk.toString('latin1')
    })
    // A server that refuses a body early may reset the connection.
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)))
  })
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort
  port.on('message', ({ id, request }: Asked) => {
    void exchange(request).then((status) => port.postMessage({ id, status }, []))
  })
}
