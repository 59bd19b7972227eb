import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from 'embedded-eventstore/seeded-random'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { ErasureStep } from '../../../streams/patient-erasure/events.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  expecting,
  photograph,
  requestAssessment,
} from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import type { ApiClient } from '../../support/raw-api.ts'

/** The number of erasures that each kill interrupts. */
const kills = [3, 3, 2]
const seed = 20_261_129
let platform: TestPlatform
let api: ApiClient
let eraser: ApiClient
let groups: readonly (readonly string[])[]

beforeAll(async () => {
  platform = await startTestPlatform({
    env: { ERASURE_VAULT_HOURS: '0', STEP_LEASE_MS: '4000', STEP_TIMEOUT_MS: '3500' },
  })
  const { org_id: orgId, admin_api_secret: secret } = platform.process.credentials
  api = await platform.connect()
  const terms = await createConsentTerms(api, orgId)
  const headers = { 'x-admin-api-secret': secret ?? '', 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'Eraser', org_id: orgId, scopes: ['patients:erase', 'audit:read'] })
  const made: unknown = await (
    await fetch(`${platform.baseUrl}/v1/auth/clients?org_id=${orgId}`, { method: 'POST', headers, body })
  ).json()
  eraser = await platform.connect({
    client_id: textAt(made, 'client_id'),
    client_secret: textAt(made, 'client_secret'),
  })
  const picture = await photograph()
  const found: string[][] = []
  for (const interrupted of kills) {
    const group: string[] = []
    for (let n = 0; n < interrupted; n += 1) {
      const patientId = await consentedPatient(api, terms)
      await requestAssessment(api, assessmentBody(patientId, [picture]))
      group.push(patientId)
    }
    found.push(group)
  }
  groups = found
})
afterAll(() => platform.stop())

const path = (patientId: string, rest = '') => `/v1/clinical-api/patients/${patientId}${rest}`

test('every erasure is complete after kills at random, each step once', async () => {
  const random = new SeededRandom(seed)
  for (const group of groups) {
    for (const patientId of group)
      await expecting(202, eraser.call(path(patientId, '/erase'), { body: { reason: 'person_request' } }))
    await sleep(random.below(1_500))
    await platform.process.kill()
    await platform.restart()
  }
  for (const patientId of groups.flat()) {
    await waitFor(
      `the erasure of ${patientId}`,
      async () => {
        const { body } = await eraser.call(path(patientId, '/erasure'))
        return at(body, 'status') === 'completed' ? body : undefined
      },
      120_000,
    )
    expect((await api.call(path(patientId))).status).toBe(410)
    // The timeline follows a moment later.
    const timeline = `/v1/audit/timeline?patient_id=${patientId}&limit=200&types=PatientErasureStepDone,SubjectErased`
    const items = await waitFor('its end in the timeline', async () => {
      const { body } = await expecting(200, eraser.call(timeline))
      const found = Object(at(body, 'data')) as readonly unknown[]
      return found.some((item) => at(item, 'type') === 'SubjectErased') ? found : undefined
    })
    const names = items.map((item) => {
      const step = at(item, 'data', 'step')
      return typeof step === 'string' ? step : textAt(item, 'type')
    })
    expect(names.toSorted()).toEqual([...ErasureStep.enum.map(String), 'SubjectErased'].toSorted())
    expect(names.at(-1)).toBe('SubjectErased')
  }
})
