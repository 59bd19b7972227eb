import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at as memberAt } from '../../../app/demo/members.ts'
import { humanReviewChannel } from '../../../processes/human-review/human-review.channel.ts'
import { humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import { at, ids } from '../../streams/facts.ts'
import { taskFact } from '../../streams/human-review-facts.ts'
import { bootstrap } from '../../read-api/users/users-api.ts'
import { refusalOf } from '../users/write-callers.ts'
import { confirmation, openHumanReviewApi, type Headers, type HumanReviewApi } from './human-review-api.ts'

let h: HumanReviewApi
let reader: Headers
let ada: Headers
let bob: Headers
beforeAll(async () => {
  h = await openHumanReviewApi()
  reader = await h.client(['human-review:read'])
  ada = await h.clinician(adaId)
  bob = await h.clinician(bobId)
})
afterAll(() => h.close())

const [adaId, bobId] = [randomUUID(), randomUUID()]
const both = confirmation(1, 2)
const coded = { code: 'D22.9', term: 'Melanocytic naevi' }
const act = (verb: 'claim' | 'release' | 'decide', taskId: string, headers: Headers, body?: object) =>
  h.call('POST', `/tasks/${taskId}/${verb}`, headers, body)
const get = (taskId: string, headers = reader) => h.call('GET', `/tasks/${taskId}`, headers)
const inSeconds = (seconds: number) => new Date(h.api.world.now().getTime() + seconds * 1_000).toISOString()

async function idsOf(query: string, headers = reader): Promise<string[]> {
  const { body } = await h.call('GET', `/tasks?limit=200&${query}`, headers)
  return (body as { data: { id: string }[] }).data.map(({ id }) => id)
}

describe('tasks', () => {
  test('are read alone and in lists, oldest first, by every filter', async () => {
    const [caseId, assessmentId, productId] = [randomUUID(), randomUUID(), randomUUID()]
    const first = await h.givenTask({ caseId, openedAt: at(1) })
    const second = await h.givenTask({ caseId, assessmentId, openedAt: at(2) })
    const third = await h.givenTask({ caseId, productId, openedAt: at(3) })
    const read = await get(first)
    expect(read).toMatchObject({ status: 200, etag: '"0"' })
    expect(read.body).toEqual({
      id: first,
      status: 'open',
      ai_review_id: expect.any(String),
      case_id: caseId,
      patient_id: expect.any(String),
      product_id: ids.product,
      assessment_id: ids.assessment,
      selected_by: ['categories', 'share'],
      opinions_required: 1,
      opinions: [],
      claimed_by: null,
      lease_until: null,
      decision: null,
      agrees_with_ai: null,
      cancel_reason: null,
      created_at: at(1),
      updated_at: at(1),
      decided_at: null,
    })
    await act('claim', second, ada)
    expect(await idsOf(`case_id=${caseId}`)).toEqual([first, second, third])
    expect(await idsOf(`case_id=${caseId}&status=open`)).toEqual([first, third])
    expect(await idsOf(`case_id=${caseId}&status=claimed`)).toEqual([second])
    expect(await idsOf(`claimed_by=${adaId.toUpperCase()}&case_id=${caseId}`)).toEqual([second])
    expect(await idsOf(`assessment_id=${assessmentId}`)).toEqual([second])
    expect(await idsOf(`product_id=${productId}`)).toEqual([third])
    expect(refusalOf(await h.call('GET', '/tasks?status=done', reader))).toBe('400 validation-failed /status')
  })
})

describe('who sees a task', () => {
  test('is who has its product, or no actor at all', async () => {
    const caseId = randomUUID()
    const taskId = await h.givenTask({ caseId })
    const other = await h.clinician(randomUUID(), { products: [randomUUID()] })
    expect(refusalOf(await get(taskId, other))).toBe('404 not-found')
    expect(await idsOf(`case_id=${caseId}`, other)).toEqual([])
    expect(await idsOf(`case_id=${caseId}`, ada)).toEqual([taskId])
    for (const verb of ['claim', 'release'] as const)
      expect(refusalOf(await act(verb, taskId, other))).toBe('404 not-found')
    expect(refusalOf(await act('decide', taskId, other, both))).toBe('404 not-found')
    const foreign = await h.client(undefined, randomUUID())
    expect(refusalOf(await get(taskId, foreign))).toBe('404 not-found')
    expect(await idsOf(`case_id=${caseId}`, foreign)).toEqual([])
  })

  test('does not act without the permission, the scope and an id', async () => {
    const taskId = await h.givenTask()
    for (const [headers, refusal] of [
      [await h.clinician(adaId, { permissions: [] }), '403 permission-missing'],
      [await h.clinician(adaId, { scopes: ['human-review:read'] }), '403 insufficient-scope'],
      [await h.clinician('ada@example.org'), '403 actor-context-invalid'],
      [await h.client(), '403 actor-context-missing'],
      [{}, '401 token-missing'],
    ] as const) {
      expect(refusalOf(await act('claim', taskId, headers))).toBe(refusal)
      expect(refusalOf(await act('release', taskId, headers))).toBe(refusal)
      expect(refusalOf(await act('decide', taskId, headers, both))).toBe(refusal)
    }
    // Only the policy takes the administrator secret, so the problem does not name it.
    const { body } = await act('claim', taskId, { ...(await h.client()), ...bootstrap })
    const detail = 'Send the X-Actor-Context header of a user with the permission.'
    expect(body).toMatchObject({ code: 'actor-context-missing', detail, required_permission: 'human-review:decide' })
  })
})

describe('a claim', () => {
  test('lasts for the lease of the policy, starts anew, and is released', async () => {
    const org = `?org_id=${h.api.world.orgId}`
    const admin = await h.clinician(adaId, { permissions: ['human-review:admin'] })
    await h.call('PUT', `/policy${org}`, admin, { rules: [], lease_seconds: 60 })
    const taskId = await h.givenTask()
    const claimed = await act('claim', taskId, { ...ada, 'if-match': '"0"' })
    const held = { status: 'claimed', claimed_by: adaId, lease_until: inSeconds(60) }
    expect(claimed).toMatchObject({ status: 200, etag: '"1"', body: held })
    expect(await get(taskId)).toMatchObject({ etag: '"1"', body: held })
    expect(refusalOf(await act('claim', taskId, bob))).toBe('409 task-claimed')
    expect(refusalOf(await act('release', taskId, bob))).toBe('409 task-claimed')

    h.api.world.pass(10)
    expect((await act('claim', taskId, ada)).body).toMatchObject({ lease_until: inSeconds(60) })
    expect(refusalOf(await act('release', taskId, { ...ada, 'if-match': '"1"' }))).toBe('412 precondition-failed')
    const free = { status: 'open', claimed_by: null, lease_until: null }
    expect(await act('release', taskId, ada)).toMatchObject({ status: 200, etag: '"3"', body: free })
    expect(await act('release', taskId, bob)).toMatchObject({ status: 200, etag: '"3"', body: free })
    expect(await get(taskId)).toMatchObject({ etag: '"3"', body: free })
  })

  test('of several users at the same time succeeds once', async () => {
    const taskId = await h.givenTask()
    const users = await Promise.all(Array.from({ length: 5 }, () => h.clinician()))
    const answers = await Promise.all(users.map((user) => act('claim', taskId, user)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409])
  })

  test('ends with its lease: every read shows the task open, and another user claims it', async () => {
    const caseId = randomUUID()
    const taskId = await h.givenTask({ caseId })
    await act('claim', taskId, ada)
    h.api.world.pass(60)
    expect(await get(taskId)).toMatchObject({ etag: '"1.1"', body: { status: 'open', claimed_by: null } })
    expect(await idsOf(`case_id=${caseId}&status=open`)).toEqual([taskId])
    expect(await idsOf(`case_id=${caseId}&status=claimed`)).toEqual([])
    expect(await idsOf(`case_id=${caseId}&claimed_by=${adaId}`)).toEqual([])
    expect(refusalOf(await act('decide', taskId, ada, both))).toBe('409 task-not-claimed')
    // The ETag of the read is that of the task, although no event has ended the lease yet.
    const current = { ...bob, 'if-match': '"1.1"' }
    expect(refusalOf(await act('claim', taskId, { ...bob, 'if-match': '"0"' }))).toBe('412 precondition-failed')
    expect(await act('claim', taskId, current)).toMatchObject({ etag: '"3"', body: { claimed_by: bobId } })
  })

  test('with a key is repeated without effect', async () => {
    const taskId = await h.givenTask()
    const keyed = { ...ada, 'idempotency-key': randomUUID() }
    await act('claim', taskId, keyed)
    await act('release', taskId, ada)
    const again = await act('claim', taskId, keyed)
    expect(again).toMatchObject({ status: 200, etag: '"2"', body: { status: 'open' } })
    expect(again.headers['idempotency-replayed']).toBe('true')
  })
})

test('a key that another user has sent is refused, so no opinion is taken for a repeat', async () => {
  const taskId = await h.givenTask({ opinionsRequired: 2 })
  // Both users act through one client.
  const ofBob = { ...ada, 'x-actor-context': bob['x-actor-context'] ?? '' }
  const key = { 'idempotency-key': randomUUID() }
  for (const [verb, body] of [
    ['claim', undefined],
    ['decide', both],
  ] as const) {
    expect((await act(verb, taskId, { ...ada, ...key }, body)).status).toBe(200)
    if (verb === 'decide') await act('claim', taskId, bob)
    expect(refusalOf(await act(verb, taskId, { ...ofBob, ...key }, body))).toBe('409 idempotency-key-reused')
    expect((await act(verb, taskId, { ...ada, ...key }, body)).headers['idempotency-replayed']).toBe('true')
  }
  expect((await act('decide', taskId, bob, both)).body).toMatchObject({ status: 'decided' })
})

describe('a decision', () => {
  test('confirms, corrects and rejects lesions, and is given once', async () => {
    const taskId = await h.givenTask()
    await act('claim', taskId, ada)
    const icd10 = { code: 'C44.9', term: 'Malignant neoplasm of skin' }
    const body = {
      lesions: [
        { lesion_number: 2, outcome: 'reject' },
        { lesion_number: 1, outcome: 'correct', icd10, category: 'MALIGNANT' },
      ],
      recommendation: 'urgent_referral',
      note: 'canary-note',
    }
    const decided = await act('decide', taskId, ada, body)
    const opinion = {
      number: 1,
      user_id: adaId,
      lesions: [
        { lesion_number: 1, outcome: 'correct', icd10, snomed: null, category: 'MALIGNANT' },
        { lesion_number: 2, outcome: 'reject', icd10: null, snomed: null, category: null },
      ],
      recommendation: 'urgent_referral',
      note: 'canary-note',
      given_at: inSeconds(0),
    }
    const record = { status: 'decided', opinions: [opinion], decision: opinion, agrees_with_ai: false }
    expect(decided).toMatchObject({ status: 200, etag: '"3"', body: { ...record, decided_at: inSeconds(0) } })
    expect((await get(taskId, bob)).body).toEqual(decided.body)
    expect((await get(taskId)).body).toMatchObject({ decision: { ...opinion, note: null } })
    expect(await act('decide', taskId, ada, body)).toMatchObject({ status: 200, etag: '"3"', body: decided.body })
    expect(refusalOf(await act('decide', taskId, ada, both))).toBe('409 task-decided')
    expect(refusalOf(await act('claim', taskId, bob))).toBe('409 task-decided')
  })

  test('of a corrected lesion takes a SNOMED code too', async () => {
    const taskId = await h.givenTask()
    await act('claim', taskId, ada)
    const codes = { icd10: { code: 'C44.9', term: 'C' }, snomed: { code: '254701007', term: 'B' }, category: 'X' }
    const lesions = [...confirmation(2).lesions, { lesion_number: 1, outcome: 'correct', ...codes }]
    const { body } = await act('decide', taskId, ada, { lesions, recommendation: 'inconclusive' })
    expect(body).toMatchObject({ decision: { lesions: [{ lesion_number: 1, ...codes }, { lesion_number: 2 }] } })
  })

  test('is about as many lesions as an event of a review holds', async () => {
    const numbers = Array.from({ length: 2_700 }, (_, index) => index + 1)
    const uncoded = { category: null, icd10: { code: null, term: null }, snomed: { code: null, term: null } }
    const taskId = await h.givenTask({ lesions: numbers.map((lesionNumber) => ({ lesionNumber, ...uncoded })) })
    await act('claim', taskId, ada)
    expect(await act('decide', taskId, ada, confirmation(...numbers))).toMatchObject({ status: 200 })
  })

  test('is for the holder alone, within the lease', async () => {
    const taskId = await h.givenTask()
    expect(refusalOf(await act('decide', taskId, ada, both))).toBe('409 task-not-claimed')
    await act('claim', taskId, ada)
    expect(refusalOf(await act('decide', taskId, bob, both))).toBe('409 task-not-claimed')
    expect((await get(taskId)).body).toMatchObject({ status: 'claimed', claimed_by: adaId })
    expect((await act('decide', taskId, ada, both)).body).toMatchObject({ status: 'decided', agrees_with_ai: true })
  })

  test('with a key is repeated without effect, and the key takes no other body', async () => {
    const taskId = await h.givenTask()
    await act('claim', taskId, ada)
    const keyed = { ...ada, 'idempotency-key': randomUUID() }
    const first = await act('decide', taskId, keyed, both)
    const again = await act('decide', taskId, keyed, both)
    expect([again.status, again.body, again.etag]).toEqual([200, first.body, first.etag])
    expect(again.headers['idempotency-replayed']).toBe('true')
    const other = { ...both, recommendation: 'no_action' }
    expect(refusalOf(await act('decide', taskId, keyed, other))).toBe('409 idempotency-key-reused')
  })

  test.each([
    [{ ...both, recommendation: 'maybe' }, '/recommendation'],
    [{ ...both, note: 'x'.repeat(4_001) }, '/note'],
    [{ ...both, lesions: [{ lesion_number: 1, outcome: 'correct', category: 'X' }] }, '/lesions/0/icd10'],
    [
      { ...both, lesions: [{ lesion_number: 1, outcome: 'correct', icd10: { code: 'L', term: 'L' } }] },
      '/lesions/0/category',
    ],
    [{ ...both, lesions: [{ lesion_number: 1, outcome: 'confirm', category: 'X' }] }, '/lesions/0/category'],
    [{ ...both, lesions: [{ lesion_number: 1, outcome: 'confirm', icd10: coded }] }, '/lesions/0/icd10'],
    [{ ...both, lesions: [{ lesion_number: 1, outcome: 'reject', snomed: coded }] }, '/lesions/0/snomed'],
    [{ ...both, lesions: [{ lesion_number: 1, outcome: 'maybe' }] }, '/lesions/0/outcome'],
    [{ lesions: both.lesions }, '/recommendation'],
    [confirmation(1), '/lesions'],
    [confirmation(1, 1), '/lesions'],
    [confirmation(1, 2, 3), '/lesions'],
  ])('refuses %j', async (body, pointer) => {
    const taskId = await h.givenTask()
    expect(refusalOf(await act('decide', taskId, ada, body))).toBe(`400 validation-failed ${pointer}`)
  })
})

test('of two opinions that agree the first one is the decision; notes, SNOMED codes and terms may differ', async () => {
  const taskId = await h.givenTask({ opinionsRequired: 2 })
  const corrected = (changes: object) => ({
    ...both,
    lesions: [
      ...confirmation(2).lesions,
      { lesion_number: 1, outcome: 'correct', icd10: coded, category: 'BENIGN', ...changes },
    ],
  })
  await act('claim', taskId, ada)
  await act('decide', taskId, ada, { ...corrected({}), note: 'mine' })
  await act('claim', taskId, bob)
  const second = corrected({ icd10: { ...coded, term: 'Naevus' }, snomed: { code: '1', term: 'N' } })
  const { body } = await act('decide', taskId, bob, { ...second, note: 'other' })
  const decision = { number: 1, user_id: adaId, note: 'mine' }
  expect(body).toMatchObject({ status: 'decided', opinions_required: 2, decision, agrees_with_ai: false })
})

test.each([
  ['the outcome', { outcome: 'confirm' }],
  ['the ICD-10 code', { outcome: 'correct', icd10: { ...coded, code: 'C44.9' }, category: 'BENIGN' }],
  ['the category', { outcome: 'correct', icd10: coded, category: 'MALIGNANT' }],
])('two opinions that differ in %s of a lesion need a third one', async (_, lesion) => {
  const taskId = await h.givenTask({ opinionsRequired: 2 })
  const withLesion = (one: object) => ({ ...both, lesions: [...confirmation(2).lesions, { lesion_number: 1, ...one }] })
  await act('claim', taskId, ada)
  await act('decide', taskId, ada, withLesion({ outcome: 'correct', icd10: coded, category: 'BENIGN' }))
  await act('claim', taskId, bob)
  const { body } = await act('decide', taskId, bob, withLesion(lesion))
  expect(body).toMatchObject({ status: 'open', opinions_required: 3, decision: null })
})

test('a second opinion is blind, and a third one decides if the two differ', async () => {
  const taskId = await h.givenTask({ opinionsRequired: 2 })
  await act('claim', taskId, ada)
  expect((await act('decide', taskId, ada, { ...both, note: 'mine' })).body).toMatchObject({
    status: 'open',
    opinions: [{ user_id: adaId, note: 'mine' }],
  })
  expect(refusalOf(await act('claim', taskId, ada))).toBe('409 opinion-given')
  for (const headers of [bob, reader]) expect((await get(taskId, headers)).body).toMatchObject({ opinions: [] })
  await act('claim', taskId, bob)
  const differs = await act('decide', taskId, bob, { ...both, recommendation: 'no_action' })
  expect(differs.body).toMatchObject({ status: 'open', opinions_required: 3, opinions: [{ user_id: bobId }] })
  const eve = await h.clinician()
  await act('claim', taskId, eve)
  const decided = await act('decide', taskId, eve, both)
  expect(decided.body).toMatchObject({ status: 'decided', decision: { number: 3 }, agrees_with_ai: true })
  expect((await get(taskId)).body).toMatchObject({ opinions: [{ number: 1 }, { number: 2 }, { number: 3 }] })
})

test('a cancelled task refuses every act', async () => {
  const taskId = await h.givenTask()
  await h.append(taskId, taskFact('HumanReviewTaskCancelled', { taskId, cancelledAt: at(100) }))
  expect((await get(taskId)).body).toMatchObject({ status: 'cancelled', cancel_reason: 'superseded' })
  for (const verb of ['claim', 'release'] as const)
    expect(refusalOf(await act(verb, taskId, ada))).toBe('409 task-cancelled')
  expect(refusalOf(await act('decide', taskId, ada, both))).toBe('409 task-cancelled')
})

test('each act is published once with ids, and without codes and notes', async () => {
  const taskId = await h.givenTask({ opinionsRequired: 2 })
  const corrected = { lesion_number: 1, outcome: 'correct', icd10: { ...coded, term: 'canary' }, category: 'canary' }
  const body = { ...both, lesions: [corrected, ...confirmation(2).lesions], note: 'canary' }
  await act('claim', taskId, ada)
  await act('release', taskId, ada)
  await act('claim', taskId, ada)
  await act('decide', taskId, ada, body)
  h.api.world.pass(1)
  await act('claim', taskId, bob)
  h.api.world.pass(86_400)
  await act('claim', taskId, bob)
  await act('decide', taskId, bob, body)
  const { store, otherStore, orgId } = h.api.world
  const published: { readonly type: string; readonly data: unknown }[] = []
  for await (const event of otherStore.readStream(humanReviewTasks.of(orgId, taskId).stream))
    published.push(...((await humanReviewChannel.translate[event.type]?.(event, { store })) ?? []))
  const { ai_review_id, case_id, product_id, assessment_id, decided_at } = Object((await get(taskId)).body) as Headers
  const members = published.map(({ type, data }) => [
    type,
    ...['status', 'user_id', 'reason'].map((member) => memberAt(data, member)),
  ])
  const event = (name: string, ...rest: readonly unknown[]) => {
    const [status, userId, reason] = rest
    return [`human_review.task.${name}`, status, userId, reason]
  }
  expect(members).toEqual([
    event('opened', 'open'),
    event('claimed', 'claimed', adaId),
    event('released', 'open', adaId, 'requested'),
    event('claimed', 'claimed', adaId),
    event('opinion_given', 'open', adaId),
    event('claimed', 'claimed', bobId),
    event('released', 'open', undefined, 'lease_expired'),
    event('claimed', 'claimed', bobId),
    event('opinion_given', 'open', bobId),
    event('decided', 'decided', bobId),
  ])
  const ids = { task_id: taskId, ai_review_id, case_id, product_id, assessment_id }
  for (const { data } of published) expect(data).toMatchObject(ids)
  expect(published.at(-1)?.data).toMatchObject({ agrees_with_ai: false, decided_at })
  expect(JSON.stringify(published)).not.toContain('canary')
})

test('the note is for actors with the permission to decide', async () => {
  const taskId = await h.givenTask()
  await act('claim', taskId, ada)
  await act('decide', taskId, ada, { ...both, note: 'canary-note' })
  const viewer = await h.clinician(randomUUID(), { permissions: [] })
  for (const [headers, note] of [
    [viewer, null],
    [reader, null],
    [bob, 'canary-note'],
  ] as const) {
    const caseId = memberAt((await get(taskId)).body, 'case_id')
    expect((await get(taskId, headers)).body).toMatchObject({ decision: { note }, opinions: [{ note }] })
    const { body } = await h.call('GET', `/tasks?case_id=${String(caseId)}`, headers)
    expect(body).toMatchObject({ data: [{ decision: { note } }] })
  }
})

test('the version of a task tells apart what its readers may see', async () => {
  const taskId = await h.givenTask({ opinionsRequired: 2 })
  const viewer = await h.clinician(randomUUID(), { permissions: [] })
  const versionFor = async (headers: Headers) => (await get(taskId, headers)).etag
  await act('claim', taskId, ada)
  await act('decide', taskId, ada, { ...both, note: 'canary-note' })
  expect(await versionFor(bob)).not.toBe(await versionFor(ada))
  await act('claim', taskId, bob)
  await act('decide', taskId, bob, both)
  expect(await versionFor(bob)).toBe(await versionFor(ada))
  expect(await versionFor(viewer)).not.toBe(await versionFor(ada))
})

test('refusals come in their order', async () => {
  const taskId = await h.givenTask()
  const wrong = { ...both, recommendation: 'maybe' }
  const nobody = await h.clinician(adaId, { permissions: [] })
  expect(refusalOf(await act('decide', randomUUID(), {}, wrong))).toBe('401 token-missing')
  expect(refusalOf(await act('decide', randomUUID(), nobody, wrong))).toBe('403 permission-missing')
  expect(refusalOf(await act('decide', randomUUID(), ada, wrong))).toBe('400 validation-failed /recommendation')
  expect(refusalOf(await act('decide', randomUUID(), ada, confirmation(9)))).toBe('404 not-found')
  expect(refusalOf(await act('decide', taskId, ada, confirmation(9)))).toBe('400 validation-failed /lesions')
  const stale = { ...ada, 'if-match': '"7"' }
  expect(refusalOf(await act('decide', taskId, stale, both))).toBe('409 task-not-claimed')
  await act('claim', taskId, ada)
  expect(refusalOf(await act('decide', taskId, stale, both))).toBe('412 precondition-failed')
  const erased = await h.givenTask({}, 'erased')
  for (const verb of ['claim', 'release'] as const)
    expect(refusalOf(await act(verb, erased, ada))).toBe('410 subject-erased')
  expect(refusalOf(await act('decide', erased, ada, both))).toBe('410 subject-erased')
})

test('the agreement counts decisions by provider version and category', async () => {
  const productId = randomUUID()
  const patientId = randomUUID()
  const clinician = await h.clinician(adaId, { products: [productId] })
  const begin = inSeconds(0)
  for (const outcomes of [
    ['confirm', 'confirm'],
    ['confirm', 'reject'],
    ['reject', 'confirm'],
  ] as const) {
    const taskId = await h.givenTask({ productId, ...(outcomes[0] === 'reject' ? { patientId } : {}) })
    await act('claim', taskId, clinician)
    const lesions = outcomes.map((outcome, index) => ({ lesion_number: index + 1, outcome }))
    expect((await act('decide', taskId, clinician, { lesions, recommendation: 'refer' })).status).toBe(200)
  }
  const none = await h.givenTask({ productId, lesions: [] })
  await act('claim', none, clinician)
  await act('decide', none, clinician, confirmation())
  h.api.world.pass(1)
  const agreement = (query = '', headers = clinician) => h.call('GET', `/agreement?${query}`, headers)
  const version = { provider_version: '5.2.1', corrected: 0 }
  const benign = { ...version, category: 'BENIGN', lesions: 3, confirmed: 2, rejected: 1, agreement: 0.6667 }
  const malignant = { ...benign, category: 'MALIGNANT' }
  expect((await agreement(`from=${begin}`)).body).toEqual({
    from: begin,
    to: inSeconds(0),
    tasks: 4,
    tasks_agreed: 2,
    data: [benign, malignant],
  })
  expect((await agreement('category=BENIGN&provider_version=5.2.1')).body).toMatchObject({ tasks: 3, data: [benign] })
  const empty = { tasks: 0, tasks_agreed: 0, data: [] }
  expect((await agreement('provider_version=6')).body).toMatchObject(empty)
  const otherProduct = await h.clinician(bobId, { products: [randomUUID()] })
  expect((await agreement('', otherProduct)).body).toMatchObject(empty)
  expect((await agreement(`from=2026-01-01T00:00:00Z&to=${begin}`)).body).toMatchObject(empty)
  expect((await agreement('', await h.client(undefined, randomUUID()))).body).toMatchObject(empty)
  const days = (count: number) => inSeconds(count * 86_400)
  expect((await agreement()).body).toMatchObject({ from: days(-30), to: inSeconds(0), tasks: 4 })
  expect((await agreement(`from=${days(-366)}`)).status).toBe(200)
  expect((await agreement(`from=${days(-367)}`)).status).toBe(400)
  expect(refusalOf(await agreement(`from=${inSeconds(1)}`))).toBe('400 validation-failed /from')
  expect(refusalOf(await agreement('from=2025-02-27T00:00:00Z&to=2026-03-01T00:00:00Z'))).toBe(
    '400 validation-failed /from',
  )
  expect(refusalOf(await agreement('', await h.client(['cases:read'])))).toBe('403 insufficient-scope')
  h.api.world.vault.closeSubject(h.api.world.orgId, patientId)
  const left = { ...version, lesions: 2, rejected: 0, confirmed: 2, agreement: 1 }
  expect((await agreement(`from=${begin}`)).body).toMatchObject({
    tasks: 3,
    tasks_agreed: 2,
    data: [
      { ...left, category: 'BENIGN', confirmed: 1, rejected: 1, agreement: 0.5 },
      { ...left, category: 'MALIGNANT' },
    ],
  })
})
