import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { Type } from 'typebox'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answers } from '../../../platform/http/answers.ts'
import { addInlineBodyParser, type InlineSinks } from '../../../platform/http/inline-body-parser.ts'
import type { Service } from '../../../platform/http/service.ts'
import { problem } from '../../../platform/http/problems.ts'
import { startApplication, type TestApplication } from './test-application.ts'
import { eventually } from '../../support/eventually.ts'

const KiB = 1024
const mostBytes = 1024 * KiB
const mostRest = 4 * KiB

/** The sinks of one request's strings. */
class NotedSinks implements InlineSinks {
  readonly texts: string[] = []
  discards = 0
  #open: number | undefined

  begin(index: number): void {
    this.#open = index
    this.texts[index] = ''
  }

  async write(text: Buffer): Promise<void> {
    if (this.#open === undefined) throw new Error('no string has begun')
    if (text.includes('!')) throw problem('object-store-unavailable')
    this.texts[this.#open] += text.toString('latin1')
  }

  async end(): Promise<void> {
    this.#open = undefined
  }

  async discard(): Promise<void> {
    this.discards += 1
  }
}

const EchoBody = Type.Object(
  {
    images: Type.Optional(Type.Array(Type.Object({ data: Type.String() }, { additionalProperties: false }))),
    name: Type.Optional(Type.String()),
  },
  { $id: 'EchoBody', additionalProperties: false },
)
const Echo = Type.Object({ body: Type.Unknown(), lengths: Type.Array(Type.Integer()) }, { $id: 'Echo' })

let sinks: NotedSinks[] = []
let t: TestApplication
let address: URL
let auth: { authorization: string }

const service: Service = {
  prefix: 'clinical-api',
  documentedAt: 'prefixed',
  routes(app) {
    void app.register(async (scope) => {
      const sinksOf = addInlineBodyParser(scope, {
        mostBytes,
        mostRest,
        open: () => {
          const opened = new NotedSinks()
          sinks.push(opened)
          return opened
        },
      })
      scope.post(
        '/echo',
        {
          schema: {
            operationId: 'echo',
            summary: 'Echo',
            body: EchoBody,
            response: answers({ 200: Echo }, ['object-store-unavailable']),
          },
          config: { access: { scopes: ['things:write'] } },
        },
        async (request) => {
          const opened = sinksOf(request)
          expect(opened?.discards).toBe(0)
          return { body: request.body, lengths: (opened?.texts ?? []).map(({ length }) => length) }
        },
      )
    })
  },
}

beforeAll(async () => {
  t = await startApplication({ services: [service] })
  auth = await t.token()
  address = new URL(await t.app.listen({ port: 0, host: '127.0.0.1' }))
})
beforeEach(() => {
  sinks = []
})
afterAll(() => t.app.close())

interface Answered {
  readonly status: number
  readonly code: unknown
  readonly body: Record<string, unknown>
}

async function send(
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  path = '/echo',
): Promise<Answered> {
  const response = await fetch(new URL(`/v1/clinical-api${path}`, address), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...auth, ...headers },
    body,
  })
  const answered = (await response.json()) as Record<string, unknown>
  return { status: response.status, code: answered['code'], body: answered }
}

function open(headers: readonly string[]): Socket {
  const socket = connect(Number(address.port), address.hostname)
  socket.write(
    [
      'POST /v1/clinical-api/echo HTTP/1.1',
      'Host: platform',
      'Content-Type: application/json',
      `Authorization: ${auth.authorization}`,
      ...headers,
      '',
      '',
    ].join('\r\n'),
  )
  return socket
}

async function answerOn(socket: Socket): Promise<string> {
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}

const withData = (...data: readonly string[]) =>
  JSON.stringify({ images: data.map((text) => ({ data: text })), name: 'Ada' })

describe('a body with inline data', () => {
  it('is parsed without them, and they are passed on as they arrive', async () => {
    const data = ['A'.repeat(300_000), '', 'B'.repeat(200_000)]
    const answer = await send(withData(...data))
    expect(answer).toMatchObject({
      status: 200,
      body: {
        body: { images: [{ data: '' }, { data: '' }, { data: '' }], name: 'Ada' },
        lengths: [300_000, 0, 200_000],
      },
    })
    expect(sinks.map(({ texts, discards }) => [texts, discards])).toEqual([[data, 1]])
  })

  it('counts as no body if it is empty; the handler checks a body that is no object', async () => {
    expect(await send('')).toMatchObject({ status: 400, code: 'validation-failed' })
    expect(await send('[]')).toMatchObject({ status: 400, code: 'validation-failed' })
    expect(await send('{}')).toMatchObject({ status: 200, body: { body: {}, lengths: [] } })
  })

  it('is a 413 for an announced length far beyond the limit, before it is read, and the connection closes', async () => {
    const answer = await answerOn(open([`Content-Length: ${2 * mostBytes + 1}`]))
    expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*connection: close[^]*body-too-large/i)
    expect(sinks).toEqual([])
  })

  it('is a 413 during reading if no length is announced, and is not read beyond the limit', async () => {
    const socket = open(['Transfer-Encoding: chunked'])
    const part = 'A'.repeat(64 * KiB)
    socket.write('b\r\n{"images":[\r\nc\r\n {"data": "A\r\n')
    for (let sent = 0; sent <= mostBytes; sent += part.length)
      socket.write(`${part.length.toString(16)}\r\n${part}\r\n`)
    socket.write('0\r\n\r\n')
    expect(await answerOn(socket)).toMatch(/^HTTP\/1\.1 413 [^]*connection: close[^]*body-too-large/i)
    expect(sinks.map(({ discards }) => discards)).toEqual([1])
    expect(sinks[0]?.texts[0]?.length).toBeLessThanOrEqual(mostBytes)
  })

  it('is accepted up to the last byte of the limit', async () => {
    const bare = withData('').length
    expect(await send(withData('A'.repeat(mostBytes - bare)))).toMatchObject({ status: 200 })
    expect(await send(withData('A'.repeat(mostBytes - bare + 1)))).toMatchObject({
      status: 413,
      code: 'body-too-large',
    })
  })

  it('is a 413 if it is large without its data', async () => {
    const body = JSON.stringify({ name: 'x'.repeat(mostRest), images: [{ data: 'A'.repeat(800_000) }] })
    expect(await send(body)).toMatchObject({ status: 413, code: 'body-too-large' })
    expect(sinks.map(({ discards }) => discards)).toEqual([1])
  })

  it('is not decompressed', async () => {
    expect(await send(new Uint8Array(gzipSync(withData('A'))), { 'content-encoding': 'gzip' })).toMatchObject({
      status: 415,
      code: 'unsupported-media-type',
    })
    expect(sinks).toEqual([])
  })

  it.each([
    ['is no JSON from its start', `x${withData('A'.repeat(800_000))}`],
    ['has two data members in one image', `{"images":[{"data":"A","data":"${'A'.repeat(800_000)}"}]}`],
    ['ends too soon', withData('A'.repeat(800_000)).slice(0, -1)],
    [
      'is no UTF-8',
      Buffer.concat([Buffer.from(withData('A'.repeat(800_000)).slice(0, -2)), Buffer.from([0xff, 0x22, 0x7d])]),
    ],
    ['holds U+0000', withData('A').replace('Ada', '\\u0000')],
    ['is nested too deeply', `{"name":${'['.repeat(70)}${']'.repeat(70)}}`],
  ])('that %s is a 400, sent after its end', async (_, body) => {
    expect(await send(typeof body === 'string' ? body : new Uint8Array(body))).toMatchObject({
      status: 400,
      code: 'malformed-body',
    })
    expect(sinks.map(({ discards }) => discards)).toEqual([1])
  })

  it('is refused after its end if its data cannot be stored, and none of it is passed on', async () => {
    expect(await send(withData(`${'A'.repeat(10)}!`, 'B'.repeat(800_000)))).toMatchObject({
      status: 503,
      code: 'object-store-unavailable',
    })
    expect(sinks.map(({ texts, discards }) => [texts, discards])).toEqual([[[''], 1]])
  })

  it('is discarded if the request is refused before its route', async () => {
    expect(await send(withData('AAAA').replace('name', 'unknown'))).toMatchObject({
      status: 400,
      code: 'validation-failed',
    })
    expect(await send(withData('AAAA'), {}, '/echo?a=%00')).toMatchObject({ status: 400, code: 'validation-failed' })
    expect(sinks.map(({ discards }) => discards)).toEqual([1, 1])
  })

  it('is discarded if its sender disconnects', async () => {
    const logged = t.log().length
    const socket = open([`Content-Length: ${mostBytes}`])
    socket.on('error', () => undefined)
    socket.write(withData('A'.repeat(100_000)).slice(0, 90_000))
    await eventually(() => expect(sinks[0]?.texts[0]?.length).toBeGreaterThan(10_000))
    socket.resetAndDestroy()
    await eventually(() => expect(sinks.map(({ discards }) => discards)).toEqual([1]))
    expect(t.log().slice(logged)).not.toContain('request failed')
  })

  it('is parsed by its scope only: form data is refused there as elsewhere', async () => {
    expect(await send('name=x', { 'content-type': 'application/x-www-form-urlencoded' })).toMatchObject({ status: 415 })
    expect(await send('x', { 'content-type': 'text/plain' })).toMatchObject({ status: 415 })
  })
})
