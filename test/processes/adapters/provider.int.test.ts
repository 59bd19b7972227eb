import { afterEach, describe, expect, it } from 'vitest'
import { loadConfiguration } from '../../../platform/configuration.ts'
import { createEgress } from '../../../platform/egress.ts'
import { createProvider, type Provider } from '../../../processes/adapters/provider.ts'
import { startOutsideServer, type Asked, type OutsideServer, type Reply } from '../../support/process-world.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const signal = new AbortController().signal
const newCase: Reply = { status: 200, body: { caseId: 7 } }

/** A provider whose nth login opens session `s<n>`, and the adapter that calls it. */
async function providerThat(answer: (asked: Asked) => Reply | Promise<Reply>, now = () => new Date()) {
  let sessions = 0
  const server = await startOutsideServer((asked) =>
    asked.route === 'POST /api5/login' ? { status: 200, headers: { authorization: `s${++sessions}` } } : answer(asked),
  )
  return { ...adapterOf(server, now), asked: server.asked, logins: () => sessions }
}

function adapterOf(server: OutsideServer, now = () => new Date()): { readonly provider: Provider } {
  const configuration = loadConfiguration({ PROVIDER_BASE_URL: server.url, PROVIDER_LOGIN: 'platform', PROVIDER_PASSWORD: 'secret' })
  const egress = createEgress({ configuration })
  closing.push(() => egress.close(), () => server.close())
  return { provider: createProvider(egress, configuration, now) }
}

describe('a session', () => {
  it('is opened once for all who need one, and used until its time is over', async () => {
    let time = Date.parse('2026-03-01T10:00:00.000Z')
    const { provider, logins } = await providerThat(() => newCase, () => new Date(time))
    await Promise.all([1, 2, 3].map(() => provider.createCase(signal)))
    expect(logins()).toBe(1)
    time += 1_799_000
    await provider.createCase(signal)
    expect(logins()).toBe(1)
    time += 1_000
    await provider.createCase(signal)
    expect(logins()).toBe(2)
  })

  it('that is refused to many calls at once is renewed by one login', async () => {
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
    expect(answers).toEqual([1, 2, 3].map(() => ({ kind: 'ok', value: { providerCaseId: 7 } })))
    expect(logins()).toBe(2)
  })

  it('that another call has renewed is not dropped for a refusal of the one before', async () => {
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
    expect(await slow).toEqual({ kind: 'ok', value: { checksum: 'c' } })
    expect(logins()).toBe(2)
  })

  it('that is refused although it is new ends the call as a matter of credentials', async () => {
    const { provider, asked } = await providerThat(() => ({ status: 401 }))
    expect(await provider.createCase(signal)).toMatchObject({ kind: 'failed', classification: 'provider_auth_failed', status: 401 })
    expect(asked).toEqual(['POST /api5/login', 'POST /api5/case', 'POST /api5/login', 'POST /api5/case'])
  })
})

describe('a login that fails leaves nothing of a case unknown', () => {
  it.each([
    ['is cut off', 'cut', 'provider_upstream_transient', null],
    ['is refused', { status: 401 }, 'provider_auth_failed', 401],
    ['meets a 503', { status: 503 }, 'provider_upstream_transient', 503],
    ['meets a 400', { status: 400 }, 'provider_client_error', 400],
    ['brings no session', { status: 200 }, 'provider_upstream_transient', 200],
  ] as const)('when it %s', async (_, answer, classification, status) => {
    const server = await startOutsideServer(() => answer)
    const { provider } = adapterOf(server)
    const failed = { kind: 'failed', classification, status, isUnknown: false, retryAfterMs: 0 }
    expect(await Promise.all([provider.createCase(signal), provider.createCase(signal)])).toEqual([failed, failed])
    expect(server.asked).toEqual(['POST /api5/login'])
  })
})

it('calls what became of a case unknown where the connection breaks off after the call', async () => {
  const server = await startOutsideServer(({ route }) => (route === 'POST /api5/login' ? { status: 200, headers: { authorization: 's' } } : 'cut'))
  const { provider } = adapterOf(server)
  expect(await provider.createCase(signal)).toMatchObject({ kind: 'failed', classification: 'provider_upstream_transient', status: null, isUnknown: true })
})
