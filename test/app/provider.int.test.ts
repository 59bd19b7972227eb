import { afterAll, beforeAll, expect, test } from 'vitest'
import { at } from '../../app/demo/members.ts'
import { startInProcessPlatform, type InProcessPlatform } from '../support/in-process-platform.ts'
import { assessmentBody, consentedPatient, endOf, photograph, requestAssessment } from '../support/main-job.ts'
import { waitFor } from '../support/platform.ts'

let simulated: InProcessPlatform
beforeAll(async () => {
  simulated = await startInProcessPlatform({ PROVIDER_NAME: 'dermatology', AI_REVIEW_MAX_CONCURRENT_PER_ORG: '1' })
})
afterAll(() => simulated.close())

test('the credentials contain the control secret of the embedded simulator; health and results name the simulator', async () => {
  const { platform, api, terms, provider } = simulated
  expect(platform.credentials.control_secret).toMatch(/^[\w-]{43}$/)
  // The start detects it before any review.
  const health = await api.call('/health')
  expect(health.status).toBe(200)
  expect(at(health.body, 'checks')).toContainEqual({
    name: 'provider',
    status: 'ok',
    detail: 'simulator: results are invented',
  })
  expect(await provider.calls()).toEqual([])
  const id = await requestAssessment(api, assessmentBody(await consentedPatient(api, terms), [await photograph()]))
  expect(await endOf(api, id)).toMatchObject({ status: 'completed', result: { ai_provider: 'simulator' } })
})

test('beyond the number of places a review stays pending, and /health warns until it gets a place', async () => {
  const { api, terms, provider } = simulated
  const guards = async () => {
    const checks = at((await api.call('/health')).body, 'checks') as readonly unknown[]
    return checks.find((one) => at(one, 'name') === 'ai_review_guards')
  }
  expect(await guards()).toEqual({ name: 'ai_review_guards', status: 'ok' })
  await provider.result({ sha256: '*', not_ready_polls: 1_000 })
  const patientId = await consentedPatient(api, terms)
  const ids: string[] = []
  for (const _ of [1, 2]) ids.push(await requestAssessment(api, assessmentBody(patientId, [await photograph()])))
  const detail = 'of at least one organisation: reviews wait for a place'
  const warning = await waitFor('the warning', async () => {
    const check = await guards()
    return at(check, 'status') === 'warning' ? check : undefined
  })
  expect(warning).toEqual({ name: 'ai_review_guards', status: 'warning', detail })
  await provider.reset()
  for (const id of ids) expect(await endOf(api, id)).toMatchObject({ status: 'completed' })
  expect(await guards()).toEqual({ name: 'ai_review_guards', status: 'ok' })
})
