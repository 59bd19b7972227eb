import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { listRoute } from '../../../engine/reads/list-route.ts'
import { readRoute } from '../../../engine/reads/read-route.ts'
import { answers } from '../../../platform/http/answers.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import { problem } from '../../../platform/http/problems.ts'
import type { Service, ServiceApp } from '../../../platform/http/service.ts'
import { nameShown, type Access, type Persons } from '../../../platform/http/shown-content.ts'
import { personal } from '../../../platform/kit/personal-content.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { actorContext } from '../../../app/demo/members.ts'
import { orgA, startApplication } from './test-application.ts'

const patientId = '018f0000-0000-7000-8000-0000000000c1'
const otherPatient = '018f0000-0000-7000-8000-0000000000c2'
const actorId = '018f0000-0000-7000-8000-0000000000d1'

const Visit = Type.Object(
  { patient_id: Type.String(), note: Type.Union([Type.String(), Type.Null()], personal('notes')) },
  { $id: 'Visit' },
)
const access = 'token' as const
const usual = { access, servedBy: [], summary: 'Visits' } as const
const shows = ({ patient_id: patient }: { readonly patient_id: string }): Persons => ({ patientId: patient })
const visit = { patient_id: patientId, note: 'seen' }

function serviceOf(routes: (app: ServiceApp) => void): Service {
  return { prefix: 'clinical-api', documentedAt: 'prefixed', mounts: ['prefixed'], routes }
}

const visits = serviceOf((app) => {
  readRoute(app, {
    ...usual,
    path: '/visit',
    operationId: 'getVisit',
    reply: Visit,
    shows,
    find: async () => ({ body: visit, revision: 3n }),
  })
  readRoute(app, {
    ...usual,
    path: '/bare-visit',
    operationId: 'getBareVisit',
    reply: Visit,
    shows,
    handle: async () => ({ ...visit, note: null }),
  })
  readRoute(app, {
    ...usual,
    path: '/nobody',
    operationId: 'getVisitOfNobody',
    reply: Visit,
    shows: () => ({ patientId: null }),
    handle: async () => visit,
  })
  const key = new Uint8Array(32)
  listRoute(
    app,
    { cursors: createCursors({ key, now: () => new Date() }) },
    {
      ...usual,
      path: '/visits',
      operationId: 'listVisits',
      list: 'visits',
      sort: 'id',
      pageName: 'VisitPage',
      item: Visit,
      rows: async () => ({
        rows: [visit, { patient_id: 'unseen', note: null }, { patient_id: otherPatient, note: 'late' }, visit],
        hasMore: false,
      }),
      placeOf: ({ patient_id: id }) => [id],
      toItem: (row) => row,
      shows,
    },
  )
  app.post(
    '/held-visits',
    {
      schema: { operationId: 'holdVisit', summary: 'Held', response: answers({ 202: Visit }) },
      config: { access, showsPersonal: true },
    },
    async (request, reply) => {
      if (request.headers.prefer !== undefined)
        nameShown(request, tenantOfFact(orgA), [{ content: new Set(['notes']), persons: { patientId } }])
      reply.code(202)
      return visit
    },
  )
  app.get(
    '/raw',
    {
      schema: { operationId: 'getForgetful', summary: 'Raw', response: answers({ 200: Visit }) },
      config: { access, showsPersonal: true },
    },
    async () => visit,
  )
})

async function start({ isAway = false }: { readonly isAway?: boolean } = {}) {
  const accesses: Access[] = []
  const application = await startApplication({
    services: [visits],
    accessLog: {
      record: async (one) => {
        if (isAway) throw problem('access-log-unavailable', { retryAfterSeconds: 2 })
        accesses.push(one)
      },
    },
  })
  return {
    accesses,
    close: () => application.app.close(),
    async get(path: string, headers: Readonly<Record<string, string>> = {}, method: 'GET' | 'HEAD' | 'POST' = 'GET') {
      const token = await application.token({ trustedActorContext: true })
      return application.app.inject({ method, url: `/v1/clinical-api${path}`, headers: { ...token, ...headers } })
    },
  }
}

describe('an answer with personal content', () => {
  it('is recorded with its caller, persons and content', async () => {
    const t = await start()
    const headers = {
      'x-request-id': 'request-1',
      'x-purpose-of-use': 'TREAT',
      'x-actor-context': actorContext(orgA, [], actorId),
    }
    expect((await t.get('/visit', headers)).statusCode).toBe(200)
    expect(t.accesses).toEqual([
      {
        orgId: orgA,
        clientId: 'client-a',
        userId: actorId,
        patientIds: [patientId],
        subjectUserId: null,
        categories: ['notes'],
        operation: 'getVisit',
        purpose: 'TREAT',
        requestId: 'request-1',
        sourceAddress: '127.0.0.1',
      },
    ])
    await t.close()
  })

  it('of a list is one access about the persons whose items show something', async () => {
    const t = await start()
    await t.get('/visits')
    expect(t.accesses.map(({ patientIds }) => patientIds)).toEqual([[patientId, otherPatient]])
    await t.close()
  })

  it('is no access as 304, as HEAD, without content, or about nobody', async () => {
    const t = await start()
    const etag = String((await t.get('/visit')).headers['etag'])
    expect(t.accesses).toHaveLength(1)
    expect((await t.get('/visit', { 'if-none-match': etag })).statusCode).toBe(304)
    expect((await t.get('/visit', {}, 'HEAD')).statusCode).toBe(200)
    expect((await t.get('/bare-visit')).statusCode).toBe(200)
    expect((await t.get('/nobody')).statusCode).toBe(200)
    expect(t.accesses).toHaveLength(1)
    await t.close()
  })

  it('of a create is an access if the route names its content: it may be more than the caller sent', async () => {
    const t = await start()
    expect((await t.get('/held-visits', {}, 'POST')).statusCode).toBe(202)
    expect(t.accesses).toEqual([])
    expect((await t.get('/held-visits', { prefer: 'wait=1' }, 'POST')).statusCode).toBe(202)
    expect(t.accesses).toMatchObject([{ patientIds: [patientId], categories: ['notes'], operation: 'holdVisit' }])
    await t.close()
    const away = await start({ isAway: true })
    expect((await away.get('/held-visits', { prefer: 'wait=1' }, 'POST')).statusCode).toBe(503)
    await away.close()
  })

  it('does not leave if it cannot be recorded', async () => {
    const t = await start({ isAway: true })
    const refused = await t.get('/visit')
    expect(refused.statusCode).toBe(503)
    expect(refused.json()).toMatchObject({ code: 'access-log-unavailable', retriable: true })
    expect(refused.headers).toMatchObject({
      'retry-after': '2',
      'content-type': 'application/problem+json; charset=utf-8',
    })
    expect(refused.headers['etag']).toBeUndefined()
    expect(refused.body).not.toContain('seen')
    expect((await t.get('/bare-visit')).statusCode).toBe(200)
    await t.close()
  })

  it('does not leave if the route forgets to name its persons', async () => {
    const t = await start()
    const answer = await t.get('/raw')
    expect(answer.statusCode).toBe(500)
    expect(answer.body).not.toContain('seen')
    await t.close()
  })

  it.each([
    ['treat', 400],
    ['TREAT, TREAT', 400],
    ['', 400],
    ['ETREAT', 200],
  ])('with the purpose %j is answered %i', async (purpose, status) => {
    const t = await start()
    const answer = await t.get('/bare-visit', { 'x-purpose-of-use': purpose })
    expect(answer.statusCode).toBe(status)
    if (status === 400) expect(answer.json()).toMatchObject({ code: 'unknown-purpose' })
    await t.close()
  })
})

describe('a route whose reply marks personal content', () => {
  const undeclared = /shows personal content, and the route does not say whose/

  it.each([
    [
      'of one record',
      serviceOf((app) =>
        readRoute(app, { ...usual, path: '/v', operationId: 'getV', reply: Visit, handle: async () => visit }),
      ),
      undeclared,
    ],
    [
      'registered without a helper',
      serviceOf((app) =>
        app.get('/v', { schema: { response: answers({ 200: Visit }) }, config: { access } }, async () => visit),
      ),
      undeclared,
    ],
    [
      'that names persons of an answer without marks',
      serviceOf((app) =>
        readRoute(app, {
          ...usual,
          path: '/v',
          operationId: 'getV',
          reply: Type.Object({ id: Type.String() }),
          shows: () => ({ patientId }),
          handle: async () => ({ id: '1' }),
        }),
      ),
      /whose schema marks no personal content/,
    ],
  ])('%s does not start', async (_, service, message) => {
    await expect(startApplication({ services: [service] })).rejects.toThrow(message)
  })

  it('of a create starts: its answer shows what the caller sent', async () => {
    const service = serviceOf((app) =>
      app.post('/visits', { schema: { response: answers({ 201: Visit }) }, config: { access } }, async () => visit),
    )
    const { app } = await startApplication({ services: [service] })
    await app.close()
  })
})
