import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** An HTTP server that passes each request to the next server behind it, as a load balancer does. */
export interface Front {
  /** Number of requests that each target answered, in the given order of targets. */
  answered(): readonly number[]
  /** Adds a target. */
  add(port: number): void
  close(): Promise<void>
}

/**
 * Listens on a port of 127.0.0.1 for servers on other local ports. Skips a server that accepts no connection; without
 * any server the answer is 502. A request that one server has accepted never goes to another one.
 */
export async function startFront(port: number, first: readonly number[]): Promise<Front> {
  const targets = [...first]
  const counts = targets.map(() => 0)
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    turn += 1
    void forward(incoming, outgoing, turn)
  })
  server.requestTimeout = 0

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse, begin: number): Promise<void> {
    // Reads the whole body first, as load balancers do: a server that refuses a body by its length answers without
    // reading it.
    const body = await buffer(incoming).catch(() => undefined)
    if (body === undefined) return
    for (const [offset] of targets.entries()) {
      const place = (begin + offset) % targets.length
      const socket = await connected(targets[place] ?? 0)
      if (socket === undefined) continue
      pass(incoming, body, outgoing, socket, () => (counts[place] = (counts[place] ?? 0) + 1))
      return
    }
    outgoing.writeHead(502).end()
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    answered: () => [...counts],
    add(one) {
      targets.push(one)
      counts.push(0)
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function pass(
  incoming: IncomingMessage,
  body: Buffer,
  outgoing: ServerResponse,
  socket: Socket,
  onAnswer: () => void,
): void {
  const { method, url, rawHeaders } = incoming
  const onward = request({
    method,
    path: url,
    headers: withoutConnection(rawHeaders),
    setDefaultHeaders: false,
    createConnection: () => socket,
  })
  onward.on('response', (answer) => {
    onAnswer()
    outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, withoutConnection(answer.rawHeaders))
    answer.pipe(outgoing)
    answer.on('error', () => outgoing.destroy())
  })
  // The server went away after it had accepted the request. The caller sees the same as without this front.
  onward.on('error', () => {
    if (!outgoing.writableEnded) outgoing.destroy()
  })
  outgoing.on('close', () => onward.destroy())
  onward.end(body)
}

/** Drops headers that belong to one connection. All other headers pass unchanged. */
function withoutConnection(raw: readonly string[]): string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at, at + 2)
    if (!['connection', 'keep-alive'].includes(name.toLowerCase())) kept.push(name, value)
  }
  return kept
}

function connected(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.removeAllListeners('error')
      resolve(socket)
    })
    socket.once('error', () => resolve(undefined))
  })
}
