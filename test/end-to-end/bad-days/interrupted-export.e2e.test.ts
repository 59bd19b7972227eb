import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { consentedPatient, createConsentTerms, expecting } from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import type { ApiClient } from '../../support/raw-api.ts'

const exports = '/v1/audit/exports'
let platform: TestPlatform
let auditor: ApiClient
let patientId: string

beforeAll(async () => {
  platform = await startTestPlatform({
    env: { FAILPOINT: 'export-written', STEP_LEASE_MS: '4000', STEP_TIMEOUT_MS: '3500' },
  })
  const { org_id: orgId, admin_api_secret: secret } = platform.process.credentials
  const api = await platform.connect()
  patientId = await consentedPatient(api, await createConsentTerms(api, orgId))
  const headers = { 'x-admin-api-secret': secret ?? '', 'content-type': 'application/json' }
  const body = JSON.stringify({
    name: 'Auditor',
    org_id: orgId,
    scopes: ['audit:export', 'audit:read', 'audit:read-phi'],
  })
  const made: unknown = await (
    await fetch(`${platform.baseUrl}/v1/auth/clients?org_id=${orgId}`, { method: 'POST', headers, body })
  ).json()
  auditor = await platform.connect({
    client_id: textAt(made, 'client_id'),
    client_secret: textAt(made, 'client_secret'),
  })
})
afterAll(() => platform.stop())

test('an export is finished after a crash between its last byte and its record', async () => {
  const { body } = await expecting(202, auditor.call(exports, { body: { patient_id: patientId } }))
  expect(await platform.process.exited).toBeNull()
  await platform.restart({ FAILPOINT: '' })
  const path = `${exports}/${textAt(body, 'id')}`
  const finished = await waitFor(
    'the export',
    async () => {
      const { body: record } = await auditor.call(path)
      return at(record, 'status') === 'finished' ? record : undefined
    },
    90_000,
  )
  expect(finished).toMatchObject({ patient_id: patientId, error_code: null })
})
