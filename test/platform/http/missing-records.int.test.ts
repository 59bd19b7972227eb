import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { answers } from '../../../platform/http/answers.ts'
import type { Service } from '../../../platform/http/service.ts'
import { problem } from '../../../platform/http/problems.ts'
import { startApplication } from './test-application.ts'

/** A read model that gets the record while it catches up, or never. */
async function answerOf(readModel: { isBehind: boolean; catchesUp: boolean; hasRecord: boolean }) {
  const asked: string[] = []
  let isThere = false
  const service: Service = {
    prefix: 'clinical-api',
    documentedAt: 'prefixed',
    routes: (app) => {
      app.get(
        '/notes/:id',
        {
          schema: {
            operationId: 'getNote',
            summary: 'A note',
            params: Type.Object({ id: Type.String() }),
            response: answers({ 200: Type.Object({ ok: Type.Boolean() }) }),
          },
          config: { access: 'token', servedBy: ['notes'] },
        },
        async () => {
          if (!isThere) throw problem('not-found')
          return { ok: true }
        },
      )
    },
  }
  const application = await startApplication({
    services: [service],
    isCurrent: async (projector) => {
      asked.push(projector)
      isThere = readModel.catchesUp && readModel.hasRecord
      return !readModel.isBehind || readModel.catchesUp
    },
  })
  const { statusCode, headers, body } = await application.app.inject({
    url: '/v1/clinical-api/notes/1',
    headers: await application.token(),
  })
  await application.app.close()
  return { status: statusCode, retryAfter: headers['retry-after'], code: /"code":"([^"]+)"/.exec(body)?.[1], asked }
}

test('answers 404 if a current read model lacks the record', async () => {
  expect(await answerOf({ isBehind: false, catchesUp: false, hasRecord: false })).toEqual({
    status: 404,
    retryAfter: undefined,
    code: 'not-found',
    asked: ['notes'],
  })
})

test('answers read-model-behind if the read model is behind', async () => {
  expect(await answerOf({ isBehind: true, catchesUp: false, hasRecord: true })).toEqual({
    status: 503,
    retryAfter: '1',
    code: 'read-model-behind',
    asked: ['notes'],
  })
})

test.each([
  ['not for a refusal of the request', 'validation-failed', [400, undefined]],
  ['not for a read model that is behind', 'read-model-behind', [503, undefined]],
  ['for an answer that there is no record', 'not-found', [404, '1234']],
] as const)('X-Projection-Lag-Ms: %s', async (_, code, expected) => {
  const service: Service = {
    prefix: 'clinical-api',
    documentedAt: 'prefixed',
    routes: (app) => {
      app.get(
        '/notes',
        {
          schema: {
            operationId: 'refuse',
            summary: 'Refuses',
            response: answers({ 200: Type.Object({}) }, ['validation-failed', 'not-found']),
          },
          config: { access: 'token', servedBy: ['notes'] },
        },
        async () => {
          throw problem(code)
        },
      )
    },
  }
  const application = await startApplication({
    services: [service],
    readYourWrites: async () => ({ caughtUp: false, lagMs: 1234 }),
  })
  const { app } = application
  const { statusCode, headers } = await app.inject({
    url: '/v1/clinical-api/notes',
    headers: { ...(await application.token()), 'x-min-commit-position': '9/9' },
  })
  const { paths } = (await app.inject({ url: '/openapi.json' })).json<{
    paths: Record<string, { get: { responses: Record<string, { headers?: object }> } }>
  }>()
  await app.close()
  expect([statusCode, headers['x-projection-lag-ms']]).toEqual(expected)
  const declared = Object.keys(paths['/v1/clinical-api/notes']?.get.responses[statusCode]?.headers ?? {})
  expect(declared.includes('X-Projection-Lag-Ms')).toBe(expected[1] !== undefined)
})

test('returns a record that arrives while the answer waits', async () => {
  expect(await answerOf({ isBehind: true, catchesUp: true, hasRecord: true })).toEqual({
    status: 200,
    retryAfter: undefined,
    code: undefined,
    asked: ['notes'],
  })
})
