import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, createApiClient, textAt, type ApiClient } from '../../../app/demo/api-client.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  requestAssessment,
} from '../../support/main-job.ts'
import { operationsOf, pathWith } from '../../support/operations.ts'
import { clientOf, startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { openConsentWorld, type ConsentWorld, type Terms } from './consent-world.ts'

let world: ConsentWorld<TestPlatform>
let terms: Terms
let patientId: string

beforeAll(async () => {
  world = await openConsentWorld(await startTestPlatform())
  terms = await world.terms('research')
  patientId = randomUUID()
  await expecting(201, world.decide(patientId, terms, 'granted'))
})
afterAll(() => world.platform.stop())

/** A client of the first or second organisation, whose token has only these scopes. */
async function clientWith(scope: string, place: 0 | 1 = 0): Promise<ApiClient> {
  const { baseUrl, process } = world.platform
  const { client_id, client_secret } = clientOf(process, place)
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  const issued: unknown = await (await fetch(`${baseUrl}/v1/auth/oauth/token`, { method: 'POST', body: form })).json()
  return createApiClient(baseUrl, textAt(issued, 'access_token'))
}

/** The status of each consent route that needs no administrator, by operation id. */
async function statusesOf(api: ApiClient, orgId: string): Promise<Readonly<Record<string, number>>> {
  const operations = (await operationsOf(world.platform.baseUrl)).filter(
    ({ path, isAdmin }) => path.includes('/consent') && !isAdmin,
  )
  const { body } = await world.api.call(`/v1/patients/${patientId}/consents/history`)
  const values = { patientId, typeCode: 'research', id: textAt(at(body, 'data', 0), 'id') }
  const queries: Readonly<Record<string, string>> = {
    listConsents: `?org_id=${orgId}`,
    checkConsents: '?types=research',
    getConsentRecords: `?patientId=${patientId}&consentTypeCode=research`,
  }
  const decision = { consent_type_id: terms.typeId, text_version_id: terms.textId, decision: 'granted' }
  const statuses = operations.map(async (operation) => {
    const { operationId, method } = operation
    const path = `${pathWith(operation, values)}${queries[operationId] ?? ''}`
    const { status } = await api.call(path, method === 'POST' ? { body: decision } : {})
    return [operationId, status] as const
  })
  return Object.fromEntries(await Promise.all(statuses))
}

const reads = [
  'checkConsents',
  'getConsentDecision',
  'getConsentReceipt',
  'getConsentRecords',
  'getConsentStatus',
  'listConsentHistory',
  'listConsents',
]
const with200 = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 200]))
const with403 = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 403]))

test('every consent route accepts any platform token by default', async () => {
  expect(await statusesOf(await clientWith('patients:read'), world.orgId)).toEqual({
    ...with200(reads),
    recordConsentDecision: 201,
  })
})

test('only an organisation that requires the scopes needs them', async () => {
  const { orgId, platform } = world
  await platform.restart({ CONSENT_SCOPES_REQUIRED: orgId })
  world = { ...world, api: await platform.connect() }
  expect(await statusesOf(await clientWith('patients:read'), orgId)).toEqual({
    ...with403(reads),
    recordConsentDecision: 403,
  })
  expect(await statusesOf(await clientWith('consents:read'), orgId)).toEqual({
    ...with200(reads),
    recordConsentDecision: 403,
  })
  expect(await statusesOf(await clientWith('consents:write'), orgId)).toEqual({
    ...with200(reads),
    recordConsentDecision: 201,
  })

  const second = platform.process.credentials.clients[1]?.org_id ?? ''
  const stranger = await statusesOf(await clientWith('patients:read', 1), second)
  expect(Object.entries(stranger).filter(([, status]) => status === 403)).toEqual([])
  expect(stranger).toMatchObject({ listConsents: 200, checkConsents: 200, getConsentRecords: 200 })
})

test('the platform can check consents of an organisation that requires the scopes', async () => {
  const { api, orgId } = world
  const consented = await consentedPatient(api, await createConsentTerms(api, orgId))
  const id = await requestAssessment(api, assessmentBody(consented, [await photograph()]))
  expect(await endOf(api, id)).toMatchObject({ status: 'completed' })
})
