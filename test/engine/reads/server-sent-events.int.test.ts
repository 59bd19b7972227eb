import { afterEach, expect, it } from 'vitest'
import { answerWithStream, openStream } from '../../../engine/reads/server-sent-events.ts'
import { countStreams } from '../../../engine/reads/open-streams.ts'
import type { ActorContext } from '../../../platform/http/actor-context.ts'
import { problem, type ProblemCode } from '../../../platform/http/problems.ts'
import type { Service } from '../../../platform/http/service.ts'
import { orgA, startApplication, type TestApplication } from '../../platform/http/test-application.ts'

const streams = countStreams()

const service: Service = {
  prefix: 'operations',
  documentedAt: 'prefixed',
  routes(app) {
    app.get(
      '/endless',
      { schema: { hide: true }, config: { access: { scopes: ['things:read'], alsoOfActor: true } } },
      async (request, reply) => {
        const stream = openStream(request, reply, { streams })
        async function* parts() {
          yield ': begun\n\n'
          await new Promise<void>((resolve) => stream.signal.addEventListener('abort', () => resolve()))
        }
        return answerWithStream(reply, parts(), stream)
      },
    )
  },
}

const permissions = new Set(['things:read'])
let refusal: ProblemCode | undefined
let looks = 0

async function resolve(selected: Pick<ActorContext, 'userId' | 'orgId'>): Promise<ActorContext> {
  looks += 1
  if (refusal !== undefined) throw problem(refusal)
  return { ...selected, userType: 'clinician', role: null, permissions, productIds: [] }
}

let t: TestApplication
afterEach(async () => {
  streams.close()
  await t.app.close()
})

it('an event stream ends when its actor loses a permission, and goes on while nobody knows the permissions', async () => {
  t = await startApplication({ env: { ACTOR_CONTEXT_MODE: 'resolve' }, resolve, services: [service] })
  const address = await t.app.listen({ host: '127.0.0.1', port: 0 })
  const claims = Buffer.from(JSON.stringify({ user_id: 'user-1', org_id: orgA })).toString('base64url')
  const headers = {
    ...(await t.token({ scopes: ['things:read'], trustedActorContext: true })),
    'x-actor-context': `e30.${claims}.`,
  }
  const { body } = await fetch(`${address}/v1/operations/endless`, { headers })
  if (body === null) throw new Error('there is no stream')
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  expect(await reader.read()).toEqual({ done: false, value: ': begun\n\n' })
  refusal = 'actor-context-unavailable'
  const ended = reader.read()
  const seen = looks
  await expect.poll(() => looks, { timeout: 20_000 }).toBeGreaterThan(seen + 1)
  refusal = undefined
  expect(await Promise.race([ended, Promise.resolve('open')])).toBe('open')
  permissions.clear()
  expect(await ended).toEqual({ done: true, value: undefined })
})
