import type { LookupAddress } from 'node:dns'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { loadConfiguration, type Environment } from '../../../platform/configuration/configuration.ts'
import { createEgress, type Egress, type EgressOptions, type EgressRequest } from '../../../platform/outbound/egress.ts'
import { EgressError } from '../../../platform/outbound/egress-error.ts'
import { withinTrace } from '../../../platform/kit/tracing.ts'
import { startTlsFront } from '../../support/tls-front.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function serve(listener: RequestListener): Promise<{ origin: string; port: number; server: Server }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      }),
  )
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { origin: `http://127.0.0.1:${port}`, port, server }
}

function open(env: Environment = {}, options: Partial<EgressOptions> = {}): Egress {
  const egress = createEgress({ configuration: loadConfiguration(env), ...options })
  closers.push(() => egress.close())
  return egress
}

const limits: EgressRequest = { purpose: 'webhook', timeoutMs: 5000, maxBytes: 1000 }
const production = { APP_ENV: 'production' }
const to =
  (...addresses: string[]) =>
  async (): Promise<LookupAddress[]> =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

async function failure(promise: Promise<unknown>): Promise<EgressError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(EgressError)
  return error instanceof EgressError ? error : new EgressError('aborted')
}

function* forever(): Generator<string> {
  for (;;) yield 'x'.repeat(10_000)
}

describe('a call', () => {
  it('sends method, headers and body, streamed or not, and returns the answer', async () => {
    const { origin } = await serve((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () =>
        response
          .writeHead(201, { 'x-seen': `${request.method} ${request.url} ${String(request.headers['x-a'])}` })
          .end(JSON.stringify({ got: Buffer.concat(chunks).toString() })),
      )
    })
    const egress = open()
    for (const body of ['hello', Buffer.from('hello'), Readable.from([Buffer.from('hel'), Buffer.from('lo')])]) {
      const response = await egress.request(`${origin}/p?q=1`, {
        ...limits,
        method: 'POST',
        headers: { 'x-a': 'b' },
        body,
      })
      expect([response.status, response.headers['x-seen'], await response.json()]).toEqual([
        201,
        'POST /p?q=1 b',
        { got: 'hello' },
      ])
    }
  })

  it('follows no redirect', async () => {
    let visits = 0
    const { origin } = await serve((_, response) => {
      visits += 1
      response.writeHead(302, { location: '/other' }).end()
    })
    const response = await open().request(origin, limits)
    await response.discard()
    expect([response.status, visits]).toEqual([302, 1])
  })
})

describe('an unwanted answer', () => {
  it('is read and dropped, so the next call uses its connection', async () => {
    const ports = new Set<number | undefined>()
    const { origin } = await serve((request, response) => {
      ports.add(request.socket.remotePort)
      response.write('x'.repeat(500))
      setImmediate(() => response.end('x'.repeat(400)))
    })
    const egress = open()
    for (let call = 0; call < 3; call += 1) {
      await (await egress.request(origin, limits)).discard()
      // Its connection returns to the pool right after the end of the answer.
      await nextTurn()
    }
    expect(ports.size).toBe(1)
  })

  it('ends its connection if it is long, announced or not, or does not end', async () => {
    const ended: Promise<unknown>[] = []
    const { origin } = await serve((request, response) => {
      ended.push(new Promise((resolve) => response.once('close', resolve)))
      if (request.url === '/announced') response.end('x'.repeat(2_000_000))
      else if (request.url === '/endless')
        Readable.from(forever())
          .on('error', () => undefined)
          .pipe(response)
      else response.write('x')
    })
    const egress = open()
    for (const path of ['/announced', '/endless', '/half']) {
      await (await egress.request(origin + path, { ...limits, timeoutMs: 60_000, maxBytes: 1_000_000 })).discard()
    }
    expect(await Promise.all(ended)).toHaveLength(3)
  })
})

describe('limits', () => {
  it('end an answer that is too large, announced or not', async () => {
    const { origin } = await serve((request, response) => {
      if (request.url === '/announced') response.end('x'.repeat(2000))
      else Readable.from(Array.from({ length: 20 }, () => 'x'.repeat(100))).pipe(response)
    })
    const egress = open()
    for (const path of ['/announced', '/chunked']) {
      const response = await egress.request(origin + path, limits)
      expect((await failure(response.bytes())).code).toBe('body_too_large')
    }
    expect(await (await egress.request(`${origin}/announced`, { ...limits, maxBytes: 2000 })).text()).toHaveLength(2000)
  })

  it('end a call whose answer does not arrive or does not end', async () => {
    const { origin } = await serve((request, response) => {
      if (request.url === '/half') response.write('x')
    })
    const egress = open()
    expect(await failure(egress.request(origin, { ...limits, timeoutMs: 50 }))).toMatchObject({
      code: 'timeout',
      mayHaveBeenSent: true,
    })
    const half = await egress.request(`${origin}/half`, { ...limits, timeoutMs: 100 })
    expect((await failure(half.bytes())).code).toBe('timeout')
  })

  it('end with the caller’s signal', async () => {
    const { origin } = await serve(() => undefined)
    const abort = new AbortController()
    const call = failure(open().request(origin, { ...limits, signal: abort.signal }))
    abort.abort()
    expect((await call).code).toBe('aborted')
  })

  it('end with the caller’s signal for any reason; only a time limit counts against the server', async () => {
    const asked: (string | undefined)[] = []
    const { origin } = await serve((request) => asked.push(request.url))
    const egress = open({}, { breaker: { threshold: 1, openMs: 1000 } })
    const endedBy = async (path: string, reason?: unknown): Promise<EgressError> => {
      const abort = new AbortController()
      const call = failure(egress.request(origin + path, { ...limits, signal: abort.signal }))
      await expect.poll(() => asked).toContain(path)
      abort.abort(reason)
      return call
    }
    const reasons: [string, unknown][] = [
      ['/none', undefined],
      ['/error', new Error('stopping')],
      ['/text', 'stopping'],
      ['/null', null],
      ['/egress', new EgressError('connect')],
    ]
    for (const [path, reason] of reasons)
      expect(await endedBy(path, reason)).toMatchObject({ code: 'aborted', mayHaveBeenSent: true })
    expect(egress.openForMs(origin, 'webhook')).toBe(0)
    expect(await endedBy('/late', new DOMException('too long', 'TimeoutError'))).toMatchObject({
      code: 'timeout',
      mayHaveBeenSent: true,
    })
    expect(egress.openForMs(origin, 'webhook')).toBeGreaterThan(0)
  })
})

describe('a call without a connection yet', () => {
  const never = (): Promise<LookupAddress[]> => new Promise(() => undefined)
  const silent = async (): Promise<string> => {
    const server = createTcpServer((socket) => socket.resume().on('error', () => undefined))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closers.push(async () => void server.close())
    const address = server.address()
    return `https://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/`
  }
  const busy = async (egress: Egress): Promise<string> => {
    const { origin } = await serve(() => undefined)
    const abort = new AbortController()
    const first = failure(egress.request(origin, { ...limits, lane: 'a', timeoutMs: 60_000, signal: abort.signal }))
    closers.push(async () => {
      abort.abort()
      await first
    })
    return origin
  }

  it.each([
    ['its name is being resolved', async () => 'http://hooks.test/'],
    ['its handshake is not answered', silent],
    ['it waits for the connection of another', busy],
  ])('ends unsent at its limit, and at the caller’s signal, while %s', async (_, addressFor) => {
    const egress = open({ WEBHOOK_WORKERS_PER_ENDPOINT: '1' }, { resolve: never })
    const url = await addressFor(egress)
    const abort = new AbortController()
    const patient = failure(egress.request(url, { ...limits, lane: 'a', timeoutMs: 60_000, signal: abort.signal }))
    expect(await failure(egress.request(url, { ...limits, lane: 'a', timeoutMs: 50 }))).toMatchObject({
      code: 'timeout',
      mayHaveBeenSent: false,
    })
    expect(await Promise.race([patient, nextTurn('still waiting')])).toBe('still waiting')
    abort.abort(new Error('stopping'))
    expect(await patient).toMatchObject({ code: 'aborted', mayHaveBeenSent: false })
  })

  it('is never sent after its end', async () => {
    const asked: (string | undefined)[] = []
    const answers: (() => void)[] = []
    const { origin } = await serve((request, response) => {
      asked.push(request.url)
      answers.push(() => void response.end('ok'))
    })
    const egress = open({ WEBHOOK_WORKERS_PER_ENDPOINT: '1' })
    const first = egress.request(`${origin}/1`, { ...limits, lane: 'a' })
    const second = failure(egress.request(`${origin}/2`, { ...limits, lane: 'a', timeoutMs: 50 }))
    const third = egress.request(`${origin}/3`, { ...limits, lane: 'a' })
    await expect.poll(() => answers.length).toBe(1)
    expect(await second).toMatchObject({ code: 'timeout', mayHaveBeenSent: false })
    answers[0]?.()
    expect(await (await first).text()).toBe('ok')
    await expect.poll(() => answers.length).toBe(2)
    answers[1]?.()
    expect(await (await third).text()).toBe('ok')
    expect(asked).toEqual(['/1', '/3'])
  })
})

describe('kinds of failures', () => {
  it('connect, dns, tls', async () => {
    const { origin, port, server } = await serve((_, response) => response.end())
    const egress = open()
    expect((await failure(egress.request(`https://127.0.0.1:${port}/`, limits))).code).toBe('tls')
    await new Promise((resolve) => server.close(resolve))
    expect(await failure(egress.request(origin, limits))).toMatchObject({ code: 'connect', mayHaveBeenSent: false })
    expect((await failure(egress.request('http://nowhere.invalid/', limits))).code).toBe('dns')
  })

  it('a connection that breaks half-way may have been used', async () => {
    const breaking = createTcpServer((socket) => socket.once('data', () => socket.destroy()))
    await new Promise<void>((resolve) => breaking.listen(0, '127.0.0.1', resolve))
    closers.push(() => new Promise((resolve) => breaking.close(resolve)))
    const address = breaking.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    expect(await failure(open().request(`http://127.0.0.1:${port}/`, limits))).toMatchObject({
      code: 'connect',
      mayHaveBeenSent: true,
    })
  })

  it('failures contain neither the address nor the answer', async () => {
    const error = await failure(open().request('http://nowhere.invalid/?identifier=Jane', limits))
    expect(error.message).toBe('dns')
  })
})

describe('guarded addresses', () => {
  const visited: string[] = []
  const listener: RequestListener = (request, response) => {
    visited.push(request.url ?? '')
    response.end('ok')
  }

  it('are not called in production, by number, by name, or by one of several addresses', async () => {
    const { origin, port } = await serve(listener)
    visited.length = 0
    const codes = await Promise.all(
      [
        open(production).request(origin, limits),
        open(production).request(`http://[::ffff:127.0.0.1]:${port}/`, limits),
        open(production, { resolve: to('127.0.0.1') }).request(`http://hooks.test:${port}/`, limits),
        open(production, { resolve: to('8.8.8.8', '10.0.0.1') }).request(`http://hooks.test:${port}/`, limits),
        open({}, { resolve: to('169.254.169.254') }).request('http://metadata.test/', limits),
        open({}).request('http://169.254.169.254/', limits),
        open({}).request('ftp://127.0.0.1/', limits),
        open({}).request(`http://user:pass@127.0.0.1:${port}/`, limits),
        open({}).request('no address', limits),
      ].map(async (call) => (await failure(call)).code),
    )
    expect(new Set(codes)).toEqual(new Set(['address_forbidden']))
    expect(visited).toEqual([])
  })

  it('are checked at each new connection, so a name cannot change to them later', async () => {
    const { port, server } = await serve(listener)
    let answer = '127.0.0.1'
    const egress = open(
      { ...production, EGRESS_ALLOW: '127.0.0.1' },
      { resolve: async () => [{ address: answer, family: 4 }] },
    )
    expect(await (await egress.request(`http://hooks.test:${port}/`, limits)).text()).toBe('ok')
    answer = '127.0.0.2'
    server.closeAllConnections()
    expect(
      (await failure(egress.request(`http://hooks.test:${port}/`, { ...limits, headers: { connection: 'close' } })))
        .code,
    ).toBe('address_forbidden')
  })

  it('are called if EGRESS_ALLOW lists the host', async () => {
    const { port } = await serve(listener)
    const egress = open({ ...production, EGRESS_ALLOW: `hooks.test:${port}` }, { resolve: to('127.0.0.1') })
    expect(await (await egress.request(`http://hooks.test:${port}/`, limits)).text()).toBe('ok')
  })

  it('are called if the configuration names them, for that purpose only', async () => {
    const { origin } = await serve(listener)
    const env = { ...production, PROVIDER_BASE_URL: `${origin}/base`, PROVIDER_LOGIN: 'x', PROVIDER_PASSWORD: 'y' }
    const egress = open(env)
    expect(await (await egress.request(`${origin}/api5`, { ...limits, purpose: 'provider' })).text()).toBe('ok')
    for (const purpose of ['webhook', 'image', 'service'] as const) {
      expect((await failure(egress.request(origin, { ...limits, purpose }))).code).toBe('address_forbidden')
    }
  })
})

describe('held calls', () => {
  it('reach only own services and the own object store, until they are released', async () => {
    const { origin } = await serve((_, response) => response.end('ok'))
    let isHeld = true
    const egress = open({}, { isHeld: () => isHeld })
    const purposes = ['webhook', 'client-keys', 'provider', 'identity', 'mail', 'chat', 'witness'] as const
    for (const purpose of purposes) {
      expect(await failure(egress.request(origin, { ...limits, purpose }))).toMatchObject({
        code: 'circuit_open',
        mayHaveBeenSent: false,
      })
      expect(egress.openForMs(origin, purpose)).toBeGreaterThan(0)
    }
    await expect(egress.connectToMailServer()).rejects.toMatchObject({ code: 'circuit_open' })
    for (const purpose of ['service', 'image'] as const)
      expect(await (await egress.request(origin, { ...limits, purpose })).text()).toBe('ok')
    isHeld = false
    expect(egress.openForMs(origin, 'webhook')).toBe(0)
    expect(await (await egress.request(origin, { ...limits, purpose: 'webhook' })).text()).toBe('ok')
  })
})

describe('the circuit', () => {
  it('opens after consecutive failures, lets one trial through, and closes on its success', async () => {
    const { origin, server } = await serve((_, response) => response.end('ok'))
    let now = 0
    const egress = open({}, { breaker: { threshold: 2, openMs: 1000 }, now: () => now })
    const port = Number(new URL(origin).port)
    await new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
    for (let index = 0; index < 2; index += 1)
      expect((await failure(egress.request(origin, limits))).code).toBe('connect')
    expect(await failure(egress.request(origin, limits))).toMatchObject({
      code: 'circuit_open',
      retryAfterMs: 1000,
      mayHaveBeenSent: false,
    })
    now = 1000
    expect((await failure(egress.request(origin, limits))).code).toBe('connect')
    expect((await failure(egress.request(origin, limits))).code).toBe('circuit_open')
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    now = 2000
    const [trial, meanwhile] = await Promise.allSettled([
      egress.request(origin, limits),
      egress.request(origin, limits),
    ])
    expect([trial.status, meanwhile.status]).toEqual(['fulfilled', 'rejected'])
    expect(await (await egress.request(origin, limits)).text()).toBe('ok')
  })

  it('is separate per purpose: failures of webhooks at a host block no other call to it', async () => {
    const breaking = createTcpServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => breaking.listen(0, '127.0.0.1', resolve))
    const address = breaking.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const url = `http://127.0.0.1:${port}/`
    const egress = open({}, { breaker: { threshold: 2, openMs: 1000 }, now: () => 0 })
    for (let index = 0; index < 2; index += 1) await failure(egress.request(url, limits))
    await new Promise((resolve) => breaking.close(resolve))
    const healthy = createServer((_, response) => response.end('ok'))
    await new Promise<void>((resolve) => healthy.listen(port, '127.0.0.1', resolve))
    closers.push(
      () =>
        new Promise((resolve) => {
          healthy.close(resolve)
          healthy.closeAllConnections()
        }),
    )
    expect((await failure(egress.request(url, limits))).code).toBe('circuit_open')
    for (const purpose of ['image', 'service', 'provider'] as const) {
      expect(egress.openForMs(url, purpose)).toBe(0)
      expect(await (await egress.request(url, { ...limits, purpose })).text()).toBe('ok')
    }
    // Successes of webhooks do not close it either.
    expect(egress.openForMs(url, 'webhook')).toBe(1000)
  })

  it('is separate per concurrency key: failures of one caller at a host block no other caller', async () => {
    const { origin } = await serve((request, response) => {
      if (request.url === '/dead') request.socket.destroy()
      else response.end('ok')
    })
    const egress = open({}, { breaker: { threshold: 2, openMs: 1000 }, now: () => 0 })
    for (let index = 0; index < 2; index += 1) await failure(egress.request(`${origin}/dead`, { ...limits, lane: 'a' }))
    expect((await failure(egress.request(`${origin}/alive`, { ...limits, lane: 'a' }))).code).toBe('circuit_open')
    expect([
      egress.openForMs(origin, 'webhook', 'a'),
      egress.openForMs(origin, 'webhook', 'b'),
      egress.openForMs(origin, 'webhook'),
    ]).toEqual([1000, 0, 0])
    expect(await (await egress.request(`${origin}/alive`, { ...limits, lane: 'b' })).text()).toBe('ok')
  })

  it('has separate connections per concurrency key, so hanging calls of one block no other', async () => {
    const hanging: string[] = []
    const { origin } = await serve((request, response) => {
      if (request.url === '/hang') hanging.push(request.url)
      else response.end('ok')
    })
    const egress = open({ WEBHOOK_WORKERS_PER_ENDPOINT: '2' })
    const abort = new AbortController()
    const calls = Array.from({ length: 5 }, () =>
      failure(egress.request(`${origin}/hang`, { ...limits, lane: 'a', timeoutMs: 60_000, signal: abort.signal })),
    )
    await expect(
      egress.request(`${origin}/ok`, { ...limits, lane: 'b' }).then((response) => response.text()),
    ).resolves.toBe('ok')
    await expect.poll(() => hanging.length).toBe(2)
    abort.abort()
    expect((await Promise.all(calls)).map(({ code }) => code)).toEqual(Array.from({ length: 5 }, () => 'aborted'))
    expect(hanging).toHaveLength(2)
  })

  it('can be queried without taking its trial', async () => {
    const { origin, server } = await serve((_, response) => response.end('ok'))
    let now = 0
    const egress = open({}, { breaker: { threshold: 1, openMs: 1000 }, now: () => now })
    const port = Number(new URL(origin).port)
    await new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
    await failure(egress.request(origin, limits))
    expect(egress.openForMs(`${origin}/any?path`, 'webhook')).toBe(1000)
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    now = 1000
    expect([egress.openForMs(origin, 'webhook'), egress.openForMs(origin, 'webhook')]).toEqual([0, 0])
    expect(await (await egress.request(origin, limits)).text()).toBe('ok')
  })

  it('stays closed for answers of any status, and for refused addresses', async () => {
    const { origin } = await serve((_, response) => response.writeHead(500).end())
    const egress = open({}, { breaker: { threshold: 2, openMs: 1000 } })
    for (let index = 0; index < 4; index += 1) {
      const response = await egress.request(origin, limits)
      await response.discard()
      expect(response.status).toBe(500)
    }
    for (let index = 0; index < 4; index += 1)
      expect((await failure(egress.request('http://169.254.169.254/', limits))).code).toBe('address_forbidden')
  })
})

describe('the trace of a request', () => {
  it('continues in calls to providers, mail APIs, webhooks and own services, and in no other call', async () => {
    const { origin } = await serve((request, response) => response.end(String(request.headers['traceparent'])))
    const named = ['provider', 'mail', 'webhook', 'service'] as const
    const others = ['identity', 'chat', 'client-keys', 'image', 'witness', 'traces'] as const
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const egress = open()
    const sent = async (purpose: EgressRequest['purpose']) =>
      (await egress.request(origin, { ...limits, purpose })).text()
    for (const purpose of named) {
      expect(await withinTrace(traceparent, () => sent(purpose))).toBe(traceparent)
      expect(await sent(purpose)).toBe('undefined')
    }
    for (const purpose of others) expect(await withinTrace(traceparent, () => sent(purpose))).toBe('undefined')
  })
})

describe('an untrusted certificate', () => {
  it.each([
    ['provider', 'PROVIDER_BASE_URL'],
    ['identity', 'KEYCLOAK_BASE_URL'],
    ['chat', 'SLACK_API_URL'],
  ] as const)('of a %s is named with its variable and what to set', async (purpose, variable) => {
    const front = await startTlsFront('http://127.0.0.1:1')
    closers.push(() => front.close())
    const lines: unknown[] = []
    const log = (fields: unknown): void => void lines.push(fields)
    const egress = open({}, { logger: { debug: log, info: log, warn: log, error: log } })
    expect((await failure(egress.request(front.url, { ...limits, purpose }))).code).toBe('tls')
    expect(lines).toEqual([
      {
        component: 'egress',
        reason: expect.stringMatching(
          new RegExp(
            `^the certificate of the server of ${variable} is not trusted \\([A-Z_]+\\): set NODE_EXTRA_CA_CERTS to the file of its authority$`,
          ),
        ),
      },
    ])
  })
})
