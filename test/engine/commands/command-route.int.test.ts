import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createConsentType, deleteConsentType, updateConsentType } from '../../../commands/consent/consent-types.ts'
import { changed, created, deleted } from '../../../engine/commands/command-replies.ts'
import { commandRoute } from '../../../engine/commands/command-route.ts'
import type { Service } from '../../../platform/http/service.ts'
import { Uuid } from '../../../platform/http/members.ts'
import { consentTypes } from '../../../streams/consent-type/aggregate.ts'
import { startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { openDecisionWorld, type DecisionWorld } from './decision-world.ts'

const Thing = Type.Object({ id: Uuid, link: Type.String() }, { $id: 'Thing' })
const readBy = [{ name: 'things', version: 1 }]
const named = {
  operationId: 'plant',
  summary: 'A planted route',
  access: { scopes: ['things:write'] },
  readBy,
} as const

let world: DecisionWorld
let t: TestApplication
let waitedFor: (readonly string[])[] = []

/** Routes of a planted service. Its records are consent types, an existing aggregate. */
const service = (): Service => ({
  prefix: 'consent',
  documentedAt: 'bare',
  routes(app) {
    commandRoute(app, world, {
      ...named,
      method: 'POST',
      path: '/owners/:ownerId/things',
      body: Type.Object({ link: Uuid }, { additionalProperties: false }),
      hasEtag: true,
      reply: created(Thing, ({ id }, { ownerId }: { readonly ownerId: string }) => `/owners/${ownerId}/things/${id}`),
      problems: ['consent-type-code-in-use'],
      handle: async ({ tenant, params, body, keyed, now, run }) => {
        const described = { displayName: body.link, description: null, legalBasis: 'consent', required: true }
        const ids = { consentTypeId: keyed.id, organisationId: tenant, fingerprint: keyed.fingerprint }
        const command = { ...ids, code: params.ownerId, ...described, now }
        const done = await run(consentTypes.of(tenant, keyed.id), (state) => createConsentType(command, state))
        return { ...done, record: { id: keyed.id, link: body.link } }
      },
    })
    commandRoute(app, world, {
      ...named,
      method: 'PATCH',
      path: '/things/:id',
      body: Type.Object({ name: Type.String() }, { additionalProperties: false }),
      hasEtag: true,
      ifMatch: 'stream',
      reply: changed(Thing),
      handle: async ({ tenant, params, body, now, run }) => {
        const command = { displayName: body.name, now }
        const done = await run(consentTypes.of(tenant, params.id), (state) => updateConsentType(command, state))
        return { ...done, record: { id: params.id, link: body.name } }
      },
    })
    commandRoute(app, world, {
      ...named,
      method: 'DELETE',
      path: '/things/:id',
      ifMatch: 'stream',
      reply: deleted,
      problems: ['consent-type-in-use'],
      handle: async ({ tenant, params, now, run }) => {
        const done = await run(consentTypes.of(tenant, params.id), (state) => deleteConsentType({ now }, state))
        return { ...done, record: null }
      },
    })
  },
})

beforeAll(async () => {
  world = await openDecisionWorld()
  t = await startApplication({
    services: [service()],
    readYourWrites: async (_, projectors) => {
      waitedFor.push(projectors)
      return { caughtUp: true }
    },
    checkReplies: true,
  })
})
beforeEach(() => {
  waitedFor = []
})
afterAll(async () => {
  await t.app.close()
  await world.close()
})

async function call(method: 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object, given: object = {}) {
  const token = await t.token({ orgId: world.orgId, scopes: ['things:write'] })
  const body = payload === undefined ? {} : { payload }
  return t.app.inject({ method, url: `/v1${path}`, headers: { ...token, ...given }, ...body })
}

const link = '0190B0A0-0000-7000-8000-00000000000A'

describe('a POST', () => {
  it('answers 201 with record, Location and ETag once the projectors show the write', async () => {
    const owner = randomUUID()
    const answer = await call('POST', `/owners/${owner.toUpperCase()}/things`, { link })
    const { id } = answer.json<{ id: string }>()
    expect([answer.statusCode, answer.json()]).toEqual([201, { id, link: link.toLowerCase() }])
    expect(answer.headers).toMatchObject({ location: `/v1/owners/${owner}/things/${id}`, etag: '"0"' })
    expect(answer.headers['x-commit-position']).toBeDefined()
    expect(waitedFor).toEqual([['things']])
  })

  it('answers repeats with one key with one record, and refuses another body', async () => {
    const path = `/owners/${randomUUID()}/things`
    const key = { 'idempotency-key': randomUUID() }
    const first = await call('POST', path, { link }, key)
    const again = await call('POST', path, { link }, key)
    expect([again.statusCode, again.json()]).toEqual([201, first.json()])
    expect(again.headers['idempotency-replayed']).toBe('true')
    // The fingerprint covers the body as it was sent, before its ids are changed to lower case.
    const other = await call('POST', path, { link: link.toLowerCase() }, key)
    expect([other.statusCode, other.json()]).toMatchObject([409, { code: 'consent-type-code-in-use' }])
  })

  it('refuses a malformed key, a wrong id in the path and a member that the schema lacks', async () => {
    const path = `/owners/${randomUUID()}/things`
    const malformed = await call('POST', path, { link }, { 'idempotency-key': '' })
    expect(malformed.json()).toMatchObject({ status: 400, code: 'idempotency-key-invalid' })
    expect((await call('POST', '/owners/nobody/things', { link })).statusCode).toBe(404)
    expect((await call('POST', path, { link, other: 1 })).json()).toMatchObject({ code: 'validation-failed' })
  })
})

describe('a PATCH and a DELETE with If-Match', () => {
  async function madeThing(): Promise<string> {
    return (await call('POST', `/owners/${randomUUID()}/things`, { link })).json<{ id: string }>().id
  }

  it('change only the version that the caller knows, and need no key', async () => {
    const path = `/things/${await madeThing()}`
    expect((await call('PATCH', path, { name: 'A' }, { 'if-match': '"1"' })).statusCode).toBe(412)
    const renamed = await call('PATCH', path, { name: 'A' }, { 'if-match': '"0"', 'idempotency-key': '' })
    expect([renamed.statusCode, renamed.headers['etag']]).toEqual([200, '"1"'])
    expect((await call('DELETE', path, undefined, { 'if-match': '"0"' })).statusCode).toBe(412)
    const gone = await call('DELETE', path, undefined, { 'if-match': '"1"' })
    expect([gone.statusCode, gone.body, gone.headers['etag']]).toEqual([204, '', undefined])
    expect((await call('DELETE', path)).statusCode).toBe(404)
  })

  it('are refused for another revision also if nothing changes', async () => {
    const path = `/things/${await madeThing()}`
    const same = { name: link.toLowerCase() }
    expect((await call('PATCH', path, same, { 'if-match': '"0"' })).headers['idempotency-replayed']).toBeUndefined()
    expect((await call('PATCH', path, same, { 'if-match': '"7"' })).statusCode).toBe(412)
  })

  it('refuse a body with members if the route accepts none', async () => {
    const answer = await call('DELETE', `/things/${await madeThing()}`, { reason: 'a' })
    expect(answer.json()).toMatchObject({ code: 'validation-failed', errors: [{ pointer: '/reason' }] })
  })
})
