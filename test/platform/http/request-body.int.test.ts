import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startApplication, type TestApplication } from './test-application.ts'

const KiB = 1024
const limit = 1024 * KiB

let t: TestApplication
let port: number
let authorization: string

beforeAll(async () => {
  t = await startApplication()
  authorization = (await t.token()).authorization
  port = Number(new URL(await t.app.listen({ port: 0, host: '127.0.0.1' })).port)
})
afterAll(() => t.app.close())

function open(headers: readonly string[]): Socket {
  const socket = connect(port, '127.0.0.1')
  const head = [
    'POST /v1/things HTTP/1.1',
    'Host: platform',
    'Connection: close',
    'Content-Type: application/json',
    `Authorization: ${authorization}`,
  ]
  socket.write([...head, ...headers, '', ''].join('\r\n'))
  return socket
}

async function answerOn(socket: Socket): Promise<{ readonly status: number; readonly code: string | undefined }> {
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return { status: Number(answer.slice(9, 12)), code: /"code":"([a-z-]+)"/.exec(answer)?.[1] }
}

/** Bytes in use after garbage collection. */
function bytesInUse(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect !== 'function') throw new Error('there is no gc')
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

describe('a JSON body', () => {
  it('takes memory for its bytes only, however small its pieces are', async () => {
    const body = JSON.stringify({ name: 'Ada', free: 'x'.repeat(256 * KiB) })
    const chunks = Buffer.alloc(6 * (body.length - 1))
    for (let at = 0; at < body.length - 1; at += 1) chunks.write(`1\r\n${body[at]}\r\n`, 6 * at, 'latin1')
    const before = bytesInUse()
    const begun = once(t.app.server, 'request') as Promise<[IncomingMessage]>
    const socket = open(['Transfer-Encoding: chunked'])
    socket.write(chunks)
    const [request] = await begun
    await vi.waitFor(() => expect(request.socket.bytesRead).toBeGreaterThan(chunks.length), { timeout: 20_000 })
    const grown = bytesInUse() - before
    socket.write('1\r\n}\r\n0\r\n\r\n')
    expect(await answerOn(socket)).toMatchObject({ status: 201 })
    expect(grown).toBeLessThan(16 * body.length)
  })

  it('is accepted up to the last byte of the limit', async () => {
    const bodyOf = (length: number) =>
      JSON.stringify({ name: 'Ada', free: '' }).replace('""', `"${'x'.repeat(length - 24)}"`)
    const answers = [limit, limit + 1].map((length) => {
      const body = bodyOf(length)
      expect(body).toHaveLength(length)
      const socket = open([`Content-Length: ${length}`])
      socket.write(body)
      return answerOn(socket)
    })
    expect(await Promise.all(answers)).toEqual([
      { status: 201, code: undefined },
      { status: 413, code: 'body-too-large' },
    ])
  })

  it('is a 413 that reaches its sender, by announced or actual length', async () => {
    expect(await answerOn(open([`Content-Length: ${2 * limit + 1}`]))).toEqual({ status: 413, code: 'body-too-large' })
    const socket = open(['Transfer-Encoding: chunked'])
    const part = 'x'.repeat(64 * KiB)
    for (let sent = 0; sent <= limit; sent += part.length) socket.write(`${part.length.toString(16)}\r\n${part}\r\n`)
    socket.write('0\r\n\r\n')
    expect(await answerOn(socket)).toEqual({ status: 413, code: 'body-too-large' })
  })

  it('is a 413 that reaches its sender, who has sent twice the limit and has not finished', async () => {
    const socket = open(['Transfer-Encoding: chunked'])
    const part = 'x'.repeat(64 * KiB)
    for (let sent = 0; sent < 2 * limit; sent += part.length) socket.write(`${part.length.toString(16)}\r\n${part}\r\n`)
    socket.write('1\r\nx\r\n')
    expect(await answerOn(socket)).toEqual({ status: 413, code: 'body-too-large' })
  })

  it('that its sender cuts off is no failure of ours', async () => {
    const logged = t.log().length
    const socket = open(['Content-Length: 100'])
    socket.on('error', () => undefined)
    const begun = once(t.app.server, 'request') as Promise<[IncomingMessage, ServerResponse]>
    socket.write('{"name":')
    const [, response] = await begun
    socket.resetAndDestroy()
    await vi.waitFor(() => expect([response.writableEnded, response.statusCode]).toEqual([true, 400]))
    expect(t.log().slice(logged)).not.toContain('request failed')
  })
})
