import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startApplication, type TestApplication } from './test-application.ts'
import { eventually } from '../../support/eventually.ts'

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

function open(headers: readonly string[], body = ''): Socket {
  return send('/v1/things', ['Content-Type: application/json', `Authorization: ${authorization}`, ...headers], body)
}

function openForm(headers: readonly string[], body = ''): Socket {
  return send('/v1/form', ['Content-Type: application/x-www-form-urlencoded', ...headers], body)
}

function send(path: string, headers: readonly string[], body: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.write([`POST ${path} HTTP/1.1`, 'Host: platform', 'Connection: close', ...headers, '', body].join('\r\n'))
  return socket
}

const chunk = (length: number) => `${length.toString(16)}\r\n${'x'.repeat(length)}\r\n`

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
    await eventually(() => expect(request.socket.bytesRead).toBeGreaterThan(chunks.length))
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
    for (let sent = 0; sent <= limit; sent += 64 * KiB) socket.write(chunk(64 * KiB))
    socket.write('0\r\n\r\n')
    expect(await answerOn(socket)).toEqual({ status: 413, code: 'body-too-large' })
  })

  it('is a 413 that reaches its sender, who has sent twice the limit and has not finished', async () => {
    const socket = open(['Transfer-Encoding: chunked'])
    for (let sent = 0; sent < 2 * limit; sent += 64 * KiB) socket.write(chunk(64 * KiB))
    expect(await answerOn(socket)).toEqual({ status: 413, code: 'body-too-large' })
  })

  it('is a 413 without its rest, by announced or actual length', async () => {
    const tooLarge = { status: 413, code: 'body-too-large' }
    expect(await answerOn(open([`Content-Length: ${limit + 1}`], '{'))).toEqual(tooLarge)
    expect(await answerOn(open(['Transfer-Encoding: chunked'], chunk(limit) + chunk(1)))).toEqual(tooLarge)
  })

  it('is not awaited by another refusal either', async () => {
    const head = ['Content-Type: application/json', 'Content-Length: 9000000']
    expect(await answerOn(send('/v1/things', head, '{'))).toEqual({ status: 401, code: 'token-missing' })
    expect(await answerOn(send('/v1/nothing', head, '{'))).toEqual({ status: 404, code: 'not-found' })
    expect(await answerOn(send('/v1/form', head, '{'))).toMatchObject({ status: 415 })
  })

  it('is a 408 if a small one has not arrived after 20 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      for (const begin of [open, openForm]) {
        for (const [headers, body] of [
          [['Content-Length: 100'], '{'],
          [['Content-Length: 9000'], ''],
          [['Transfer-Encoding: chunked'], chunk(10)],
        ] as const) {
          const socket = begin(headers, body)
          await eventually(() => expect(vi.getTimerCount()).toBe(1))
          vi.advanceTimersByTime(20_000)
          expect(await answerOn(socket)).toMatchObject({ status: 408, code: 'request-timeout' })
          await eventually(() => expect(vi.getTimerCount()).toBe(0))
        }
      }
    } finally {
      vi.useRealTimers()
    }
  })

  it('that its sender cuts off is no failure of ours', async () => {
    const logged = t.log().length
    const socket = open(['Content-Length: 100'])
    socket.on('error', () => undefined)
    const begun = once(t.app.server, 'request') as Promise<[IncomingMessage, ServerResponse]>
    socket.write('{"name":')
    const [, response] = await begun
    socket.resetAndDestroy()
    await eventually(() => expect([response.writableEnded, response.statusCode]).toEqual([true, 400]))
    expect(t.log().slice(logged)).not.toContain('request failed')
  })
})

describe('a body of a stranger', () => {
  it('has 16 KiB, however its length is announced', async () => {
    const form = (length: number) => `grant=${'x'.repeat(length - 6)}`
    const whole = (length: number) => [
      answerOn(openForm([`Content-Length: ${length}`], form(length))),
      answerOn(openForm(['Transfer-Encoding: chunked'], `${length.toString(16)}\r\n${form(length)}\r\n0\r\n\r\n`)),
    ]
    expect((await Promise.all(whole(16 * KiB))).map(({ status }) => status)).toEqual([200, 200])
    expect((await Promise.all(whole(16 * KiB + 1))).map(({ status }) => status)).toEqual([413, 413])
  })

  it('costs at most its 16 KiB while it is unfinished, and nothing afterwards', async () => {
    const before = bytesInUse()
    for (let n = 0; n < 60; n += 1)
      expect(await answerOn(openForm(['Transfer-Encoding: chunked'], chunk(limit)))).toMatchObject({ status: 413 })
    const received = () =>
      new Promise<void>((resolve) => {
        t.app.server.once('request', (request: IncomingMessage) => {
          request.once('data', () => resolve())
        })
      })
    const small: Socket[] = []
    for (let n = 0; n < 60; n += 1) {
      const begun = received()
      small.push(openForm(['Transfer-Encoding: chunked'], chunk(15 * KiB)))
      await begun
    }
    await eventually(() => expect(bytesInUse() - before).toBeLessThan(60 * 64 * KiB))
    const gone = small.map((socket) => once(socket, 'close'))
    for (const socket of small) socket.destroy()
    await Promise.all(gone)
    await eventually(() => expect(bytesInUse() - before).toBeLessThan(60 * 16 * KiB))
  })
})
