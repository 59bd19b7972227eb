import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createEgress, type EgressRequest } from '../../../platform/outbound/egress.ts'
import { EgressError } from '../../../platform/outbound/egress-error.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'

const closers: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** Answers each request with these bytes. A request ends with its head, or with `!` in its body. */
async function serve(answer: (socket: Socket, number: number) => void): Promise<string> {
  let requests = 0
  const server = createServer((socket) => {
    let text = ''
    socket
      .on('error', () => undefined)
      .on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1')
        if (!(text.startsWith('GET') ? text.endsWith('\r\n\r\n') : text.endsWith('!') || text.includes('\r\n!'))) return
        text = ''
        requests += 1
        answer(socket, requests)
      })
    closers.push(() => void socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function egress() {
  const opened = createEgress({ configuration: loadConfiguration({}) })
  closers.push(() => opened.close())
  return opened
}

const limits: EgressRequest = { purpose: 'webhook', timeoutMs: 10_000, maxBytes: 100_000 }
const post = { ...limits, method: 'POST', body: 'a body!' } as const

const goOn = 'HTTP/1.1 100 Continue\r\n\r\n'
const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n'
const processing = 'HTTP/1.1 102 Processing\r\n\r\n'
const final = (body: string) => `HTTP/1.1 201 Created\r\nContent-Length: ${body.length}\r\n\r\n${body}`

async function bodyOf(url: string, request: EgressRequest, outside = egress()): Promise<[number, string]> {
  const response = await outside.request(url, request)
  return [response.status, await response.text()]
}

describe('a server that answers 1xx first', () => {
  it.each([
    ['100', goOn],
    ['103', hints],
    ['100 several times', goOn.repeat(5)],
    ['several kinds', processing + goOn + hints + goOn + processing],
    ['HTTP/1.0 100', 'HTTP/1.0 100 Continue\r\n\r\n'],
    ['an unknown 1xx', 'HTTP/1.1 199 Whatever\r\n\r\n'],
  ])('is read to its final answer: %s', async (_, interim) => {
    const url = await serve((socket) => socket.write(interim + final('done')))
    expect(await bodyOf(url, post)).toEqual([201, 'done'])
    expect(await bodyOf(url, limits)).toEqual([201, 'done'])
  })

  it('is read to its final answer, byte by byte, for each request of a connection', async () => {
    const peers = new Set<number | undefined>()
    const url = await serve((socket, number) => {
      peers.add(socket.remotePort)
      socket.setNoDelay(true)
      const bytes = (goOn + hints + final(`answer ${number}`)).split('')
      const next = (): void => {
        const byte = bytes.shift()
        if (byte !== undefined) socket.write(byte, () => setImmediate(next))
      }
      next()
    })
    const outside = egress()
    for (const number of [1, 2, 3]) {
      expect(await bodyOf(url, post, outside)).toEqual([201, `answer ${number}`])
      // The connection returns to the pool right after the end of the answer.
      await nextTurn()
    }
    expect(peers.size).toBe(1)
  })

  it('keeps a body that looks like interim answers', async () => {
    const body = goOn + hints
    const url = await serve((socket) => {
      const [head = ''] = final(body).split('HTTP/1.1 100')
      socket.write(goOn + head, () =>
        setImmediate(() => socket.write(goOn, () => setImmediate(() => socket.write(hints)))),
      )
    })
    const outside = egress()
    for (let call = 0; call < 2; call += 1) expect(await bodyOf(url, post, outside)).toEqual([201, body])
  })

  it.each([
    ['too many', goOn],
    ['a head without an end', 'HTTP/1.1 103 Early Hints\r\nLink: '],
  ])('is ended at a flood of them: %s', async (_, first) => {
    let written = 0
    const url = await serve((socket) => {
      const flood = (): void => {
        if (socket.destroyed) return
        written += 1
        socket.write(written === 1 ? first : first.startsWith('HTTP/1.1 103') ? 'x'.repeat(1_000) : goOn, () =>
          setImmediate(flood),
        )
      }
      flood()
    })
    // Without a limit of their number, only the time limit would end the call.
    const error: unknown = await egress()
      .request(url, { ...post, timeoutMs: 600_000 })
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(EgressError)
    expect(error).toMatchObject({ code: 'connect', mayHaveBeenSent: true })
  })

  it('is not mistaken for one that switches protocols', async () => {
    const url = await serve((socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'))
    await expect(egress().request(url, post)).rejects.toThrow(EgressError)
  })

  it('may be the object store', async () => {
    const url = await serve((socket) =>
      socket.write(goOn + hints + goOn + 'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 4\r\n\r\nsome'),
    )
    const account = { region: 'eu-central-1', bucket: 'images', accessKeyId: 'a', secretAccessKey: 'b' }
    const objects = connectObjectStore({ endpoint: url, ...account, now: () => new Date() })
    closers.push(() => objects.close())
    const chunks: Buffer[] = []
    for await (const chunk of (await objects.read('key'))?.chunks ?? []) chunks.push(chunk)
    expect(Buffer.concat(chunks).toString()).toBe('some')
  })
})
