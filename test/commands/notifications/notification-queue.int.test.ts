import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { mostRequeued } from '../../../streams/notification-queue-request/events.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { patientFact } from '../../streams/facts.ts'
import { notificationFact, trigger } from '../../streams/notification-facts.ts'
import { refusalOf } from '../users/write-callers.ts'
import { openNotificationsApi, permanent, type NotificationsApi } from './notifications-api.ts'
import { idsIn, type Headers } from './settings-api.ts'

let n: NotificationsApi
let hospital: Headers
beforeAll(async () => {
  n = await openNotificationsApi()
  hospital = await n.api.token(n.hospital.orgId, ['notifications:send', 'notifications:admin'])
})
afterAll(() => n.close())

const post = (path: string, body?: object, headers = n.client) => n.call('POST', `/admin/queue${path}`, headers, body)
const failedList = async (headers = n.client) => {
  const { body } = await n.call('GET', '/admin/queue/failed', headers)
  return (body as { data: { notificationId: string }[] }).data
}
const failedIds = async () => (await failedList()).map(({ notificationId }) => notificationId)
const statusOf = async (id: string) => ((await n.get(id)).body as { status: string }).status

async function failed(outcome = permanent): Promise<string> {
  const id = await n.sent()
  await n.attempt(id, outcome)
  return id
}

describe('GET /v1/notifications/admin/queue/failed', () => {
  test('lists failed notifications of the organisation for seven days, the latest failure first', async () => {
    const first = await failed()
    n.api.world.pass(86_400)
    const second = await failed()
    expect(await failedIds()).toEqual([second, first])
    expect((await failedList())[0]).toEqual({
      notificationId: second,
      templateCode: 'ward-news',
      channel: 'email',
      orgId: n.clinic.orgId,
      errorCode: 'provider_auth_failed',
      attempts: 1,
      failedAt: n.api.world.now().toISOString(),
      correlationId: null,
    })
    expect(await failedList(hospital)).toEqual([])
    n.api.world.pass(6 * 86_400)
    expect(await failedIds()).toEqual([second, first])
    n.api.world.pass(1)
    expect(await failedIds()).toEqual([second])
    n.api.world.pass(86_400)
    expect(await failedIds()).toEqual([])
    expect(await statusOf(first)).toBe('failed')
  })

  test('needs notifications:admin', async () => {
    const reader = await n.api.token(n.clinic.orgId, ['notifications:read'])
    expect(await n.call('GET', '/admin/queue/failed', reader)).toMatchObject({ status: 403 })
  })
})

describe('POST /v1/notifications/admin/queue/failed/{id}/retry: failed → queued', () => {
  test('answers 202, takes it from the list, and gives it five fresh tries while attempts count on', async () => {
    const id = await failed()
    const headers = { ...n.client, 'idempotency-key': randomUUID() }
    const answer = await post(`/failed/${id}/retry`, undefined, headers)
    expect(answer).toMatchObject({
      status: 202,
      headers: { location: `/v1/notifications/${id}` },
      body: { id, status: 'queued' },
    })
    expect(await failedIds()).not.toContain(id)
    for (let tries = 0; tries < 5; tries++) {
      await n.attempt(id, { kind: 'transient', errorCode: 'provider_5xx', errorDetail: null, retryAfterMs: 0 })
      n.api.world.pass(60)
    }
    expect((await n.get(id)).body).toMatchObject({ status: 'failed', attempts: 6, errorCode: 'provider_5xx' })
    const again = await post(`/failed/${id}/retry`, undefined, headers)
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([202, 'true'])
    expect(await statusOf(id)).toBe('failed')
  })

  test('is a 409 for any other status, also after delivery_unknown was retried', async () => {
    const id = await failed({ kind: 'unknown', errorDetail: null })
    expect((await n.get(id)).body).toMatchObject({ status: 'failed', errorCode: 'delivery_unknown' })
    expect(await post(`/failed/${id}/retry`)).toMatchObject({ status: 202 })
    expect(refusalOf(await post(`/failed/${id}/retry`))).toBe('409 notification-not-failed')
    expect(refusalOf(await post(`/failed/${await n.sent()}/retry`))).toBe('409 notification-not-failed')
  })

  test('is a 404 for what the organisation does not have', async () => {
    const id = await failed()
    expect(refusalOf(await post(`/failed/${id}/retry`, undefined, hospital))).toBe('404 not-found')
    expect(refusalOf(await post(`/failed/${randomUUID()}/retry`))).toBe('404 not-found')
    expect(await statusOf(id)).toBe('failed')
  })
})

describe('a notification of a rule of the platform about an event without an organisation', () => {
  const givenFailed = async () => {
    const notificationId = randomUUID()
    const rule = { ...trigger, eventId: randomUUID() }
    const of = { notificationId, organisationId: noOrganisation, phiSubject: notificationId }
    await n.api.append(
      notifications.of(noOrganisation, notificationId),
      notificationFact('NotificationCreated', { ...of, phiKeyOwner: 'platform', trigger: rule }),
      notificationFact('NotificationFailed', {
        notificationId,
        ended: null,
        failedAt: n.api.world.now().toISOString(),
      }),
    )
    return { id: notificationId, eventId: rule.eventId }
  }
  const platformClient = () => n.api.token(null, ['notifications:read', 'notifications:admin'])

  test('is read, listed and retried by a platform client that names no organisation', async () => {
    const { id, eventId } = await givenFailed()
    const platform = await platformClient()
    const one = await n.get(id, platform)
    expect(one).toMatchObject({ status: 200, body: { id, status: 'failed' } })
    expect(one.body).not.toHaveProperty('orgId')
    expect(idsIn(await n.call('GET', '', platform))).toEqual([id])
    const failures = (await n.call('GET', '/admin/queue/failed', platform)).body as { data: object[] }
    expect(failures.data).toMatchObject([{ notificationId: id }])
    expect(failures.data[0]).not.toHaveProperty('orgId')
    expect((await n.call('GET', `/admin/inbox?eventId=${eventId}`, platform)).body).toMatchObject({
      data: [{ eventId, notificationIds: [id] }],
    })
    expect(await post(`/failed/${id}/retry`, undefined, platform)).toMatchObject({ status: 202, body: { id } })
    expect((await n.get(id, platform)).body).toMatchObject({ status: 'queued' })
    const event = await n.api.world.otherStore.readLast(notifications.of(noOrganisation, id).stream)
    expect(event?.metadata).not.toHaveProperty('orgId')
  })

  test('is of no organisation, and no notification of an organisation is one', async () => {
    const { id } = await givenFailed()
    const own = await failed()
    expect(refusalOf(await n.get(id))).toBe('404 not-found')
    expect(refusalOf(await post(`/failed/${id}/retry`))).toBe('404 not-found')
    const platform = await platformClient()
    expect(refusalOf(await n.get(own, platform))).toBe('400 org-required')
    expect(refusalOf(await post(`/failed/${own}/retry`, undefined, platform))).toBe('400 org-required')
    expect((await n.call('GET', `/${own}?orgId=${n.clinic.orgId}`, platform)).body).toMatchObject({
      id: own,
      orgId: n.clinic.orgId,
    })
    expect(idsIn(await n.call('GET', '', platform))).not.toContain(own)
  })
})

describe('POST /v1/notifications/admin/queue/failed/retry', () => {
  test('brings back the failures of one kind since an instant', async () => {
    const earlier = await failed()
    n.api.world.pass(1)
    const since = n.api.world.now().toISOString()
    const ids = [await failed(), await failed()]
    const other = await failed({ kind: 'permanent', errorCode: 'invalid_recipient', errorDetail: null })
    const headers = { ...n.client, 'idempotency-key': randomUUID() }
    const body = { errorCode: 'provider_auth_failed', since }
    const answer = await post('/failed/retry', body, headers)
    expect(answer).toMatchObject({
      status: 202,
      headers: { location: '/v1/notifications/admin/queue/failed' },
      body: { retried: 2, hasMore: false },
    })
    for (const id of ids) expect(await statusOf(id)).toBe('queued')
    for (const id of [earlier, other]) expect(await statusOf(id)).toBe('failed')

    // Failed again in the meantime: the repeat answers as before and queues nothing.
    for (const id of ids) await n.attempt(id, permanent)
    const again = await post('/failed/retry', body, headers)
    expect([again.body, again.headers['idempotency-replayed']]).toEqual([answer.body, 'true'])
    for (const id of ids) expect(await statusOf(id)).toBe('failed')
    expect((await post('/failed/retry', body)).body).toEqual({ retried: 2, hasMore: false })
  })

  test('leaves out what is about a patient whose erasure has begun', async () => {
    n.api.world.pass(1)
    const since = n.api.world.now().toISOString()
    const patientId = randomUUID()
    await n.api.append(
      patients.of(n.clinic.orgId, patientId),
      patientFact('PatientRegistered', { patientId, organisationId: n.clinic.orgId }),
    )
    const erased = await n.sent({ patientId })
    await n.attempt(erased, permanent)
    const id = await failed()
    n.api.world.vault.closeSubject(n.clinic.orgId, patientId)
    const answer = await post('/failed/retry', { errorCode: 'provider_auth_failed', since })
    expect(answer).toMatchObject({ status: 202, body: { retried: 1, hasMore: false } })
    expect(await statusOf(id)).toBe('queued')
  })

  test('reaches a failure behind a thousand of such a patient', async () => {
    n.api.world.pass(1)
    const since = n.api.world.now().toISOString()
    const [patientId, organisationId] = [randomUUID(), n.clinic.orgId]
    const ofPatient = { organisationId, phiSubject: patientId, trigger: null }
    const fail = async () => {
      const notificationId = randomUUID()
      const failure = { notificationId, ended: null, errorCode: 'provider_5xx', failedAt: since } as const
      const facts = [
        notificationFact('NotificationCreated', { ...ofPatient, notificationId }),
        notificationFact('NotificationFailed', failure),
      ]
      const target = notifications.of(organisationId, notificationId)
      await n.api.world.store.append(target, 'no_stream', facts, contextOf({ ...n.api.world, orgId: organisationId }))
    }
    for (let made = 0; made < mostRequeued; made += 50) await Promise.all(Array.from({ length: 50 }, fail))
    n.api.world.pass(1)
    const busy = { kind: 'transient', errorCode: 'provider_5xx', errorDetail: null, retryAfterMs: 0 } as const
    const id = await n.sent()
    for (let tries = 0; tries < 5; tries += 1) {
      await n.attempt(id, busy)
      n.api.world.pass(60)
    }
    n.api.world.vault.closeSubject(organisationId, patientId)
    const answer = await post('/failed/retry', { errorCode: 'provider_5xx', since })
    expect(answer.body).toEqual({ retried: 1, hasMore: false })
    expect(await statusOf(id)).toBe('queued')
  })

  test('touches no other organisation, and needs both members', async () => {
    const id = await failed()
    const body = { errorCode: 'provider_auth_failed', since: '2026-03-01T00:00:00Z' }
    expect((await post('/failed/retry', body, hospital)).body).toEqual({ retried: 0, hasMore: false })
    expect(await statusOf(id)).toBe('failed')
    expect(refusalOf(await post('/failed/retry', { errorCode: 'lost', since: body.since }))).toBe(
      '400 validation-failed /errorCode',
    )
    expect(refusalOf(await post('/failed/retry', { errorCode: body.errorCode }))).toBe('400 validation-failed /since')
  })
})

describe('POST /v1/notifications/admin/queue/re-enqueue-stuck', () => {
  /** Queued, and due in two seconds. */
  const queued = () => failed({ kind: 'transient', errorCode: 'provider_5xx', errorDetail: null, retryAfterMs: 0 })
  /** Ends what the tests before left in the queue. */
  beforeEach(async () => {
    n.api.world.pass(400)
    const { body } = await post('/re-enqueue-stuck', { dryRun: true })
    for (const id of (body as { ids: string[] }).ids) await n.attempt(id, permanent)
  })

  test('makes notifications that were due five minutes ago due now; dryRun only counts them', async () => {
    const ids = [await queued(), await queued()]
    n.api.world.pass(301)
    expect((await post('/re-enqueue-stuck')).body).toEqual({ requeued: 0, ids: [], skipped: 0 })
    n.api.world.pass(1)
    const planned = await post('/re-enqueue-stuck', { dryRun: true })
    expect([planned.status, planned.body]).toEqual([200, { requeued: 2, ids, skipped: 0 }])
    const due = n.api.world.now().toISOString()
    expect((await post('/re-enqueue-stuck')).body).toEqual(planned.body)
    for (const id of ids) expect((await n.get(id)).body).toMatchObject({ status: 'queued', nextAttemptAt: due })
    expect((await post('/re-enqueue-stuck', { dryRun: true })).body).toEqual({ requeued: 0, ids: [], skipped: 0 })
  })

  test('takes the oldest up to the limit, and repeats its answer', async () => {
    const [first] = [await queued(), await queued()]
    n.api.world.pass(10)
    const body = { olderThanSeconds: 5, limit: 1 }
    const headers = { ...n.client, 'idempotency-key': randomUUID() }
    const answer = await post('/re-enqueue-stuck', body, headers)
    expect(answer.body).toEqual({ requeued: 1, ids: [first], skipped: 1 })
    const again = await post('/re-enqueue-stuck', body, headers)
    expect([again.body, again.headers['idempotency-replayed']]).toEqual([answer.body, 'true'])
    expect((await post('/re-enqueue-stuck', { olderThanSeconds: 5 })).body).toMatchObject({ requeued: 1, skipped: 0 })
  })

  test('ends an attempt whose lease has ended as delivery_unknown', async () => {
    const id = await n.sent()
    await n.start(id)
    n.api.world.pass(19)
    expect((await post('/re-enqueue-stuck')).body).toEqual({ requeued: 0, ids: [], skipped: 0 })
    expect(await statusOf(id)).toBe('sending')
    n.api.world.pass(1)
    const nothingQueued = { requeued: 0, ids: [], skipped: 1 }
    expect((await post('/re-enqueue-stuck', { dryRun: true })).body).toEqual(nothingQueued)
    expect((await post('/re-enqueue-stuck')).body).toEqual(nothingQueued)
    expect((await n.get(id)).body).toMatchObject({ status: 'failed', errorCode: 'delivery_unknown' })
  })

  test('touches no other organisation', async () => {
    const id = await queued()
    n.api.world.pass(400)
    expect((await post('/re-enqueue-stuck', {}, hospital)).body).toEqual({ requeued: 0, ids: [], skipped: 0 })
    expect((await post('/re-enqueue-stuck')).body).toMatchObject({ ids: [id] })
  })
})

describe('GET /v1/notifications/admin/inbox', () => {
  test('shows an event once, with its notifications, and the rules that made none', async () => {
    const eventId = randomUUID()
    const organisationId = n.clinic.orgId
    const [first = '', second = ''] = [randomUUID(), randomUUID()].toSorted()
    const triggerOf = (subscriptionId: string) => ({ ...trigger, eventId, subscriptionId })
    const [made, discarded] = [randomUUID(), randomUUID()]
    await n.api.append(
      notifications.of(organisationId, made),
      notificationFact('NotificationCreated', { notificationId: made, organisationId, trigger: triggerOf(first) }),
    )
    await n.api.append(
      notifications.of(organisationId, discarded),
      notificationFact('NotificationDiscarded', {
        notificationId: discarded,
        organisationId,
        trigger: triggerOf(second),
        reason: 'hop',
      }),
    )
    const inbox = (headers: Headers) => n.call('GET', `/admin/inbox?eventId=${eventId}`, headers)
    const entriesIn = ({ body }: { readonly body: unknown }) => (body as { data: object[] }).data
    expect(entriesIn(await inbox(n.client))).toEqual([
      {
        eventId,
        eventType: 'assessment.completed',
        receivedAt: trigger.receivedAt,
        processedAt: expect.any(String),
        notificationIds: [made],
        rules: [
          { subscriptionId: first, notificationId: made, discardReason: null },
          { subscriptionId: second, notificationId: null, discardReason: 'hop' },
        ],
      },
    ])
    expect(refusalOf(await n.get(discarded))).toBe('404 not-found')
    expect(entriesIn(await inbox(hospital))).toEqual([])
  })
})
