import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actorContext } from '../../../app/demo/members.ts'
import type { DomainEvent } from '../../../engine/store/events.ts'
import type { Pool } from '../../../platform/database/database.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { partsOf } from '../../../read-api/audit/subject-queries.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { goldenFact } from '../../golden-events/golden-facts.ts'
import { at, caseFact, consentFact, ids, patientFact } from '../../streams/facts.ts'
import { imageFact } from '../../streams/image-facts.ts'
import { notificationIds } from '../../streams/notification-facts.ts'
import { roleFact, userFact, userIds } from '../../streams/user-facts.ts'
import { openAuditWorld, type AuditWorld, type PlacedEvent } from './audit-world.ts'

interface Item {
  readonly event_id: string
  readonly type: string
  readonly stream: string
  readonly position: string
  readonly occurred_at: string
  readonly recorded_at: string
  readonly actor: unknown
  readonly data: Readonly<Record<string, unknown>>
  readonly sealed_members: readonly string[]
}

let audit: AuditWorld

beforeAll(async () => {
  audit = await openAuditWorld()
})
afterAll(() => audit.close())

const idsOf = (items: readonly { readonly event_id?: string; readonly id?: string }[]) =>
  items.map(({ event_id: eventId, id }) => eventId ?? id)

async function get(orgId: string | null, query: object, scopes?: readonly string[], more: object = {}) {
  const headers = { ...(await audit.token(orgId, scopes)), ...more }
  const search = new URLSearchParams(Object.entries(query)).toString()
  const answer = await audit.t.app.inject({ url: `/v1/audit/timeline?${search}`, headers })
  return { status: answer.statusCode, body: answer.json() }
}

/** All pages of a timeline. */
async function timeline(orgId: string | null, query: object, scopes?: readonly string[]): Promise<Item[]> {
  const items: Item[] = []
  for (let cursor: string | null | undefined = undefined; cursor !== null;) {
    const answer = await get(orgId, cursor === undefined ? query : { ...query, cursor }, scopes)
    expect(answer.status).toBe(200)
    items.push(...answer.body.data)
    cursor = answer.body.next_cursor
  }
  return items
}

/** Many streams of two patients of one organisation, in a random order. Returns whose event each is. */
async function mixedHistory(orgId: string, patients: readonly string[], count: number) {
  const cases = patients.flatMap((patientId) => Array.from({ length: 4 }, () => ({ patientId, caseId: randomUUID() })))
  const events = new Map<string, PlacedEvent[]>()
  const add = (stream: string, ...all: readonly DomainEvent[]) =>
    events.set(
      stream,
      all.map((event) => ({ stream, event })),
    )
  for (const patientId of patients) {
    const usual = { patientId, organisationId: ids.org }
    add(
      `patient-${orgId}-${patientId}`,
      patientFact('PatientRegistered', usual),
      patientFact('PatientCorrected', { patientId }),
    )
    const consents = Array.from({ length: count }, () =>
      consentFact('ConsentRecorded', { ...usual, consentId: randomUUID() }),
    )
    add(`consent-${orgId}-${patientId}`, ...consents)
  }
  for (const { patientId, caseId } of cases) {
    add(
      `case-${orgId}-${caseId}`,
      caseFact('CaseOpened', { caseId, patientId }),
      caseFact('CaseClosed', { caseId, patientId }),
    )
    const imageId = randomUUID()
    add(
      `image-${orgId}-${imageId}`,
      imageFact('ImageDeclared', { imageId, patientId, caseId }),
      imageFact('ImageReceived', { imageId }),
    )
  }
  while (events.size > 0) {
    const streams = [...events.keys()]
    const stream = streams[Math.floor(Math.random() * streams.length)] ?? ''
    const [next, ...left] = events.get(stream) ?? []
    if (left.length === 0) events.delete(stream)
    else events.set(stream, left)
    if (next !== undefined) await audit.append(orgId, next)
  }
  await audit.caughtUp()
  return cases
}

describe('the timeline of a patient', () => {
  it('has the events of all its streams in the order of the log, by any page size, in both directions', async () => {
    const orgId = randomUUID()
    const [patientId, otherId] = [randomUUID(), randomUUID()] as const
    const cases = await mixedHistory(orgId, [patientId, otherId], 12)
    const log = await audit.log()
    const ofCase = cases.filter((one) => one.patientId === patientId).map(({ caseId }) => caseId)
    const ofPatient = log.filter(({ stream, data }) => {
      const text = JSON.stringify(data)
      return (
        stream.includes(orgId) &&
        !stream.includes(otherId) &&
        (text.includes(patientId) ||
          stream.includes(patientId) ||
          (stream.startsWith('image-') &&
            log.some((each) => each.stream === stream && JSON.stringify(each.data).includes(patientId))))
      )
    })
    expect(ofPatient.length).toBe(2 + 12 + 4 * 4)
    for (const limit of [1, 7, 200]) {
      expect(idsOf(await timeline(orgId, { patient_id: patientId, limit }))).toEqual(idsOf(ofPatient))
      expect(idsOf(await timeline(orgId, { patient_id: patientId, limit, order: 'desc' }))).toEqual(
        idsOf(ofPatient.toReversed()),
      )
    }
    const [caseId = ''] = ofCase
    const shown = await timeline(orgId, { case_id: caseId, limit: 3 })
    expect(shown.map(({ type }) => type).toSorted()).toEqual([
      'CaseClosed',
      'CaseOpened',
      'ImageDeclared',
      'ImageReceived',
    ])
  })

  it('finds its place in a long stream with few reads', async () => {
    const orgId = randomUUID()
    const patientId = randomUUID()
    const consents = () => consentFact('ConsentRecorded', { patientId, consentId: randomUUID() })
    for (let turn = 0; turn < 4; turn += 1)
      await audit.appendTogether(orgId, `consent-${orgId}-${patientId}`, Array.from({ length: 250 }, consents))
    await audit.caughtUp()
    const pages = await timeline(orgId, { patient_id: patientId, limit: 200 })
    expect(pages).toHaveLength(1_000)
    expect(new Set(idsOf(pages)).size).toBe(1_000)
    const first = await get(orgId, { patient_id: patientId, limit: 200 })
    const before = audit.reads()
    const middle = await get(orgId, { patient_id: patientId, limit: 10, cursor: first.body.next_cursor })
    expect(middle.body.data).toHaveLength(10)
    // The search halves 1,000 events until 64 are left. Then come reads of 16.
    expect(audit.reads() - before).toBeLessThanOrEqual(4 + 5 + 2)
  })

  it.each(['asc', 'desc'] as const)(
    'has each of many streams once, in the order %s, although one goes on',
    async (order) => {
      const [orgId, patientId] = [randomUUID(), randomUUID()]
      const opened = Array.from({ length: 210 }, () => {
        const caseId = randomUUID()
        return { stream: `case-${orgId}-${caseId}`, caseId, event: caseFact('CaseOpened', { caseId, patientId }) }
      })
      await audit.append(orgId, ...opened)
      await audit.caughtUp()
      const [oldest] = opened
      if (oldest === undefined) throw new Error('no case')
      const question = { order, after: undefined, from: undefined, to: undefined, categories: undefined }
      const streams: string[] = []
      for await (const { stream } of partsOf(
        audit.pool,
        { kind: 'patient', id: patientId, tenant: tenantOfFact(orgId) },
        question,
      )) {
        streams.push(stream)
        if (streams.length > 1) continue
        const { caseId } = oldest
        await audit.append(orgId, { ...oldest, event: caseFact('CaseClosed', { caseId, patientId }) })
        await audit.caughtUp()
      }
      expect(streams.toSorted()).toEqual(opened.map(({ stream }) => stream).toSorted())
    },
  )

  it('has the events of the wanted types and times only', async () => {
    const orgId = randomUUID()
    const patientId = randomUUID()
    await mixedHistory(orgId, [patientId], 3)
    const query = { patient_id: patientId }
    const all = await timeline(orgId, query)
    const corrected = await timeline(orgId, { ...query, types: 'PatientCorrected, CaseOpened' })
    expect(idsOf(corrected)).toEqual(idsOf(all.filter(({ type }) => ['PatientCorrected', 'CaseOpened'].includes(type))))
    const [from = '', to = ''] = [all[3]?.recorded_at, all.at(-3)?.recorded_at]
    const within = await timeline(orgId, { ...query, from, to, limit: 2 })
    expect(idsOf(within)).toEqual(idsOf(all.filter((item) => item.recorded_at >= from && item.recorded_at < to)))
    expect(await timeline(orgId, { ...query, to: '2020-01-01T00:00:00Z' })).toEqual([])
    expect(await get(orgId, { ...query, from: to, to: from })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/from', detail: 'must not be after `to`' }] },
    })
    const refused = await get(orgId, { ...query, types: 'PatientRegistered,Nothing' })
    expect(refused).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/types', code: 'unknown-event-type' }] },
    })
    expect((await get(orgId, { ...query, types: 'consent.granted' })).status).toBe(400)
  })

  it('has the events of a period although the clock of the event store has stepped back by an hour', async () => {
    const [orgId, patientId] = [randomUUID(), randomUUID()]
    await mixedHistory(orgId, [patientId], 3)
    const all = await timeline(orgId, { patient_id: patientId })
    const [from = '', to = ''] = [all[3]?.recorded_at, all.at(-3)?.recorded_at]
    await audit.pool.query(
      `update audit_subjects.stream_ends
         set first_at = $2::timestamptz + interval '1 hour', last_at = $1::timestamptz - interval '1 hour'
       where stream like $3`,
      [from, to, `%-${orgId}-%`],
    )
    const within = await timeline(orgId, { patient_id: patientId, from, to, limit: 2 })
    expect(idsOf(within)).toEqual(idsOf(all.filter((item) => item.recorded_at >= from && item.recorded_at < to)))
  })

  it('looks at a limited number of events for a page, and the next page goes on behind them', async () => {
    const orgId = randomUUID()
    const patientId = randomUUID()
    const stream = `patient-${orgId}-${patientId}`
    await audit.append(orgId, { stream, event: patientFact('PatientRegistered', { patientId }) })
    const corrected = Array.from({ length: 500 }, () => patientFact('PatientCorrected', { patientId }))
    for (let turn = 0; turn < 10; turn += 1) await audit.appendTogether(orgId, stream, corrected)
    await audit.append(orgId, { stream, event: patientFact('PatientRegistrationRevoked', { patientId }) })
    await audit.caughtUp()
    const query = { patient_id: patientId, types: 'PatientRegistrationRevoked' }
    const first = await get(orgId, query)
    expect(first.body).toMatchObject({ data: [], has_more: true })
    const second = await get(orgId, { ...query, cursor: first.body.next_cursor })
    expect(second.body).toMatchObject({ data: [{ type: 'PatientRegistrationRevoked' }], has_more: false })
  })

  it('has pages of at most 2 MiB', async () => {
    const orgId = randomUUID()
    const patientId = randomUUID()
    const stream = `patient-${orgId}-${patientId}`
    const identifiers = Array.from({ length: 50 }, () => ({
      scheme: '\u0001'.repeat(255),
      value: '\u0001'.repeat(255),
    }))
    const person = { givenName: 'Ada', familyName: 'Canary', dob: '1970-02-28', identifiers }
    await audit.append(orgId, { stream, event: patientFact('PatientRegistered', { patientId }) })
    for (let turn = 0; turn < 20; turn += 1)
      await audit.append(orgId, { stream, event: patientFact('PatientCorrected', { patientId, person }) })
    await audit.caughtUp()
    const query = { patient_id: patientId, with_phi: true, limit: 200 }
    let shown = 0
    for (let cursor: string | null | undefined = undefined, pages = 0; cursor !== null; pages += 1) {
      const answer = await get(orgId, cursor === undefined ? query : { ...query, cursor }, [
        'audit:read',
        'audit:read-phi',
      ])
      expect(Buffer.byteLength(JSON.stringify(answer.body))).toBeLessThan(2 * 1024 * 1024)
      shown += answer.body.data.length
      cursor = answer.body.next_cursor
      expect(pages).toBeLessThan(10)
    }
    expect(shown).toBe(21)
  })

  it('shows personal members only with the scope for them, and none of an erased person', async () => {
    const orgId = randomUUID()
    const patientId = randomUUID()
    const stream = `patient-${orgId}-${patientId}`
    await audit.append(orgId, { stream, event: patientFact('PatientRegistered', { patientId }) })
    await audit.caughtUp()
    const query = { patient_id: patientId }
    const [sealed] = await timeline(orgId, query)
    expect(sealed).toMatchObject({
      data: { patientId, person: null, registeredAt: at(0) },
      sealed_members: ['person'],
      occurred_at: at(0),
      actor: { kind: 'client', client_id: 'test', user_id: null, process: null },
    })
    expect(JSON.stringify(sealed)).not.toContain('fingerprint')
    expect(await get(orgId, { ...query, with_phi: true })).toMatchObject({
      status: 403,
      body: { code: 'insufficient-scope', required_scopes: ['audit:read-phi'] },
    })
    const scopes = ['audit:read', 'audit:read-phi']
    const [opened] = await timeline(orgId, { ...query, with_phi: true }, scopes)
    expect(opened).toMatchObject({ data: { person: { givenName: 'Canary' } }, sealed_members: [] })
    const recorded = audit.accesses.filter((access) => access.orgId === orgId)
    expect(recorded).toMatchObject([{ patientIds: [patientId], categories: ['timeline'], operation: 'readTimeline' }])
    await audit.world.vault.destroySubject(orgId, patientId)
    const [erased] = await timeline(orgId, { ...query, with_phi: true }, scopes)
    expect(erased).toMatchObject({ data: { person: null }, sealed_members: sealed?.sealed_members })
  })
})

describe('the timeline of a user', () => {
  it('has for an organisation what happened in it, and names no other one', async () => {
    const [orgId, otherOrg, userId] = [randomUUID(), randomUUID(), randomUUID()]
    const user = { stream: `user-${userId}` }
    const member = (organisationId: string) => ({ userId, organisationId, membershipId: randomUUID() })
    const both = userFact('UserCreated', { userId, organisationIds: [orgId, otherOrg].map(tenantOfFact) })
    for (const org of [orgId, otherOrg]) {
      const assigned = roleFact('MembershipRoleAssigned', { ...member(org), organisationId: tenantOfFact(org) })
      await audit.append(org, { stream: `role-${org}`, event: assigned })
    }
    await audit.append(orgId, { ...user, event: both })
    await audit.append(otherOrg, {
      ...user,
      event: userFact('UserSuspended', { userId, organisationIds: [tenantOfFact(otherOrg)] }),
    })
    await audit.caughtUp()
    const typesFor = async (org: string | null, query = {}) =>
      (await timeline(org, { user_id: userId, ...query })).map(({ type }) => type)
    expect(await typesFor(orgId)).toEqual(['MembershipRoleAssigned', 'UserCreated'])
    expect(await typesFor(otherOrg)).toEqual(['MembershipRoleAssigned', 'UserCreated', 'UserSuspended'])
    expect(await typesFor(null)).toEqual([
      'MembershipRoleAssigned',
      'MembershipRoleAssigned',
      'UserCreated',
      'UserSuspended',
    ])
    expect(JSON.stringify(await timeline(orgId, { user_id: userId }))).not.toContain(otherOrg)
    expect((await get(randomUUID(), { user_id: userId })).status).toBe(404)
  })

  it('begins with the newest of 1,000 events of many streams, and reads few rows for them', async () => {
    const [org, userId] = [tenantOfFact(randomUUID()), randomUUID()]
    const [earlier, later] = [1_000_500, 1_000_995]
    await audit.pool.query(
      `insert into audit_subjects.mentions (kind, subject_id, org_id, stream, stream_revision, commit_position, recorded_at)
       select 'user', $1, $2, 'task-' || n, 0, 1000000 + n, now() from generate_series(1, 1000) n`,
      [userId, org],
    )
    for (const commit of [earlier, later]) {
      await audit.pool.query(
        `insert into audit_subjects.subject_streams (kind, subject_id, org_id, stream) values ('user', $1, $2, $3)`,
        [userId, org, `user-${commit}`],
      )
      await audit.pool.query(
        `insert into audit_subjects.stream_ends
           (stream, first_commit, first_prepare, first_at, last_commit, last_at, stream_revision) values ($1, 1, 1, now(), $2, now(), 1)`,
        [`user-${commit}`, commit],
      )
    }
    const sizes: number[] = []
    const counted: Pick<Pool, 'query'> = Object.assign(Object.create(audit.pool), {
      async query(text: string, values: unknown[]) {
        const found = await audit.pool.query(text, values)
        sizes.push(found.rows.length)
        return found
      },
    })
    const question = { order: 'desc', after: undefined, from: undefined, to: undefined, categories: undefined } as const
    const commits: bigint[] = []
    for await (const { lastCommit } of partsOf(counted as Pool, { kind: 'user', id: userId, tenant: org }, question)) {
      commits.push(lastCommit)
      if (commits.length === 10) expect(sizes).toEqual([2, 200])
    }
    expect(commits).toHaveLength(1_002)
    expect(commits).toEqual(commits.toSorted((one, other) => Number(other - one)))
    expect(commits.filter((commit) => commit === BigInt(later))).toHaveLength(2)
  })
})

describe('timelines', () => {
  it('need the permission of an actor too', async () => {
    const orgId = randomUUID()
    const query = { patient_id: randomUUID() }
    const claims = { trustedActorContext: true }
    const asActor = async (permissions: readonly string[]) => {
      return get(orgId, query, ['audit:read'], {
        ...(await audit.token(orgId, ['audit:read'], claims)),
        'x-actor-context': actorContext(orgId, permissions),
      })
    }
    expect((await asActor(['users:admin'])).body).toMatchObject({
      code: 'permission-missing',
      required_permission: 'audit:read',
    })
    expect((await asActor(['audit:read'])).body).toMatchObject({ code: 'not-found' })
  })

  it('belong to the organisation of the caller', async () => {
    const orgId = randomUUID()
    const patientId = randomUUID()
    const stream = `patient-${orgId}-${patientId}`
    await audit.append(orgId, { stream, event: patientFact('PatientRegistered', { patientId }) })
    await audit.caughtUp()
    const query = { patient_id: patientId }
    const unknown = await get(orgId, { patient_id: randomUUID() })
    expect(unknown).toMatchObject({ status: 404, body: { code: 'not-found' } })
    expect((await get(randomUUID(), query)).body).toEqual({
      ...unknown.body,
      instance: expect.anything(),
      request_id: expect.anything(),
    })
    expect((await get(null, query)).body).toMatchObject({ code: 'org-required' })
    expect((await get(null, { ...query, org_id: orgId })).status).toBe(200)
    expect((await get(orgId, query, ['patients:read'])).status).toBe(403)
  })

  it('have exactly one subject', async () => {
    const orgId = randomUUID()
    for (const query of [{}, { patient_id: randomUUID(), case_id: randomUUID() }])
      expect(await get(orgId, query)).toMatchObject({ status: 400, body: { code: 'one-subject-required' } })
    expect((await get(orgId, { patient_id: 'x' })).body).toMatchObject({ code: 'validation-failed' })
  })

  it('have every event of the platform that is about a subject', async () => {
    // One event of each type, in the story of the tests: one patient, its case and everything that follows.
    const types = catalogue.types.filter((type) => !catalogue.entry(type)?.category.includes('.'))
    const events = types.map((type) => {
      const { stream, decoded } = goldenFact(type)
      const data = type === 'ForeignEventReceived' ? { ...decoded, phiSubject: ids.patient } : decoded
      return { stream, event: { type, data } }
    })
    await audit.append(ids.org, ...events)
    await audit.caughtUp()
    const shown = await Promise.all(subjects.map(async ([query]) => timeline(null, { ...query, org_id: ids.org })))
    expect(shown.map((items) => categoriesOf(items.map(({ type }) => type)))).toEqual(
      subjects.map(([, expected]) => expected),
    )
    const seen = new Set(shown.flat().map(({ type }) => type))
    expect(categoriesOf(types.filter((type) => !seen.has(type)))).toEqual(aboutOthers)
    // The name of its stream is a hash of an identifier.
    expect(shown.flat().find(({ type }) => type === 'ReservationClaimed')?.stream).toBe('reservation')
  })
})

function categoriesOf(types: readonly string[]): string[] {
  return [...new Set(types.map((type) => catalogue.entry(type)?.category ?? ''))].toSorted()
}

/** The categories of the events of each subject. */
const subjects: readonly [object, readonly string[]][] = [
  [
    { patient_id: ids.patient },
    `ai_review ai_review_access ai_review_slot assessment audit_export case consent foreign_event humanreviewtask image
      notification patient patient_erasure reservation webhook_delivery workflow_instance`.split(/\s+/),
  ],
  [
    { case_id: ids.case },
    `ai_review ai_review_access ai_review_slot assessment case humanreviewtask image webhook_delivery
      workflow_instance`.split(/\s+/),
  ],
  [{ assessment_id: ids.assessment }, ['assessment']],
  [{ ai_review_id: ids.review }, ['ai_review']],
  [{ task_id: ids.task }, ['humanreviewtask']],
  [{ workflow_instance_id: ids.workflowInstance }, ['workflow_instance']],
  [{ notification_id: notificationIds.notification }, ['notification']],
  [{ user_id: userIds.user }, ['notificationpreferences', 'role', 'user']],
  [{ client_id: ids.client }, ['oauth_client']],
  [{ subscription_id: ids.subscription }, ['webhook_subscriptions']],
]
/**
 * Categories with events that are about none of these subjects: rules and terms, reads, and what only decisions read. A later
 * event of a reservation names the claim. An event about a role names no user.
 */
const aboutOthers =
  `access_log access_month ai_review_budget ai_review_places backups consent_type event_key humanreviewpolicy log_seals minted_id notificationqueuerequest
    notificationsubscription notificationtemplate oauth_scope operations permission projection reservation role suppression
    token_key webhook_recovery workflow_definition write_probe`.split(/\s+/)
