import { randomBytes, randomUUID } from 'node:crypto'
import { actorContext, textAt } from '../../../app/demo/members.ts'
import { createApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { bearerOf } from '../commands/assessments.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { gets, type HttpJob, type SelectJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'

const inFlight = 16
const roles = ['api', 'projector', 'processor'] as const
const adminSecret = randomBytes(32).toString('hex')
const users = 20
const cheapest = '/v1/clinical-api/body-sites?limit=1'

/** The context of a user, and requests whose actor is looked up. */
export const actorContexts: Benchmark = {
  name: 'actor-contexts',
  goals: ['17', '18'],
  about: 'contexts of 20 users over selects by primary key; requests with resolved over trusted actors, 16 connections',
  run: async ({ quick }, { compare }) => {
    const count = quick ? 1_000 : 20_000
    await withScope(async ({ folder, started }) => {
      const env = { ADMIN_API_SECRET: adminSecret }
      const trust = await started(startBenchPlatform({ folder: `${folder}/trust`, roles, env }))
      const resolve = await started(
        startBenchPlatform({ folder: `${folder}/resolve`, roles, env: { ...env, ACTOR_CONTEXT_MODE: 'resolve' } }),
      )
      const actors = { trust: await givenActors(trust), resolve: await givenActors(resolve) }
      await requireResolved(resolve)
      const driver = await started(startDriver())
      const measure = (job: HttpJob | SelectJob) => async () => (await driver.run(job)).perSecond
      const requests = ({ baseUrl, headers }: BenchPlatform, context: string): HttpJob =>
        gets({ baseUrl, paths: [cheapest], headers: { ...headers, 'x-actor-context': context }, count, inFlight })
      const { baseUrl, headers, databaseUrl } = trust
      const contexts = gets({ baseUrl, headers, paths: actors.trust.userIds.map(contextPath), count, inFlight })
      const sql = 'select * from users.users where user_id = $1'
      const select: SelectJob = { kind: 'select', databaseUrl, sql, ids: actors.trust.userIds, count, inFlight }
      await compare(
        single({
          goalNumber: '17',
          name: `GET /users/{id}/context, ${inFlight} connections`,
          unit: 'per second',
          ours: { name: 'platform', measure: measure(contexts) },
          other: { name: 'select', measure: measure(select) },
          goal: atLeast(0.3),
        }),
      )
      await compare(
        single({
          goalNumber: '18',
          name: 'GET with an actor, resolved over trusted',
          unit: 'per second',
          ours: { name: 'resolve', measure: measure(requests(resolve, actors.resolve.context)) },
          other: { name: 'trust', measure: measure(requests(trust, actors.trust.context)) },
          goal: atLeast(0.9),
        }),
      )
    })
  },
}

function contextPath(userId: string): string {
  return `/v1/user-management/users/${userId}/context`
}

interface Actors {
  readonly userIds: readonly string[]
  /** X-Actor-Context of the first one. */
  readonly context: string
}

/** Users with a role in the client's organisation, when their contexts can be read. */
async function givenActors(platform: BenchPlatform): Promise<Actors> {
  const { baseUrl, credentials } = platform
  const organisationId = credentials.org_id
  const api = createApiClient(baseUrl, bearerOf(platform))
  const create = async (what: string, body: object) => {
    const request = { body: { ...body, organisationId }, headers: { 'x-admin-api-secret': adminSecret } }
    return textAt((await expecting(201, api.call(`/v1/user-management/admin/${what}`, request))).body, 'id')
  }
  await create('roles', { name: 'Administrator', isDefault: true, permissions: ['users:admin'] })
  const userIds: string[] = []
  for (let number = 1; number <= users; number += 1) {
    const user = { email: `bench-${number}@example.org`, displayName: 'Ada Example', userType: 'admin' }
    userIds.push(await create('users', user))
  }
  for (const userId of userIds) await expecting(200, api.call(contextPath(userId)))
  return { userIds, context: contextOf(organisationId, userIds[0] ?? '') }
}

/** An unsigned context of another user than the demo's. */
function contextOf(orgId: string, userId: string): string {
  const [head = '', claims = ''] = actorContext(orgId, []).split('.')
  const changed = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), user_id: userId }
  return `${head}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}.`
}

/** A context of a user whom nobody knows is refused. Otherwise the requests would measure something else. */
async function requireResolved({ baseUrl, headers, credentials }: BenchPlatform): Promise<void> {
  const forged = contextOf(credentials.org_id, randomUUID())
  const { status } = await fetch(`${baseUrl}${cheapest}`, { headers: { ...headers, 'x-actor-context': forged } })
  if (status === 200) throw new Error('an unknown actor is accepted')
}
