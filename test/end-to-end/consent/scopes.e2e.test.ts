import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { createApiClient, type ApiClient } from '../../support/raw-api.ts'
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
import { clientOf, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform, organisationWithScopes } from '../../support/shared-platform.ts'
import { openConsentWorld, type ConsentWorld } from './consent-world.ts'

/** An organisation that requires the scopes, and one that does not. */
let strict: ConsentWorld
let usual: ConsentWorld

beforeAll(async () => {
  const platform = await joinSharedPlatform(organisationWithScopes)
  strict = await openConsentWorld(platform)
  usual = await openConsentWorld(forSecondOrganisation(platform))
})
afterAll(() => strict.platform.stop())

function forSecondOrganisation(platform: PlatformInUse): PlatformInUse {
  const second = clientOf(platform.process, 1)
  const clients = [second, clientOf(platform.process, 0), clientOf(platform.process, 2)]
  const credentials = { ...platform.process.credentials, org_id: second.org_id ?? '', clients }
  return { ...platform, process: { credentials }, connect: (client = second) => platform.connect(client) }
}

/** A client of the organisation, whose token has only these scopes. */
async function clientWith({ platform }: ConsentWorld, scope: string): Promise<ApiClient> {
  const { client_id, client_secret } = clientOf(platform.process, 0)
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  const token = await fetch(`${platform.baseUrl}/v1/auth/oauth/token`, { method: 'POST', body: form })
  return createApiClient(platform.baseUrl, textAt(await token.json(), 'access_token'))
}

/** The status of each consent route that needs no administrator, for a token with this scope, by operation id. */
async function statusesOf(world: ConsentWorld, scope: string): Promise<Readonly<Record<string, number>>> {
  const api = await clientWith(world, scope)
  const code = `of_${scope.replace(':', '_')}`
  const terms = await world.terms(code)
  const patientId = randomUUID()
  await expecting(201, world.decide(patientId, terms, 'granted'))
  const operations = (await operationsOf(world.platform.baseUrl)).filter(
    ({ path, isAdmin }) => path.includes('/consent') && !isAdmin,
  )
  const { body } = await world.api.call(`/v1/patients/${patientId}/consents/history`)
  const values = { patientId, typeCode: code, id: textAt(at(body, 'data', 0), 'id') }
  const queries: Readonly<Record<string, string>> = {
    listConsents: `?org_id=${world.orgId}`,
    checkConsents: `?types=${code}`,
    getConsentRecords: `?patientId=${patientId}&consentTypeCode=${code}`,
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
  expect(await statusesOf(usual, 'patients:read')).toEqual({ ...with200(reads), recordConsentDecision: 201 })
})

test('only an organisation that requires the scopes needs them', async () => {
  expect(await statusesOf(strict, 'patients:read')).toEqual({ ...with403(reads), recordConsentDecision: 403 })
  expect(await statusesOf(strict, 'consents:read')).toEqual({ ...with200(reads), recordConsentDecision: 403 })
  expect(await statusesOf(strict, 'consents:write')).toEqual({ ...with200(reads), recordConsentDecision: 201 })
})

test('the platform can check consents of an organisation that requires the scopes', async () => {
  const { api, orgId } = strict
  const consented = await consentedPatient(api, await createConsentTerms(api, orgId))
  const id = await requestAssessment(api, assessmentBody(consented, [await photograph()]))
  expect(await endOf(api, id)).toMatchObject({ status: 'completed' })
})
