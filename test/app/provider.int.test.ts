import { afterEach, expect, test } from 'vitest'
import { at } from '../../app/demo/members.ts'
import { startInProcessPlatform } from '../support/in-process-platform.ts'
import { assessmentBody, consentedPatient, endOf, photograph, requestAssessment } from '../support/main-job.ts'
import { startUnmarkedProvider } from '../support/unmarked-provider.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

test('the credentials contain the control secret of the embedded simulator; health and results name the simulator', async () => {
  const running = await startInProcessPlatform({ PROVIDER_NAME: 'dermatology' })
  closers.push(() => running.close())
  const { platform, api, terms, provider } = running
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

test('a processor logs out at the provider when it stops', async () => {
  const unmarked = await startUnmarkedProvider()
  closers.push(() => unmarked.close())
  const running = await startInProcessPlatform({ ...unmarked.env, PROVIDER_NAME: 'dermatology' })
  const { platform, api, terms } = running
  const id = await requestAssessment(api, assessmentBody(await consentedPatient(api, terms), [await photograph()]))
  expect(await endOf(api, id)).toMatchObject({ status: 'completed', result: { ai_provider: 'dermatology' } })
  expect(platform.credentials.provider_url).toBe(unmarked.env.PROVIDER_BASE_URL)
  expect(at((await api.call('/health')).body, 'checks')).toContainEqual({ name: 'provider', status: 'ok' })
  await running.close()
  expect((await unmarked.provider.story()).at(-1)).toBe('logout 200')
})
