import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { textAt } from '../../../app/demo/members.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { consents } from '../../../streams/consent/aggregate.ts'
import type { Environment } from '../../../platform/configuration/configuration.ts'
import { auditSubjectsProjector } from '../../../projections/audit/audit-subjects.projector.ts'
import {
  openUsersApi,
  outcomeOf,
  unsigned,
  type UsersApi,
  type UsersProcess,
  type WriteAnswer,
} from '../../read-api/users/users-api.ts'
import { consentFact, patientFact } from '../../streams/facts.ts'

let api: UsersApi
let single: UsersProcess
let byTwo: UsersProcess
beforeAll(async () => {
  api = await openUsersApi({ services: ['clinical-api'], moreReadModels: [auditSubjectsProjector] })
  const start = (env: Environment) => api.startProcess(env)
  single = await start({})
  byTwo = await start({ ERASURE_APPROVALS: '2' })
})
afterAll(() => api.close())

type Headers = Readonly<Record<string, string>>

async function send(
  { t }: UsersProcess,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  headers: Headers,
  payload?: object,
): Promise<WriteAnswer> {
  const options = { method, url: `/v1/clinical-api/patients/${path}`, headers }
  const answer = await t.app.inject(payload === undefined ? options : { ...options, payload })
  const { statusCode: status, headers: got, body } = answer
  return { status, etag: got['etag'], headers: got, body: body === '' ? null : (JSON.parse(body) as unknown) }
}

const eraser = (orgId: string = api.world.orgId) => api.token(orgId, ['patients:erase'])
const user = (userId: string, permissions = ['patients:erase']) =>
  api.actor(unsigned({ user_id: userId, org_id: api.world.orgId, permissions }), api.world.orgId, ['patients:erase'])

async function givenPatient(): Promise<string> {
  const patientId = randomUUID()
  const { orgId } = api.world
  await api.append(
    patients.of(orgId, patientId),
    patientFact('PatientRegistered', { patientId, organisationId: orgId }),
  )
  return patientId
}

const erase = { reason: 'person_request', reference: 'letter/12' }

describe('an erasure by one person', () => {
  it('runs from the answer on, and a repeat gets the same state', async () => {
    const id = await givenPatient()
    const headers = await eraser()
    expect(outcomeOf(await send(single, 'GET', `${id}/erasure`, headers))).toBe('404 not-found')
    const answer = await send(single, 'POST', `${id}/erase`, headers, erase)
    expect(answer).toMatchObject({
      status: 202,
      body: { patient_id: id, status: 'running', backups_until: null },
      headers: { location: expect.stringMatching(new RegExp(`/patients/${id}/erasure$`)) },
    })
    const repeated = await send(single, 'POST', `${id}/erase`, headers, { reason: 'retention_ended' })
    expect(repeated).toMatchObject({ status: 202, body: answer.body })
    expect(await send(single, 'GET', `${id}/erasure`, headers)).toMatchObject({ status: 200, body: answer.body })
    expect(outcomeOf(await send(single, 'POST', `${id}/erasure/approve`, headers))).toBe('409 erasure-not-waiting')
  })

  it('reaches any patient id of which the organisation has a stream, and no other', async () => {
    const known = randomUUID()
    const { orgId } = api.world
    await api.append(
      consents.of(orgId, known),
      consentFact('ConsentRecorded', { patientId: known, organisationId: orgId }),
    )
    const headers = await eraser()
    expect(outcomeOf(await send(single, 'POST', `${known}/erase`, headers, erase))).toBe('202')
    expect(outcomeOf(await send(single, 'POST', `${randomUUID()}/erase`, headers, erase))).toBe('404 not-found')
    const id = await givenPatient()
    const stranger = await eraser(randomUUID())
    expect(outcomeOf(await send(single, 'POST', `${id}/erase`, stranger, erase))).toBe('404 not-found')
    await send(byTwo, 'POST', `${id}/erase`, await user(randomUUID()), erase)
    const foreign = [
      ['PUT', 'legal-hold'],
      ['GET', 'legal-hold'],
      ['DELETE', 'legal-hold'],
      ['GET', 'erasure'],
      ['POST', 'erasure/approve'],
      ['POST', 'erasure/cancel'],
    ] as const
    for (const [method, path] of foreign) {
      const body = method === 'PUT' ? { reason: 'x' } : undefined
      const answer = outcomeOf(await send(single, method, `${id}/${path}`, stranger, body))
      expect([method, path, answer]).toEqual([method, path, '404 not-found'])
    }
  })

  it('needs the scope, and with an actor the permission', async () => {
    const id = await givenPatient()
    const without = await api.token(api.world.orgId, ['patients:read', 'patients:write'])
    for (const path of ['erase', 'erasure/approve', 'erasure/cancel'])
      expect(outcomeOf(await send(single, 'POST', `${id}/${path}`, without, erase))).toBe('403 insufficient-scope')
    const actor = await user(randomUUID(), [])
    expect(outcomeOf(await send(single, 'POST', `${id}/erase`, actor, erase))).toBe('403 permission-missing')
  })

  it('takes a reference without blanks only', async () => {
    const id = await givenPatient()
    const body = { ...erase, reference: 'Ada Canary' }
    expect(outcomeOf(await send(single, 'POST', `${id}/erase`, await eraser(), body))).toBe('400 validation-failed')
  })
})

it('ends the repeats of the registration', async () => {
  const headers = { ...(await api.token(api.world.orgId, ['patients:write'])), 'idempotency-key': randomUUID() }
  const person = { given_name: 'Ada', family_name: 'Canary', dob: '1980-02-29' }
  const register = () =>
    single.t.app.inject({ method: 'POST', url: '/v1/clinical-api/patients', headers, payload: person })
  const first = await register()
  const repeated = await register()
  expect([first.statusCode, repeated.statusCode, repeated.body]).toEqual([201, 201, first.body])
  api.world.vault.closeSubject(api.world.orgId, textAt(JSON.parse(first.body), 'id'))
  const refused = await register()
  expect([refused.statusCode, refused.body]).toEqual([410, expect.not.stringContaining('Canary')])
})

describe('an erasure by two persons', () => {
  it('starts when another user approves', async () => {
    const id = await givenPatient()
    const [first, second] = [await user(randomUUID()), await user(randomUUID())]
    expect(outcomeOf(await send(byTwo, 'POST', `${id}/erase`, await eraser(), erase))).toBe('403 actor-context-missing')
    expect(await send(byTwo, 'POST', `${id}/erase`, first, erase)).toMatchObject({
      status: 202,
      body: { status: 'awaiting_approval' },
    })
    expect(outcomeOf(await send(byTwo, 'POST', `${id}/erasure/approve`, first))).toBe('409 second-person-required')
    const keyed = { ...second, 'idempotency-key': randomUUID() }
    // The request keeps its rule, whatever this process is configured for.
    expect(await send(single, 'POST', `${id}/erasure/approve`, keyed)).toMatchObject({
      status: 202,
      body: { status: 'running' },
    })
    expect(outcomeOf(await send(single, 'POST', `${id}/erasure/approve`, keyed))).toBe('202')
    expect(outcomeOf(await send(byTwo, 'POST', `${id}/erasure/cancel`, second))).toBe('409 erasure-not-waiting')
  })

  it('is cancelled before that, and may be asked for again', async () => {
    const id = await givenPatient()
    const first = await user(randomUUID())
    await send(byTwo, 'POST', `${id}/erase`, first, erase)
    expect(await send(byTwo, 'POST', `${id}/erasure/cancel`, first)).toMatchObject({ body: { status: 'cancelled' } })
    expect(await send(byTwo, 'POST', `${id}/erase`, first, erase)).toMatchObject({
      body: { status: 'awaiting_approval' },
    })
  })

  it('stays cancelled if the answer to its request or to its cancel was lost, and the call is repeated', async () => {
    const id = await givenPatient()
    const [asked, cancelled] = [await user(randomUUID()), await user(randomUUID())].map((headers) => ({
      ...headers,
      'idempotency-key': randomUUID(),
    }))
    const [ask, cancel] = [
      () => send(byTwo, 'POST', `${id}/erase`, asked ?? {}, erase),
      () => send(byTwo, 'POST', `${id}/erasure/cancel`, cancelled ?? {}),
    ]
    expect(await ask()).toMatchObject({ status: 202, body: { status: 'awaiting_approval' } })
    expect(await cancel()).toMatchObject({ body: { status: 'cancelled' } })
    expect(await ask()).toMatchObject({ status: 202, body: { status: 'cancelled' } })
    const other = { ...erase, reason: 'retention_ended' }
    expect(outcomeOf(await send(byTwo, 'POST', `${id}/erase`, asked ?? {}, other))).toBe('409 idempotency-key-reused')
    await send(byTwo, 'POST', `${id}/erase`, await user(randomUUID()), other)
    expect(await cancel()).toMatchObject({ status: 202, body: { status: 'awaiting_approval' } })
  })
})

describe('a legal hold', () => {
  it('forbids the erasure until it is released', async () => {
    const id = await givenPatient()
    const headers = await eraser()
    expect(outcomeOf(await send(single, 'GET', `${id}/legal-hold`, headers))).toBe('404 not-found')
    const placed = await send(single, 'PUT', `${id}/legal-hold`, headers, { reason: 'lawsuit' })
    expect(placed).toMatchObject({ status: 200, body: { reason: 'lawsuit', until: null } })
    expect(await send(single, 'GET', `${id}/legal-hold`, headers)).toMatchObject({ status: 200, body: placed.body })
    expect(outcomeOf(await send(single, 'POST', `${id}/erase`, headers, erase))).toBe('409 legal-hold')
    expect(outcomeOf(await send(single, 'DELETE', `${id}/legal-hold`, headers))).toBe('204')
    expect(outcomeOf(await send(single, 'DELETE', `${id}/legal-hold`, headers))).toBe('204')
    expect(outcomeOf(await send(single, 'POST', `${id}/erase`, headers, erase))).toBe('202')
    for (const [method, body] of [
      ['PUT', { reason: 'late' }],
      ['DELETE', undefined],
      ['GET', undefined],
    ] as const)
      expect(outcomeOf(await send(single, method, `${id}/legal-hold`, headers, body))).toBe('410 subject-erased')
  })

  it('ends in the future', async () => {
    const id = await givenPatient()
    const body = { reason: 'lawsuit', until: '2001-01-01T00:00:00Z' }
    expect(await send(single, 'PUT', `${id}/legal-hold`, await eraser(), body)).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/until' }] },
    })
  })
})
