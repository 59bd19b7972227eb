import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { expecting } from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { expectLogged, readAll, readAtRandom, recordsOf } from './access-run.ts'
import { openOrganisationOfReads, type OrganisationOfReads } from './recorded-reads.ts'

const adminSecret = 'an-administrator-secret-of-40-characters'
let platform: TestPlatform
let own: OrganisationOfReads
let other: OrganisationOfReads

beforeAll(async () => {
  platform = await startTestPlatform({ env: { ACCESS_LOG_WINDOW_SECONDS: '0', ADMIN_API_SECRET: adminSecret } })
  const { baseUrl, process } = platform
  const connect: typeof platform.connect = (client) => platform.connect(client)
  const connecting = { baseUrl, adminSecret, productId: process.credentials.product_id, connect }
  own = await openOrganisationOfReads(connecting)
  other = await openOrganisationOfReads(connecting)
  await expectLogged(await readAll(own), [own])
})
afterAll(() => platform.stop())

const log = (query: Readonly<Record<string, string>>, by = own.auditor) =>
  by.call(`/v1/audit/access-log?${new URLSearchParams(query).toString()}`)

describe('the access log', () => {
  it('knows every operation that shows something personal', async () => {
    const document: unknown = await (await fetch(`${platform.baseUrl}/openapi.json`)).json()
    const operations = Object.values(Object(at(document, 'paths'))).flatMap((methods) => Object.values(Object(methods)))
    const declared = operations
      .filter((operation) => JSON.stringify(at(operation, 'parameters') ?? []).includes('x-purpose-of-use'))
      .map((operation) => textAt(operation, 'operationId'))
    // Those whose answers the run below does not get have the same records.
    const others =
      `claimHumanReviewTask decideHumanReviewTask releaseHumanReviewTask cancelWorkflowInstance submitAssessment
        submitImage readTimeline readAsOf getExport getAiReviewProvenance`.split(/\s+/)
    const read = own.reads.filter(({ shows }) => shows !== undefined).map(({ operation }) => operation)
    expect(new Set([...read, ...others])).toEqual(new Set(declared))
  })

  it('has each answer that left and showed something personal, and no other', async () => {
    const sent = await readAtRandom([own, other], { count: 200, seed: 7 })
    expect(sent.filter(({ read, answer }) => answer?.status !== read.status)).toEqual([])
    await expectLogged(sent, [own, other])
  })

  it('lacks no answer that left before the platform was killed', async () => {
    let kills = 0
    const sent = await readAtRandom([own, other], {
      count: 120,
      seed: 8,
      async after(done) {
        if (done !== 80) return
        await platform.process.kill()
        kills += 1
        await platform.restart()
      },
    })
    expect(kills).toBe(1)
    expect(sent.filter(({ answer }) => answer === undefined).length).toBeLessThan(10)
    await expectLogged(sent, [own, other])
  })

  it('of one organisation has nothing of another one', async () => {
    const [mine, theirs] = [await recordsOf(own), await recordsOf(other)]
    expect([...mine.keys()].filter((id) => theirs.has(id))).toEqual([])
    for (const filter of [{ patient_id: other.patients[0] }, { client_id: other.clientIds[0] ?? '' }]) {
      expect(at((await expecting(200, log(filter))).body, 'data')).toEqual([])
      expect((await log({ ...filter, org_id: other.orgId })).status).toBe(404)
    }
  })

  it('lists the accesses to a patient, by an actor, of a category and a time', async () => {
    const [patient] = own.patients
    const all = at((await expecting(200, log({ patient_id: patient, limit: '200' }))).body, 'data')
    const records = Object.values(Object(all)) as readonly unknown[]
    expect(records.length).toBeGreaterThan(20)
    const instants = records.map((record) => textAt(record, 'at'))
    expect(instants).toEqual(instants.toSorted().toReversed())
    const ofActor = at((await log({ actor_user_id: own.clinician, category: 'notes' })).body, 'data')
    expect(new Set(Object.values(Object(ofActor)).map((record) => textAt(record, 'operation')))).toEqual(
      new Set(['getHumanReviewTask', 'decideHumanReviewTask']),
    )
    const [newest = '', oldest = ''] = [instants[0], instants.at(-1)]
    const until = at((await log({ patient_id: patient, from: oldest, to: newest, limit: '200' })).body, 'data')
    expect(Object.values(Object(until)).map((record) => textAt(record, 'at'))).toEqual(
      instants.filter((instant) => instant < newest),
    )
    expect((await log({ patient_id: patient, from: newest, to: oldest })).body).toMatchObject({
      errors: [{ pointer: '/from', detail: 'must not be after `to`' }],
    })
    expect((await log({ category: 'record' })).body).toMatchObject({ code: 'one-filter-required', status: 400 })
    expect((await log({ patient_id: patient }, own.clients.client)).status).toBe(403)
  })

  it('has the timeline with personal members, and not without', async () => {
    const scopes = ['audit:read', 'audit:read-phi']
    const headers = { 'x-admin-api-secret': adminSecret, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'Auditor', org_id: own.orgId, scopes })
    const made: unknown = await (
      await fetch(`${platform.baseUrl}/v1/auth/clients`, { method: 'POST', headers, body })
    ).json()
    const clientId = textAt(made, 'client_id')
    const auditor = await platform.connect({ client_id: clientId, client_secret: textAt(made, 'client_secret') })
    const path = `/v1/audit/timeline?patient_id=${own.patients[0]}`
    await expecting(200, auditor.call(path))
    await expecting(200, auditor.call(`${path}&with_phi=true`))
    const found = await waitFor('the access', async () => {
      const { body: page } = await log({ client_id: clientId })
      const data = Object.values(Object(at(page, 'data'))) as readonly unknown[]
      return data.length > 0 ? data : undefined
    })
    expect(found).toMatchObject([
      { operation: 'readTimeline', categories: ['timeline'], patient_ids: [own.patients[0]], count: 1 },
    ])
  })

  it('names to a patient who saw the own content', async () => {
    const contact = own.reads.find(({ operation }) => operation === 'getUserContact')
    const userId = contact?.shows?.user ?? ''
    const headers = { 'x-actor-context': actorContext(own.orgId, [], userId) }
    const { body } = await expecting(200, own.clients.client.call('/v1/users/me/access-log?limit=200', { headers }))
    const data = Object.values(Object(at(body, 'data'))) as readonly unknown[]
    expect(data.length).toBeGreaterThan(20)
    expect(data).toContainEqual({
      at: expect.any(String),
      organisation: own.orgId,
      client: 'Reader',
      user: null,
      operation: 'getPatient',
      categories: ['record'],
      purpose: null,
      count: 1,
    })
    expect(data).toContainEqual(expect.objectContaining({ operation: 'getUserContact', categories: ['contact'] }))
    const stranger = { 'x-actor-context': actorContext(own.orgId, []) }
    expect((await own.clients.client.call('/v1/users/me/access-log', { headers: stranger })).status).toBe(404)
  })
})
