import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { listenOnLoopback } from '../../../embedded/children/loopback-server.ts'
import { readForm, type ReceivedForm } from '../../../embedded/provider/multipart.ts'

/** A request as a server received it. */
export interface RecordedRequest {
  /** Method and path with the query. */
  readonly line: string
  readonly authorization: string | undefined
  readonly contentType: string | undefined
  readonly bytes: number
  readonly form: ReceivedForm
  readonly status: number
}

export interface RecordingProxy {
  readonly url: string
  readonly requests: readonly RecordedRequest[]
  close(): Promise<void>
}

const forwarded = ['authorization', 'content-type'] as const

/** Passes requests on to a server, and records them. Only headers of the session API pass. */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = []
  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = incoming
    const body = await buffer(incoming)
    const given = forwarded.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]] as const]))
    const answer = await fetch(`${target}${url}`, {
      method,
      headers: Object.fromEntries(given),
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    })
    const contentType = headers['content-type']
    requests.push({
      line: `${method} ${url}`,
      authorization: headers.authorization,
      contentType,
      bytes: body.length,
      form: await readForm(contentType ?? '', Readable.from([body])),
      status: answer.status,
    })
    const kept = [...answer.headers].filter(([name]) => !['content-encoding', 'content-length'].includes(name))
    outgoing.writeHead(answer.status, Object.fromEntries(kept)).end(Buffer.from(await answer.arrayBuffer()))
  }
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy())
  })
  const port = await listenOnLoopback(server, 'recording proxy', 0)
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
