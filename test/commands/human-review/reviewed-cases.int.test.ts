import { randomUUID } from 'node:crypto'
import { v5 } from 'uuid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/api-client.ts'
import { startHumanReview } from '../../../commands/clinical/human-reviews.ts'
import { supersedeDiagnoses } from '../../../commands/clinical/supersede-diagnoses.ts'
import { execute } from '../../../commands/handling/execute.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { humanReviewProcess } from '../../../processes/human-review/human-review.process.ts'
import { cases, type CaseState } from '../../../streams/case/aggregate.ts'
import type { CaseEvent } from '../../../streams/case/events.ts'
import { humanReviewTaskId } from '../../../streams/human-review-task/aggregate.ts'
import { contextOf, interrupted } from '../handling/decision-world.ts'
import { lesion } from '../../streams/ai-review-facts.ts'
import { caseFact } from '../../streams/facts.ts'
import { taskFact } from '../../streams/human-review-facts.ts'
import { whenWorkedOff } from '../../support/given-process.ts'
import { processDependencies } from '../../support/process-world.ts'
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

interface Story {
  readonly caseId: string
  readonly aiReviewId: string
  readonly taskId: string
}

/** A case with the findings of an AI review for lesions 1 and 2. */
async function givenCase(patientId: string = randomUUID()): Promise<Story> {
  const { world, tell } = h.api
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
  await tell(cases.of(world.orgId, caseId), opened, ...found)
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
  const command = { taskId, aiReviewId, now: world.now() }
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

describe('F14: the diagnoses of a decided task', () => {
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
    const share = { lesions: [lesion, { ...lesion, lesionNumber: 2 }], before: 0 }
    const { aiReviewId } = story
    const later = { aiReviewId, share, diagnosisCount: 2, supersededById: randomUUID(), now: world.now() }
    const decideAgain = (state: CaseState) => supersedeDiagnoses(later, state)
    const { events } = await execute(world.store, cases.of(world.orgId, story.caseId), decideAgain, contextOf(world))
    expect(events).toEqual([])
    expect(await diagnosesOf(story)).toEqual(expected)
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

describe('F15: the case of an open task', () => {
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
    await h.tell(story.taskId, taskFact('HumanReviewTaskCancelled', { taskId: story.taskId }))
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

  test('is closed although a task is open, if the patient was erased and nobody can decide', async () => {
    const story = await givenReview('erased')
    expect(refusalOf(await h.call('POST', `/tasks/${story.taskId}/claim`, ada))).toBe('410 subject-erased')
    expect(await close(story)).toMatchObject({ status: 200, body: { status: 'closed' } })
  })

  test('refuses an unknown status of the list', async () => {
    const answer = await h.call('GET', '/v1/clinical-api/cases?status=reviewed', client)
    expect(refusalOf(answer)).toBe('400 validation-failed /status')
  })
})

describe('F15: a close and a new task that cross', () => {
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
