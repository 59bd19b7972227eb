import { Readable } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { loadConfiguration, type Configuration } from '../../../platform/configuration/configuration.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { createProvider, type Provider } from '../../../processes/adapters/provider.ts'
import { startOutsideServer, type Asked, type OutsideServer, type Reply } from '../../support/process-world.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const signal = new AbortController().signal
const newCase: Reply = { status: 200, body: { caseId: 7 } }

/** A provider whose nth login opens session `s<n>`, and the adapter that calls it. */
async function providerThat(answer: (asked: Asked) => Reply | 'cut' | Promise<Reply | 'cut'>, now = () => new Date()) {
  let sessions = 0
  const server = await startOutsideServer((asked) =>
    asked.route === 'POST /api5/login' ? { status: 200, headers: { authorization: `s${++sessions}` } } : answer(asked),
  )
  return { ...adapterOf(server, now), asked: server.asked, logins: () => sessions }
}

function adapterOf(
  server: OutsideServer,
  now = () => new Date(),
  settings: Partial<Configuration> = {},
): { readonly provider: Provider } {
  const named = loadConfiguration({
    PROVIDER_BASE_URL: server.url,
    PROVIDER_LOGIN: 'platform',
    PROVIDER_PASSWORD: 'secret',
    PROVIDER_NAME: 'dermatology',
  })
  const configuration = { ...named, ...settings }
  const egress = createEgress({ configuration })
  closing.push(
    () => egress.close(),
    () => server.close(),
  )
  return { provider: createProvider(egress, configuration, now) }
}

describe('a session', () => {
  it('is opened once for all calls, and used until its lifetime ends', async () => {
    let time = Date.parse('2026-03-01T10:00:00.000Z')
    const { provider, logins } = await providerThat(
      () => newCase,
      () => new Date(time),
    )
    await Promise.all([1, 2, 3].map(() => provider.createCase(signal)))
    expect(logins()).toBe(1)
    time += 1_799_000
    await provider.createCase(signal)
    expect(logins()).toBe(1)
    time += 1_000
    await provider.createCase(signal)
    expect(logins()).toBe(2)
  })

  it('that many calls find refused at once is renewed by one login', async () => {
    let refused = 0
    const all = Promise.withResolvers<void>()
    const { provider, logins } = await providerThat(async ({ token }) => {
      if (token !== 's1') return newCase
      refused += 1
      if (refused === 3) all.resolve()
      await all.promise
      return { status: 401 }
    })
    const answers = await Promise.all([1, 2, 3].map(() => provider.createCase(signal)))
    expect(answers).toEqual([1, 2, 3].map(() => ({ kind: 'ok', status: 200, value: { providerCaseId: 7 } })))
    expect(logins()).toBe(2)
  })

  it('that another call has renewed is kept when a call with the session before it is refused', async () => {
    const arrived = Promise.withResolvers<void>()
    const renewed = Promise.withResolvers<void>()
    const { provider, logins } = await providerThat(async ({ route, token }) => {
      if (token !== 's1') return route.endsWith('/process') ? { status: 200, body: { checksum: 'c' } } : newCase
      if (!route.endsWith('/process')) return { status: 401 }
      arrived.resolve()
      await renewed.promise
      return { status: 401 }
    })
    const slow = provider.process(7, signal)
    await arrived.promise
    expect(await provider.createCase(signal)).toMatchObject({ kind: 'ok' })
    renewed.resolve()
    expect(await slow).toEqual({ kind: 'ok', status: 200, value: { checksum: 'c' } })
    expect(logins()).toBe(2)
  })

  it('that is refused although it is new ends the call with an authentication error', async () => {
    const { provider, asked } = await providerThat(() => ({ status: 401 }))
    expect(await provider.createCase(signal)).toMatchObject({
      kind: 'failed',
      classification: 'provider_auth_failed',
      status: 401,
    })
    expect(asked).toEqual(['POST /api5/login', 'POST /api5/case', 'POST /api5/login', 'POST /api5/case'])
  })

  it('is opened by a second login when the first is refused, for all waiting calls', async () => {
    let logins = 0
    const server = await startOutsideServer(({ route }) => {
      if (route !== 'POST /api5/login') return newCase
      logins += 1
      return logins === 1 ? { status: 401 } : { status: 200, headers: { authorization: 's2' } }
    })
    const { provider } = adapterOf(server)
    const answers = await Promise.all([1, 2].map(() => provider.createCase(signal)))
    expect(answers).toEqual([1, 2].map(() => ({ kind: 'ok', status: 200, value: { providerCaseId: 7 } })))
    expect(server.asked).toEqual(['POST /api5/login', 'POST /api5/login', 'POST /api5/case', 'POST /api5/case'])
  })

  it('ends the call with an authentication error when the login after a refused call is refused too', async () => {
    let logins = 0
    const server = await startOutsideServer(({ route }) => {
      if (route !== 'POST /api5/login') return { status: 401 }
      logins += 1
      return logins === 1 ? { status: 200, headers: { authorization: 's1' } } : { status: 401 }
    })
    const { provider } = adapterOf(server)
    expect(await provider.createCase(signal)).toMatchObject({
      kind: 'failed',
      classification: 'provider_auth_failed',
      status: 401,
    })
    expect(server.asked).toEqual(['POST /api5/login', 'POST /api5/case', 'POST /api5/login'])
  })
})

describe('a logout', () => {
  /** The token of each logout, in order. */
  async function loggingOut(answer: (asked: Asked) => Reply | 'cut' | Promise<Reply | 'cut'> = () => newCase) {
    const tokens: string[] = []
    let time = Date.parse('2026-03-01T10:00:00.000Z')
    const given = await providerThat(
      (asked) => {
        if (asked.route === 'POST /api5/logout') tokens.push(asked.token)
        return answer(asked)
      },
      () => new Date(time),
    )
    return { ...given, tokens, pass: (seconds: number) => (time += seconds * 1000) }
  }

  it('is sent when a session is replaced after its lifetime, and at the stop', async () => {
    const { provider, tokens, pass } = await loggingOut()
    await provider.createCase(signal)
    pass(1800)
    await provider.createCase(signal)
    await provider.close()
    expect(tokens.toSorted()).toEqual(['s1', 's2'])
  })

  it('waits for the calls that still use the session', async () => {
    const arrived = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    const { provider, tokens, asked, pass } = await loggingOut(async ({ route }) => {
      if (!route.endsWith('/process')) return newCase
      arrived.resolve()
      await answered.promise
      return { status: 200, body: { checksum: 'c' } }
    })
    const slow = provider.process(7, signal)
    await arrived.promise
    pass(1800)
    await provider.createCase(signal)
    expect(tokens).toEqual([])
    answered.resolve()
    expect(await slow).toEqual({ kind: 'ok', status: 200, value: { checksum: 'c' } })
    await provider.close()
    expect(tokens.toSorted()).toEqual(['s1', 's2'])
    expect(asked.indexOf('POST /api5/logout')).toBeGreaterThan(asked.indexOf('POST /api5/case'))
  })

  it('is not sent for a refused session, nor at a stop without a session', async () => {
    const { provider, tokens } = await loggingOut(({ token }) => (token === 's1' ? { status: 401 } : newCase))
    await provider.close()
    await provider.createCase(signal)
    await provider.close()
    await provider.close()
    expect(tokens).toEqual(['s2'])
  })

  it('without an answer delays the stop by about a second and fails nothing', { timeout: 10_000 }, async () => {
    const { provider } = await loggingOut(({ route }) =>
      route === 'POST /api5/logout' ? new Promise<never>(() => undefined) : newCase,
    )
    await provider.createCase(signal)
    expect(await provider.close()).toBeUndefined()
  })

  it('that is cut off prevents no other call', async () => {
    const { provider, pass } = await loggingOut(({ route }) => (route === 'POST /api5/logout' ? 'cut' : newCase))
    for (let session = 1; session <= 8; session += 1) {
      expect(await provider.createCase(signal)).toMatchObject({ kind: 'ok' })
      pass(1800)
    }
    await provider.close()
    expect(provider.openForMs()).toBe(0)
  })
})

describe('the simulator', () => {
  const mark = { 'x-provider-simulator': 'true' }
  const simulated = ({ route }: Asked): Reply =>
    route === 'POST /api5/login'
      ? { status: 200, headers: { ...mark, authorization: 's' } }
      : { status: 200, headers: mark, body: { caseId: 7 } }

  it.each([
    ['another server', {}, 'provider', 'dermatology'],
    ['the simulator', mark, 'simulator', 'simulator'],
  ])('names the results of %s', async (_, headers, kind, aiProvider) => {
    const { provider } = await providerThat(() => ({ status: 200, headers, body: { status: 'STATUS_PROCESSED' } }))
    expect(provider.server()).toBe('unknown')
    expect(await provider.result(7, 'c', signal)).toEqual({
      kind: 'ok',
      status: 200,
      value: { text: '{"status":"STATUS_PROCESSED"}', aiProvider },
    })
    expect(provider.server()).toBe(kind)
  })

  it('is detected without a login', async () => {
    const server = await startOutsideServer(() => ({ status: 404, headers: mark }))
    const { provider } = adapterOf(server)
    await provider.identify(signal)
    expect([provider.server(), server.asked]).toEqual(['simulator', ['HEAD /api5/login']])
  })

  it('is refused in production at its first answer, before it opens a case', async () => {
    const server = await startOutsideServer(simulated)
    const { provider } = adapterOf(server, undefined, { profile: 'production' })
    expect(await provider.createCase(signal)).toMatchObject({
      kind: 'failed',
      classification: 'provider_upstream_transient',
      status: null,
      isUnknown: false,
    })
    expect([provider.server(), server.asked]).toEqual(['simulator', ['POST /api5/login']])
  })

  it('is refused in production when it takes the place of the provider during a session', async () => {
    let isReplaced = false
    const { provider } = await (async () => {
      const server = await startOutsideServer((asked) =>
        isReplaced ? simulated(asked) : { status: 200, headers: { authorization: 's' }, body: { caseId: 7 } },
      )
      return adapterOf(server, undefined, { profile: 'production' })
    })()
    expect(await provider.createCase(signal)).toMatchObject({ kind: 'ok' })
    isReplaced = true
    expect(await provider.result(7, 'c', signal)).toMatchObject({
      kind: 'failed',
      classification: 'provider_upstream_transient',
    })
  })
})

describe('a login that fails leaves no doubt about a case', () => {
  it.each([
    ['is cut off', 'cut', 'provider_upstream_transient', null, 1],
    ['is refused twice', { status: 401 }, 'provider_auth_failed', 401, 2],
    ['meets a 503', { status: 503 }, 'provider_upstream_transient', 503, 1],
    ['meets a 400', { status: 400 }, 'provider_client_error', 400, 1],
    ['brings no session', { status: 200 }, 'provider_upstream_transient', 200, 1],
  ] as const)('when it %s', async (_, answer, classification, status, logins) => {
    const server = await startOutsideServer(() => answer)
    const { provider } = adapterOf(server)
    const failed = { kind: 'failed', classification, status, isUnknown: false, retryAfterMs: 0 }
    expect(await Promise.all([provider.createCase(signal), provider.createCase(signal)])).toEqual([failed, failed])
    expect(server.asked).toEqual(Array.from({ length: logins }, () => 'POST /api5/login'))
  })
})

it('reports an unknown outcome when the connection ends after the call was sent', async () => {
  const server = await startOutsideServer(({ route }) =>
    route === 'POST /api5/login' ? { status: 200, headers: { authorization: 's' } } : 'cut',
  )
  const { provider } = adapterOf(server)
  expect(await provider.createCase(signal)).toMatchObject({
    kind: 'failed',
    classification: 'provider_upstream_transient',
    status: null,
    isUnknown: true,
  })
})

describe('a checksum that cannot be recorded, or sent back,', () => {
  const long = 'c'.repeat(1_025)

  it.each([
    ['too long', long],
    ['half of a surrogate pair', '\ud800'],
    ['a number', 7],
  ])('counts as no answer of the agreed form: %s', async (_, checksum) => {
    const { provider } = await providerThat(() => ({ status: 200, body: { checksum } }))
    expect(await provider.process(7, signal)).toMatchObject({
      kind: 'failed',
      classification: 'provider_upstream_transient',
      isUnknown: true,
    })
  })

  it('is left out as the hash of an image', async () => {
    const { provider } = await providerThat(() => ({ status: 200, body: { imageId: 71, hash: long } }))
    const upload = {
      providerCaseId: 7,
      imageType: 'MACROSCOPIC',
      correlationId: null,
      contentType: 'image/jpeg',
    } as const
    const sent = await provider.sendImage({ ...upload, bytes: 5, open: async () => Readable.from(['bytes']) }, signal)
    expect(sent).toMatchObject({ kind: 'ok', value: { providerImageId: 71, providerImageHash: null } })
  })
})
