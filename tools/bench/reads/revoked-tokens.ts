import { randomUUID } from 'node:crypto'
import { oauthClients } from '../../../streams/oauth-client/aggregate.ts'
import type { OauthClientEvent } from '../../../streams/oauth-client/events.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { gets, type HttpJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'

const inFlight = 16
const perAppend = 500
const hourMs = 3_600_000

/** Requests with a token against a platform where many tokens were revoked, and against one where none was. */
export const revokedTokens: Benchmark = {
  name: 'revoked-tokens',
  goals: ['16'],
  about: 'verified requests with 100,000 revoked tokens over none, 16 connections',
  run: async ({ quick }, { compare }) => {
    const [count, revocations] = quick ? [1_000, 10_000] : [20_000, 100_000]
    await withScope(async ({ folder, started }) => {
      const none = await started(startBenchPlatform({ folder: `${folder}/none`, roles: ['api', 'projector'] }))
      const many = await started(startBenchPlatform({ folder: `${folder}/many`, roles: ['api', 'projector'] }))
      await revoke(many, revocations)
      const driver = await started(startDriver())
      const measure = (platform: BenchPlatform) => async () => (await driver.run(requestsTo(platform, count))).perSecond
      await compare(
        single({
          goalNumber: '16',
          name: `GET with a token, ${revocations.toLocaleString('en')} revoked`,
          unit: 'per second',
          ours: { name: 'revoked', measure: measure(many) },
          other: { name: 'none revoked', measure: measure(none) },
          goal: atLeast(0.95),
        }),
      )
    })
  },
}

/** The cheapest route that verifies a token: the catalogue of body sites is in memory. */
function requestsTo({ baseUrl, headers }: BenchPlatform, count: number): HttpJob {
  return gets({
    baseUrl,
    paths: ['/v1/clinical-api/body-sites?limit=1'],
    headers,
    count,
    inFlight,
  })
}

/** Tokens of the client whose token the requests carry. The last one is a token of its own, which must be refused. */
async function revoke(platform: BenchPlatform, count: number): Promise<void> {
  const clientId = platform.credentials.clients[0]?.client_id ?? ''
  const target = oauthClients.of(clientId)
  const expiresAt = new Date(Date.now() + hourMs).toISOString()
  const revokedAt = new Date().toISOString()
  for (let done = 0; done < count; done += perAppend) {
    const events = Array.from({ length: perAppend }, (): OauthClientEvent => {
      return { type: 'OauthTokenRevoked', data: { clientId, jti: randomUUID(), expiresAt, revokedAt } }
    })
    const { revision } = await platform.store.load(target)
    const commandId = randomUUID()
    await platform.store.append(target, revision, events, { commandId, correlationId: commandId, clientId: 'bench' })
  }
  await untilFollowed(platform)
}

/** Revokes a last token and waits until the API refuses it: it then has every earlier revocation. */
async function untilFollowed({ baseUrl, credentials, headers }: BenchPlatform): Promise<void> {
  const [client] = credentials.clients
  if (client === undefined) throw new Error('the credentials contain no client')
  const form = (members: Readonly<Record<string, string>>) =>
    new URLSearchParams({ client_id: client.client_id, client_secret: client.client_secret, ...members })
  const post = (path: string, members: Readonly<Record<string, string>>) =>
    fetch(`${baseUrl}/v1/auth/oauth/${path}`, { method: 'POST', body: form(members) })
  const issued = await post('token', { grant_type: 'client_credentials' })
  const { access_token: last } = (await issued.json()) as { readonly access_token: string }
  const revoked = await post('revoke', { token: last })
  if (revoked.status !== 200) throw new Error(`the revocation was answered ${revoked.status}`)
  const statusOf = async (authorization: string) =>
    (await fetch(`${baseUrl}/v1/clinical-api/body-sites?limit=1`, { headers: { authorization } })).status
  for (let left = 600; (await statusOf(`Bearer ${last}`)) !== 401; left -= 1) {
    if (left === 0) throw new Error('the revoked token is still accepted')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const own = await statusOf(headers['authorization'] ?? '')
  if (own !== 200) throw new Error(`the token of the requests is answered ${own}`)
}
