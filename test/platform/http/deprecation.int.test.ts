import { Type } from 'typebox'
import { expect, it } from 'vitest'
import { answers } from '../../../platform/http/answers.ts'
import { problem } from '../../../platform/http/problems.ts'
import type { Service } from '../../../platform/http/service.ts'
import { startApplication } from './test-application.ts'

const deprecation = { since: new Date('2026-03-01T00:00:00Z'), sunset: new Date('2026-09-01T00:00:00Z') }
const Thing = Type.Object({ id: Type.String() }, { $id: 'Thing' })
const schema = (operationId: string) => ({ operationId, summary: 'A thing', response: answers({ 200: Thing }) })
const planted: Service = {
  prefix: 'clinical-api',
  documentedAt: 'prefixed',
  routes(app) {
    app.get('/old', { schema: schema('old'), config: { access: 'public', deprecation } }, async () => ({ id: 'a' }))
    app.get('/gone', { schema: schema('gone'), config: { access: 'public', deprecation } }, async () => {
      throw problem('not-found')
    })
    app.get('/new', { schema: schema('new'), config: { access: 'public' } }, async () => ({ id: 'b' }))
  },
}

it('a deprecated route says so in each answer, and in OpenAPI', async () => {
  const t = await startApplication({ services: [planted] })
  for (const path of ['old', 'gone']) {
    const { headers } = await t.app.inject(`/v1/clinical-api/${path}`)
    expect(headers).toMatchObject({ deprecation: '@1772323200', sunset: 'Tue, 01 Sep 2026 00:00:00 GMT' })
  }
  const { headers } = await t.app.inject('/v1/clinical-api/new')
  expect(headers).not.toHaveProperty('deprecation')
  expect(headers).not.toHaveProperty('sunset')

  const { paths } = (await t.app.inject('/openapi.json')).json<{ paths: Record<string, { get: object }> }>()
  expect(paths['/v1/clinical-api/old']?.get).toMatchObject({
    deprecated: true,
    responses: { 200: { headers: { Deprecation: {}, Sunset: {} } } },
  })
  expect(paths['/v1/clinical-api/new']?.get).not.toHaveProperty('deprecated')
  await t.app.close()
})
