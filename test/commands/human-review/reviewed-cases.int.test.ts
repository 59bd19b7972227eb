import { createHmac, randomUUID } from 'node:crypto'
import { v5 } from 'uuid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { startHumanReview } from '../../../commands/clinical/human-reviews.ts'
import { supersedeDiagnoses } from '../../../commands/clinical/supersede-diagnoses.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import { clinicalChannel } from '../../../processes/clinical/clinical.channel.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { humanReviewProcess } from '../../../processes/human-review/human-review.process.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { cases, type CaseState } from '../../../streams/case/aggregate.ts'
import type { CaseEvent } from '../../../streams/case/events.ts'
import { aiReviewChannelStream, type AiReviewChannelEvent } from '../../../streams/channels/ai-review.ts'
import { humanReviewPolicies } from '../../../streams/human-review-policy/aggregate.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import { contextOf, interrupted } from '../../engine/commands/decision-world.ts'
import { lesion, reviewFact } from '../../streams/ai-review-facts.ts'
import { reviewPublicFact } from '../../streams/channel-facts.ts'
import { caseFact, ids } from '../../streams/facts.ts'
import { taskFact } from '../../streams/human-review-facts.ts'
import { whenWorkedOff } from '../../support/given-process.ts'
import { processDependencies, startOutsideServer } from '../../support/process-world.ts'
import type { WriteAnswer } from '../../read-api/users/users-api.ts'
import { refusalOf } from '../users/write-callers.ts'
import { confirmation, openHumanReviewApi, type Headers, type HumanReviewApi } from './human-review-api.ts'

let h: HumanReviewApi
let egress: Egress
let deps: ProcessDependencies
let client: Headers
let ada: Headers
beforeAll(async () => {
  h = await openHumanReviewApi()
  const { world } = h.api
  egress = createEgress({ configuration: world.configuration })
  deps = processDependencies(world, egress)
  // After the instants of the usual facts.
  world.pass(100)
  client = await h.client(['cases:read', 'cases:write'])
  ada = await h.clinician()
})
afterAll(async () => {
  await egress.close()
  await h.close()
})

type Completed = Extract<AiReviewChannelEvent, { type: 'ai_review.completed' }>['data']

interface Story {
  readonly caseId: string
  readonly aiReviewId: string
  readonly taskId: string
}

/** A case with the findings of an AI review for lesions 1 and 2. */
async function givenCase(patientId: string = randomUUID()): Promise<Story> {
  const { world, append } = h.api
  const [caseId, aiReviewId] = [randomUUID(), randomUUID()]
  const found = [1, 2].flatMap((lesionNumber): CaseEvent[] => {
    const findingId = v5(String(lesionNumber), aiReviewId)
    const of = { caseId, aiReviewId, findingId, lesionNumber }
    return [
      caseFact('CaseFindingRecorded', { ...of, ordinal: lesionNumber, lesionCount: 2 }),
      caseFact('CaseDiagnosisRecorded', { ...of, diagnosisId: v5('diagnosis', findingId) }),
    ]
  })
  const opened = caseFact('CaseOpened', { caseId, organisationId: world.orgId, patientId })
  await append(cases.of(world.orgId, caseId), opened, ...found)
  return { caseId, aiReviewId, taskId: humanReviewTaskId(aiReviewId) }
}

/** The case knows the task, which is open. */
async function givenReview(patient: 'living' | 'erased' = 'living'): Promise<Story> {
  const patientId = randomUUID()
  const story = await givenCase(patientId)
  await start(story)
  const { caseId, aiReviewId } = story
  await h.givenTask({ caseId, aiReviewId, patientId }, patient)
  return story
}

async function start({ caseId, aiReviewId, taskId }: Story, store = h.api.world.store): Promise<void> {
  const { world } = h.api
  const command = { taskId, aiReviewId, productId: ids.product, now: world.now() }
  const decide = (state: CaseState) => startHumanReview(command, state)
  await execute(store, cases.of(world.orgId, caseId), decide, contextOf(world))
}

/** The step of the process that follows the end of a task. */
async function conclude({ taskId }: Story): Promise<void> {
  const { orgId, now } = h.api.world
  const payload = { cause: { eventId: randomUUID(), correlationId: randomUUID() } }
  const todo = { key: taskId, step: 'conclude', orgId, dueAt: now(), payload }
  expect(await whenWorkedOff(humanReviewProcess, todo, deps, now())).toMatchObject({ kind: 'done' })
}

async function decide(story: Story, body: object): Promise<void> {
  await h.call('POST', `/tasks/${story.taskId}/claim`, ada)
  expect((await h.call('POST', `/tasks/${story.taskId}/decide`, ada, body)).status).toBe(200)
}

const urlOf = ({ caseId }: Story, rest = '') => `/v1/clinical-api/cases/${caseId}${rest}`
const current = () => ({ ...client, 'cache-control': 'no-cache' })
const read = (story: Story) => h.call('GET', urlOf(story), current())
const close = (story: Story, headers = client) => h.call('POST', urlOf(story, '/close'), headers)

async function statusOf(story: Story): Promise<string> {
  return textAt((await read(story)).body, 'status')
}

async function diagnosesOf(story: Story): Promise<readonly unknown[]> {
  await read(story)
  return Array.from(at((await h.call('GET', urlOf(story, '/diagnoses'), client)).body, 'data') as readonly unknown[])
}

/** An AI review of a new case completes. The process opens its task, as the policy in force selects it. */
async function completes(found: Partial<Completed> = {}): Promise<Story> {
  const { world } = h.api
  const patientId = randomUUID()
  const story = await givenCase(patientId)
  const aiReviewId = found.aiReviewId ?? story.aiReviewId
  const { caseId } = story
  const { orgId, store } = world
  const requested = reviewFact('AiReviewRequested', { aiReviewId, orgId, caseId, patientId })
  await store.append(aiReviews.of(orgId, aiReviewId), 'no_stream', [requested], contextOf(world))
  const { type, data } = reviewPublicFact('ai_review.completed', { orgId, caseId, ...found, aiReviewId })
  const before = await store.readLast(aiReviewChannelStream.name)
  const { commandId, correlationId } = contextOf(world)
  const metadata = { commandId, $correlationId: correlationId, $causationId: commandId }
  const event = { id: randomUUID(), type, data, metadata }
  const published = await store.appendRaw(aiReviewChannelStream.name, before?.revision ?? 'no_stream', [event])
  const { revision } = await store.load(humanReviewPolicies.of(orgId))
  const taskId = humanReviewTaskId(aiReviewId)
  const payload = {
    cause: { eventId: event.id, correlationId },
    channelRevision: published.revision.toString(),
    policyRevision: revision.toString(),
  }
  const todo = { key: taskId, step: 'open', orgId, dueAt: world.now(), payload }
  expect(await whenWorkedOff(humanReviewProcess, todo, deps, world.now())).toMatchObject({ kind: 'done' })
  return { caseId, aiReviewId, taskId }
}

async function taskOf(story: Story): Promise<WriteAnswer> {
  await h.api.caughtUp()
  return h.call('GET', `/tasks/${story.taskId}`, ada)
}

async function givenPolicy(...rules: readonly object[]): Promise<void> {
  const admin = await h.clinician(randomUUID(), { permissions: ['human-review:admin'] })
  expect((await h.call('PUT', '/policy', admin, { rules })).status).toBe(200)
}

describe('a completed review gets a task', () => {
  const mild = { ...lesion, category: 'Benign', priority: 4, referralFlag: 'NO' }
  const grave = { ...lesion, lesionNumber: 2, category: 'Malignant', priority: 1, referralFlag: 'YES' }
  const both = { lesions: [mild, grave] }
  const one = { ...mild, category: 'Malignant' }
  const unsuitable = { imageQuality: [{ imageId: randomUUID(), quality: 'IMAGE_QUALITY_UNSUITABLE' }] }

  test.each<readonly [string, object, Partial<Completed>, readonly string[] | null]>([
    ['always', { always: true }, {}, ['always']],
    ['by a category', { categories: ['Malignant', 'Other'] }, both, ['categories']],
    ['not by a category of no lesion', { categories: ['malignant'] }, both, null],
    ['by a priority', { priority_at_most: 1 }, both, ['priority_at_most']],
    ['not by a priority that is too large', { priority_at_most: 0 }, both, null],
    ['by a referral flag', { referral_flags: ['YES'] }, both, ['referral_flags']],
    ['not by a referral flag of no lesion', { referral_flags: ['MAYBE'] }, both, null],
    [
      'by one lesion with all',
      { categories: ['Malignant'], priority_at_most: 1 },
      both,
      ['categories', 'priority_at_most'],
    ],
    [
      'not by two lesions',
      { categories: ['Malignant'], priority_at_most: 1 },
      { lesions: [{ ...grave, category: 'X' }, one] },
      null,
    ],
    ['by the quality of an image', { image_qualities: ['IMAGE_QUALITY_UNSUITABLE'] }, unsuitable, ['image_qualities']],
    ['not by another quality', { image_qualities: ['IMAGE_QUALITY_UNSUITABLE'] }, {}, null],
    ['not without lesions', { priority_at_most: 9 }, { lesions: [] }, null],
  ])('%s', async (_, rule, found, selected_by) => {
    await givenPolicy(rule)
    const task = await taskOf(await completes(found))
    if (selected_by === null) return expect(refusalOf(task)).toBe('404 not-found')
    return expect(task).toMatchObject({ status: 200, etag: '"0"', body: { status: 'open', selected_by } })
  })

  test('by a share: the first 4 bytes of the keyed hash of its id, divided by 2^32, are below it', async () => {
    const key = await h.api.world.vault.secret('review-share', 'current')
    const placeOf = (id: string) => createHmac('sha256', key).update(id).digest().readUInt32BE(0) / 2 ** 32
    const places = Array.from({ length: 4 }, () => randomUUID()).map((id) => ({ id, place: placeOf(id) }))
    const [, limit = { id: '', place: 0 }] = places.toSorted((a, b) => a.place - b.place)
    await givenPolicy({ share: limit.place })
    for (const { id, place } of places)
      expect((await taskOf(await completes({ aiReviewId: id }))).status).toBe(place < limit.place ? 200 : 404)
  })

  test('by the first or a later rule, with all their selectors and the largest number of opinions', async () => {
    await givenPolicy({ categories: ['none'] }, { always: true }, { share: 1, opinions: 2 })
    const story = await completes(both)
    expect((await taskOf(story)).body).toMatchObject({ selected_by: ['always', 'share'], opinions_required: 2 })
    expect(await statusOf(story)).toBe('in_review')
  })

  test('that a later policy does not change, and that is decided about the lesions of the AI', async () => {
    await givenPolicy({ always: true })
    const story = await completes(both)
    const before = await taskOf(story)
    await givenPolicy()
    expect(await taskOf(story)).toEqual({ ...before, headers: expect.anything() })
    await decide(story, confirmation(1, 2))
    expect((await taskOf(story)).body).toMatchObject({ status: 'decided', opinions_required: 1 })
  })
})

describe('an end that comes from elsewhere', () => {
  async function ends(story: Story, step: 'supersede' | 'withdraw', from = deps): Promise<unknown> {
    const { orgId, now } = h.api.world
    const payload = { cause: { eventId: randomUUID(), correlationId: randomUUID() } }
    const todo = { key: story.taskId, step, orgId, dueAt: now(), payload }
    expect(await whenWorkedOff(humanReviewProcess, todo, from, now())).toMatchObject({ kind: 'done' })
    return (await taskOf(story)).body
  }

  test('cancels an open or a claimed task with its superseded review, and leaves a decided one', async () => {
    const [open, claimed, decided] = [await givenReview(), await givenReview(), await givenReview()]
    await h.call('POST', `/tasks/${claimed.taskId}/claim`, ada)
    await decide(decided, confirmation(1, 2))
    for (const story of [open, claimed]) {
      const cancelled = { status: 'cancelled', cancel_reason: 'superseded', claimed_by: null, decided_at: null }
      expect(await ends(story, 'supersede')).toMatchObject(cancelled)
    }
    expect(await ends(decided, 'supersede')).toMatchObject({ status: 'decided', cancel_reason: null })
  })

  test('cancels it if the latest decision of the patient is no longer granted', async () => {
    let consent = 'granted'
    const server = await startOutsideServer(({ route }) =>
      route === 'POST /v1/auth/oauth/token'
        ? { status: 200, body: { access_token: 'token', expires_in: 3600 } }
        : { status: 200, body: { status: consent } },
    )
    const asking = loadConfiguration({ BASE_URL: server.url })
    const others = createEgress({ configuration: asking })
    const from = processDependencies({ ...h.api.world, configuration: asking }, others)
    try {
      const story = await givenReview()
      // A backdated refusal does not override a later decision.
      expect(await ends(story, 'withdraw', from)).toMatchObject({ status: 'open', cancel_reason: null })
      consent = 'withdrawn'
      h.api.world.pass(1)
      expect(await ends(story, 'withdraw', from)).toMatchObject({
        status: 'cancelled',
        cancel_reason: 'consent_withdrawn',
      })
    } finally {
      await others.close()
      await server.close()
    }
  })
})

describe('the diagnoses of a decided task', () => {
  const ofAi = (story: Story, lesionNumber: number, status: string) => {
    const { icd10, snomed, category } = caseFact('CaseDiagnosisRecorded').data
    const finding_id = v5(String(lesionNumber), story.aiReviewId)
    const of = { source: 'ai', task_id: null, status, icd10, snomed, category }
    return {
      id: v5('diagnosis', finding_id),
      finding_id,
      ...of,
      created_at: caseFact('CaseDiagnosisRecorded').data.recordedAt,
    }
  }
  const ofClinician = (story: Story, lesionNumber: number, codes: object) => ({
    id: v5(String(lesionNumber), story.taskId),
    finding_id: v5(String(lesionNumber), story.aiReviewId),
    source: 'clinician',
    task_id: story.taskId,
    status: 'active',
    ...codes,
    created_at: h.api.world.now().toISOString(),
  })
  const [first, second] = taskFact('HumanReviewTaskOpened').data.lesions.map(({ icd10, snomed, category }) => ({
    icd10,
    snomed,
    category,
  }))

  test('stand beside those of the AI if they confirm them', async () => {
    const story = await givenReview()
    await decide(story, confirmation(1, 2))
    await conclude(story)
    expect(await diagnosesOf(story)).toEqual([
      ofAi(story, 1, 'active'),
      ofAi(story, 2, 'active'),
      ofClinician(story, 1, first ?? {}),
      ofClinician(story, 2, second ?? {}),
    ])
  })

  test('supersede those of the AI if they correct or reject them, and no later AI review changes them', async () => {
    const story = await givenReview()
    const codes = { icd10: { code: 'C44.9', term: 'Malignant neoplasm of skin' }, category: 'MALIGNANT' }
    const lesions = [
      { lesion_number: 1, outcome: 'correct', ...codes },
      { lesion_number: 2, outcome: 'reject' },
    ]
    await decide(story, { lesions, recommendation: 'urgent_referral' })
    await conclude(story)
    await conclude(story)
    const expected = [
      ofAi(story, 1, 'superseded'),
      ofAi(story, 2, 'superseded'),
      ofClinician(story, 1, { ...codes, snomed: { code: null, term: null } }),
    ]
    expect(await diagnosesOf(story)).toEqual(expected)

    const { world } = h.api
    const batch = { lesions: [lesion, { ...lesion, lesionNumber: 2 }], before: 0 }
    const { aiReviewId } = story
    const later = { aiReviewId, batch, diagnosisCount: 2, supersededById: randomUUID(), now: world.now() }
    const decideAgain = (state: CaseState) => supersedeDiagnoses(later, state)
    const { events } = await execute(world.store, cases.of(world.orgId, story.caseId), decideAgain, contextOf(world))
    expect(events).toEqual([])
    expect(await diagnosesOf(story)).toEqual(expected)
  })

  test('and the decision itself have what the clinician wrote in sealed form only', async () => {
    const story = await givenReview()
    const [icd10, snomed] = ['Canary icd10', 'Canary snomed'].map((term) => ({ code: 'Canary code', term }))
    const lesions = [
      { lesion_number: 1, outcome: 'correct', icd10, snomed, category: 'Canary category' },
      { lesion_number: 2, outcome: 'confirm' },
    ]
    await decide(story, { lesions, recommendation: 'refer', note: 'Canary note' })
    await conclude(story)
    expect(await diagnosesOf(story)).toContainEqual(
      ofClinician(story, 1, { icd10, snomed, category: 'Canary category' }),
    )
    const { orgId, store } = h.api.world
    const whole = { from: 'start', direction: 'forwards', limit: 1_000 } as const
    for (const { stream } of [humanReviewTasks.of(orgId, story.taskId), cases.of(orgId, story.caseId)]) {
      const stored: string[] = []
      for await (const { dataBytes } of store.readUnsigned(stream, whole))
        stored.push(Buffer.from(dataBytes).toString())
      expect(stored.join(' ')).toContain('"$phi"')
      expect(stored.join(' ')).not.toContain('Canary')
    }
  })

  test('are published with their source and task, and without codes', async () => {
    const story = await givenReview()
    const codes = { icd10: { code: 'C44.9', term: 'Canary' }, category: 'MALIGNANT' }
    const lesions = [
      { lesion_number: 1, outcome: 'correct', ...codes },
      { lesion_number: 2, outcome: 'confirm' },
    ]
    await decide(story, { lesions, recommendation: 'urgent_referral' })
    await conclude(story)
    const { orgId, store } = h.api.world
    const published: { readonly type: string; readonly data: unknown }[] = []
    for await (const event of store.readStream(cases.of(orgId, story.caseId).stream))
      published.push(...((await clinicalChannel.translate[event.type]?.(event, { store })) ?? []))
    const members = ['diagnosis_id', 'source', 'task_id', 'superseded_by_id']
    const { aiReviewId, taskId } = story
    const [one, two] = ['1', '2'].map((number) => v5('diagnosis', v5(number, aiReviewId)))
    expect(
      published
        .filter(({ type }) => type.startsWith('clinical.diagnosis.'))
        .map(({ type, data }) => [type.split('.').at(-1), ...members.map((name) => at(data, name))]),
    ).toEqual([
      ['recorded', one, 'ai', null, undefined],
      ['recorded', two, 'ai', null, undefined],
      ['superseded', one, 'ai', taskId, taskId],
      ['recorded', v5('1', taskId), 'clinician', taskId, undefined],
      ['recorded', v5('2', taskId), 'clinician', taskId, undefined],
    ])
    expect(JSON.stringify(published)).not.toMatch(/C44|Canary|MALIGNANT/)
  })

  test('are recorded although the patient was erased after the decision', async () => {
    const patientId = randomUUID()
    const story = await givenCase(patientId)
    await start(story)
    await h.givenTask({ caseId: story.caseId, aiReviewId: story.aiReviewId, patientId })
    await decide(story, confirmation(1, 2))
    await h.api.world.vault.destroySubject(h.api.world.orgId, patientId)
    await conclude(story)
    expect(await diagnosesOf(story)).toHaveLength(4)
    expect(await statusOf(story)).toBe('open')
  })
})

describe('the case of an open task', () => {
  test('is in review while the task is open or claimed, and open again after it', async () => {
    const story = await givenReview()
    const opened = await read(story)
    expect(opened).toMatchObject({ status: 200, etag: '"5"', body: { status: 'in_review' } })
    await h.call('POST', `/tasks/${story.taskId}/claim`, ada)
    expect(refusalOf(await close(story))).toBe('409 case-in-review')
    const listed = await h.call('GET', '/v1/clinical-api/cases?status=in_review&limit=200', client)
    expect(at(listed.body, 'data')).toContainEqual(opened.body)

    await decide(story, confirmation(1, 2))
    // The diagnoses are recorded before the case can be closed.
    expect(refusalOf(await close(story))).toBe('409 case-in-review')
    await conclude(story)
    expect(await read(story)).toMatchObject({ etag: '"8"', body: { status: 'open' } })
    const others = await h.call('GET', '/v1/clinical-api/cases?status=in_review&limit=200', client)
    expect(at(others.body, 'data')).not.toContainEqual(expect.objectContaining({ id: story.caseId }))
    const stale = { ...client, 'if-match': '"5"' }
    expect(refusalOf(await close(story, stale))).toBe('412 precondition-failed')
    expect(await close(story)).toMatchObject({ status: 200, etag: '"9"', body: { status: 'closed' } })
    expect(await close(story)).toMatchObject({ status: 200, etag: '"9"' })
  })

  test('is open again after a cancelled task, without a diagnosis', async () => {
    const story = await givenReview()
    await h.append(story.taskId, taskFact('HumanReviewTaskCancelled', { taskId: story.taskId }))
    await conclude(story)
    expect(await statusOf(story)).toBe('open')
    expect(await diagnosesOf(story)).toHaveLength(2)
  })

  test('stays in review until its last task has ended', async () => {
    const story = await givenReview()
    const aiReviewId = randomUUID()
    const other = { caseId: story.caseId, aiReviewId, taskId: humanReviewTaskId(aiReviewId) }
    await start(other)
    await h.givenTask({ caseId: story.caseId, aiReviewId, lesions: [] })
    await decide(story, confirmation(1, 2))
    await conclude(story)
    expect(await statusOf(story)).toBe('in_review')
    await decide(other, confirmation())
    await conclude(other)
    expect(await statusOf(story)).toBe('open')
  })

  test('is not closed if its patient was erased: the answer is a 410', async () => {
    const story = await givenReview('erased')
    expect(refusalOf(await h.call('POST', `/tasks/${story.taskId}/claim`, ada))).toBe('410 subject-erased')
    expect(refusalOf(await close(story))).toBe('410 subject-erased')
    const { state } = await h.api.world.store.load(cases.of(h.api.world.orgId, story.caseId))
    expect(state.status).toBe('in_review')
  })

  test('refuses an unknown status of the list', async () => {
    const answer = await h.call('GET', '/v1/clinical-api/cases?status=reviewed', client)
    expect(refusalOf(answer)).toBe('400 validation-failed /status')
  })
})

describe('a close and a new task that cross', () => {
  test('leave the case in review if the task comes first, also where the API has an older state', async () => {
    const story = await givenCase()
    expect(refusalOf(await close(story, { ...client, 'if-match': '"99"' }))).toBe('412 precondition-failed')
    await start(story)
    expect(refusalOf(await close(story))).toBe('409 case-in-review')
    expect(await statusOf(story)).toBe('in_review')
  })

  test('are decided by the first append', async () => {
    const story = await givenCase()
    const [closed] = await Promise.all([close(story), start(story)])
    const outcome = closed.status === 200 ? 'closed' : refusalOf(closed)
    expect([outcome, await statusOf(story)]).toBeOneOf([
      ['closed', 'closed'],
      ['409 case-in-review', 'in_review'],
    ])
  })

  test('leave the case closed if the close comes first, and its diagnoses are recorded', async () => {
    const story = await givenCase()
    const { world } = h.api
    const store = interrupted(world.store, 'case', async () => {
      expect((await close(story)).status).toBe(200)
    })
    await start(story, store)
    expect(await statusOf(story)).toBe('closed')
    await h.givenTask({ caseId: story.caseId, aiReviewId: story.aiReviewId })
    await decide(story, confirmation(1, 2))
    await conclude(story)
    expect(await statusOf(story)).toBe('closed')
    expect(await diagnosesOf(story)).toHaveLength(4)
    expect((await close(story)).status).toBe(200)
  })
})
