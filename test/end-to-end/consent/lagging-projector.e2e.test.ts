import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openConsentClient, type AskConsent } from '../../../contracts/consent/client.ts'
import { at } from '../../../app/demo/members.ts'
import { openAuditServers, type AuditServers } from '../../../app/audit/audit-servers.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  decideConsent,
  endOf,
  expecting,
  photograph,
  requestAssessment,
  type ConsentTerms,
} from '../../support/main-job.ts'
import { waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

// Decisions on a consent while the projector of the consent records runs but cannot write: an old answer must not decide. The tests in `bad-
// days` stop it.

const { signal } = new AbortController()

let platform: PlatformInUse
/** Of the platform, which runs in another process. */
let servers: AuditServers
let api: ApiClient
let terms: ConsentTerms

beforeAll(async () => {
  platform = await joinSharedPlatform()
  servers = await openAuditServers({ PLATFORM_DATA_DIR: platform.dataDir })
  api = await platform.connect()
  terms = await createConsentTerms(api, platform.process.credentials.org_id)
})

afterAll(async () => {
  await servers.close()
  await platform.stop()
})

/** Locks the table of the consent records. The projector runs, but cannot write. */
async function whileWritesWait<Result>(work: () => Promise<Result>): Promise<Result> {
  const holder = new Client({ connectionString: servers.configuration.databaseUrl })
  await holder.connect()
  try {
    await holder.query('begin')
    await holder.query('lock table consent_records.consent_records in exclusive mode')
    return await work()
  } finally {
    await holder.query('rollback')
    await holder.end()
  }
}

function records(patientId: string): Promise<ApiAnswer> {
  return api.call(`/v1/consent-records?patientId=${patientId}&consentTypeCode=ai_analysis`)
}

test('a withdrawn consent starts no analysis while the row of the withdrawal waits to be written', async () => {
  const patientId = await consentedPatient(api, terms)
  const assessmentId = await whileWritesWait(async () => {
    await decideConsent(api, patientId, terms, 'withdrawn')
    const status = await expecting(200, api.call(`/v1/patients/${patientId}/consents/ai_analysis/status`))
    expect(status.body).toMatchObject({ granted: true })
    const refused = await expecting(503, records(patientId))
    expect([at(refused.body, 'code'), refused.headers.has('retry-after')]).toEqual(['read-model-behind', true])
    return requestAssessment(api, assessmentBody(patientId, [await photograph()]))
  })
  expect(await endOf(api, assessmentId)).toMatchObject({ status: 'failed', error: { code: 'CONSENT_MISSING' } })
  expect(await platform.provider.caseCalls()).toEqual([])
  expect((await expecting(200, records(patientId))).body).toMatchObject({ status: 'withdrawn', granted: false })
})

test('a service with a consent cache removes an answer when the consent is withdrawn, and gets no old answer afterwards', async () => {
  const ask: AskConsent = async ({ patientId }) => {
    const { status, body } = await records(patientId)
    if (status !== 200) return 'unavailable'
    return at(body, 'granted') === true ? 'granted' : 'not-granted'
  }
  const client = await openConsentClient({ ask, events: servers.store, now: () => new Date() })
  const question = {
    orgId: platform.process.credentials.org_id,
    patientId: await consentedPatient(api, terms),
    code: 'ai_analysis',
  }
  const check = () => client.check(question, signal)
  await waitFor('a kept answer', async () => ((await check()) === 'granted' ? true : undefined))
  await whileWritesWait(async () => {
    expect(await check()).toBe('granted')
    await decideConsent(api, question.patientId, terms, 'withdrawn')
    await waitFor('an answer that is not kept', async () => ((await check()) === 'unavailable' ? true : undefined))
  })
  await waitFor('the new answer', async () => ((await check()) === 'not-granted' ? true : undefined))
  expect(await client.check({ ...question, patientId: randomUUID() }, signal)).toBe('not-granted')
  await client.close()
})
