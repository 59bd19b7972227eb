import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { uploadKey } from '../../../commands/assessments/uploads.ts'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import type { TodoRow } from '../../../engine/processes/process.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { reviewFact, slotFact } from '../../streams/ai-review-facts.ts'
import { reviewPublicFact } from '../../streams/channel-facts.ts'
import { assessmentFact, ids } from '../../streams/facts.ts'
import { openProcessWorld, workOff, type ProcessWorld } from '../../support/process-world.ts'
import { concludeOf, eventsOf, sinceSubmitted, submitted, todoOf, type Submitted } from './submitted.ts'

let world: ProcessWorld

beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())

const later = (seconds: number) => new Date(world.now().getTime() + seconds * 1000)

const work = (todo: TodoRow) => workOff(world, assessmentsProcess, todo)

/** The assessment ends with the erasure of its patient. */
async function cancelled({ assessmentId }: Submitted): Promise<void> {
  const fact = assessmentFact('AssessmentFailed', { assessmentId, aiReviewId: null, code: 'CANCELLED' })
  await world.store.append(assessments.of(world.orgId, assessmentId), 1n, [fact], contextOf(world))
}

it('ends an assessment whose uploads were not submitted when their window closes, once, and not before', async () => {
  const assessmentId = randomUUID()
  const closesAt = later(3600).toISOString()
  const story = [
    assessmentFact('AssessmentRequested', { assessmentId, organisationId: world.orgId, mode: 'slot' }),
    assessmentFact('AssessmentUploadsAwaited', { assessmentId, closesAt }),
  ]
  const stream = assessments.of(world.orgId, assessmentId).stream
  await world.store.append({ fold: assessments, stream }, 'no_stream', story, contextOf(world))
  const upload = uploadKey(world.orgId, assessmentId, ids.image)
  await world.deps.objects.put(upload, Buffer.from('bytes'), 'image/jpeg')
  const todo = todoOf(world, 'close-uploads', { assessmentId, caseId: randomUUID(), deadlineAt: later(3600) })
  world.pass(3599)
  expect(await work(todo)).toEqual({ kind: 'done' })
  expect(await world.deps.objects.head(upload)).toBeDefined()
  world.pass(1)
  expect(await work(todo)).toMatchObject({ kind: 'done', position: expect.anything() })
  world.pass(60)
  await work(todo)
  expect(await world.deps.objects.head(upload)).toBeUndefined()
  const data = { assessmentId, aiReviewId: null, code: 'UPLOAD_WINDOW_EXPIRED', failedAt: closesAt }
  expect((await eventsOf(world, stream)).slice(2)).toEqual([{ type: 'AssessmentFailed', data }])
})

it('closes no window of uploads that were submitted', async () => {
  const assessment = await submitted(world)
  world.pass(3600)
  expect(await work(todoOf(world, 'close-uploads', assessment))).toEqual({ kind: 'done' })
  expect(await sinceSubmitted(world, assessment)).toEqual([])
})

it('ends an assessment at its deadline, once, and not before', async () => {
  const assessment = await submitted(world)
  const todo = todoOf(world, 'expire', assessment)
  world.pass(3599)
  expect(await work(todo)).toEqual({ kind: 'done' })
  expect(await sinceSubmitted(world, assessment)).toEqual([])

  world.pass(1)
  expect(await work(todo)).toMatchObject({ kind: 'done', position: expect.anything() })
  world.pass(60)
  await work(todo)
  const failedAt = assessment.deadlineAt.toISOString()
  const data = { assessmentId: assessment.assessmentId, aiReviewId: null, code: 'ANALYSIS_TIMEOUT', failedAt }
  expect(await sinceSubmitted(world, assessment)).toEqual([{ type: 'AssessmentFailed', data }])
})

/** A review of the assessment's case that holds the slot and ends with this event. */
async function reviewed({ caseId }: Submitted, last: (aiReviewId: string) => AiReviewEvent): Promise<string> {
  const aiReviewId = randomUUID()
  const { orgId } = world
  const of = { aiReviewId, caseId, orgId }
  const slot = aiReviewSlots.of(orgId, caseId, ids.product)
  await world.store.append(slot, 'no_stream', [slotFact('AiReviewSlotClaimed', of)], contextOf(world))
  const story = [reviewFact('AiReviewRequested', of), last(aiReviewId)]
  await world.store.append(aiReviews.of(orgId, aiReviewId), 'no_stream', story, contextOf(world))
  return aiReviewId
}

it('ends an assessment at its deadline with the result of a review that had completed, while no processor ran', async () => {
  const assessment = await submitted(world)
  const completedAt = assessment.deadlineAt.toISOString()
  const aiReviewId = await reviewed(assessment, (id) =>
    reviewFact('AiReviewCompleted', { aiReviewId: id, completedAt }),
  )
  world.pass(7200)
  await work(todoOf(world, 'expire', assessment))
  expect(await sinceSubmitted(world, assessment)).toEqual([
    { type: 'AssessmentCompleted', data: expect.objectContaining({ aiReviewId, completedAt }) },
  ])
  const ended = reviewPublicFact('ai_review.completed', { aiReviewId, occurred_at: completedAt })
  expect(await work(await concludeOf(world, assessment, ended))).toEqual({ kind: 'done' })
  expect(await sinceSubmitted(world, assessment)).toHaveLength(1)
})

it.each([
  ['PROVIDER_REJECTED', reviewFact('AiReviewFailed')],
  ['CANCELLED', reviewFact('AiReviewCancelled', { reason: 'requested' })],
])(
  'ends an assessment at its deadline with %s if its review had ended so, while no processor ran',
  async (code, end) => {
    const assessment = await submitted(world)
    const at = assessment.deadlineAt.toISOString()
    const aiReviewId = await reviewed(assessment, (id) =>
      end.type === 'AiReviewFailed'
        ? reviewFact(end.type, { ...end.data, aiReviewId: id, failedAt: at })
        : reviewFact(end.type, { ...end.data, aiReviewId: id, cancelledAt: at }),
    )
    world.pass(7200)
    await work(todoOf(world, 'expire', assessment))
    const { assessmentId } = assessment
    expect(await sinceSubmitted(world, assessment)).toEqual([
      { type: 'AssessmentFailed', data: { assessmentId, aiReviewId, code, failedAt: at } },
    ])
  },
)

it.each(['completed', 'failed'])('ends an assessment at its deadline without a review that %s later', async (end) => {
  const assessment = await submitted(world)
  const at = new Date(assessment.deadlineAt.getTime() + 1).toISOString()
  await reviewed(assessment, (aiReviewId) =>
    end === 'failed'
      ? reviewFact('AiReviewFailed', { aiReviewId, failedAt: at })
      : reviewFact('AiReviewCompleted', { aiReviewId, completedAt: at }),
  )
  world.pass(7200)
  await work(todoOf(world, 'expire', assessment))
  expect(await sinceSubmitted(world, assessment)).toEqual([
    { type: 'AssessmentFailed', data: expect.objectContaining({ aiReviewId: null, code: 'ANALYSIS_TIMEOUT' }) },
  ])
})

it('ends an assessment with its review, once, at the instant that the review ended', async () => {
  const assessment = await submitted(world)
  const todo = await concludeOf(
    world,
    assessment,
    reviewPublicFact('ai_review.completed', { aiProvider: 'another-provider' }),
  )
  world.pass(10)
  await work(todo)
  world.pass(10)
  await work(todo)
  const data = { aiReviewId: ids.review, aiProvider: 'another-provider', completedAt: todo.dueAt.toISOString() }
  expect(await sinceSubmitted(world, assessment)).toEqual([
    { type: 'AssessmentCompleted', data: expect.objectContaining(data) },
  ])
  world.pass(3600)
  await work(todoOf(world, 'expire', assessment))
  expect(await sinceSubmitted(world, assessment)).toHaveLength(1)
})

it.each([
  [reviewPublicFact('ai_review.failed'), 'PROVIDER_REJECTED'],
  [reviewPublicFact('ai_review.failed', { errorClassification: 'provider_result_timeout' }), 'ANALYSIS_TIMEOUT'],
  [reviewPublicFact('ai_review.cancelled'), 'CONSENT_MISSING'],
  [reviewPublicFact('ai_review.cancelled', { reason: 'requested' }), 'CANCELLED'],
  [
    reviewPublicFact('ai_review.completed', {
      imageQuality: [{ imageId: ids.image, quality: 'IMAGE_QUALITY_UNSUITABLE' }],
    }),
    'IMAGE_QUALITY_INSUFFICIENT',
  ],
] as const)('fails an assessment whose review ended otherwise, case %#', async (ended, code) => {
  const assessment = await submitted(world)
  await work(await concludeOf(world, assessment, ended))
  expect(await sinceSubmitted(world, assessment)).toEqual([
    { type: 'AssessmentFailed', data: expect.objectContaining({ aiReviewId: ids.review, code }) },
  ])
})

it('records no result of a review that ends after its assessment has expired', async () => {
  const assessment = await submitted(world)
  world.pass(3600)
  await work(todoOf(world, 'expire', assessment))
  expect(await work(await concludeOf(world, assessment, reviewPublicFact('ai_review.completed')))).toEqual({
    kind: 'done',
  })
  expect((await sinceSubmitted(world, assessment)).map(({ type }) => type)).toEqual(['AssessmentFailed'])
})

it('opens the case of an assessment whose route died, once', async () => {
  const assessment = await submitted(world)
  const { stream } = cases.of(world.orgId, assessment.caseId)
  const first = await work(todoOf(world, 'open-case', assessment))
  expect(first).toEqual({ kind: 'done', position: expect.anything() })
  expect(await work(todoOf(world, 'open-case', assessment))).toEqual(first)
  expect((await eventsOf(world, stream)).map(({ type }) => type)).toEqual(['CaseOpened'])
})

it('opens the case before it ends an assessment whose route died, so a review that fails at once has one', async () => {
  const assessment = await submitted(world)
  const { stream } = cases.of(world.orgId, assessment.caseId)
  await work(await concludeOf(world, assessment, reviewPublicFact('ai_review.failed')))
  expect((await eventsOf(world, stream)).map(({ type }) => type)).toEqual(['CaseOpened'])
  expect((await sinceSubmitted(world, assessment)).map(({ type }) => type)).toEqual(['AssessmentFailed'])
})

it('opens the case of an assessment whose route died, also if it only ends at its deadline', async () => {
  const assessment = await submitted(world)
  world.pass(3600)
  await work(todoOf(world, 'expire', assessment))
  const { stream } = cases.of(world.orgId, assessment.caseId)
  expect((await eventsOf(world, stream)).map(({ type }) => type)).toEqual(['CaseOpened'])
  expect((await sinceSubmitted(world, assessment)).map(({ type }) => type)).toEqual(['AssessmentFailed'])
})

it('opens no case for an assessment that has ended', async () => {
  const assessment = await submitted(world)
  await cancelled(assessment)
  expect(await work(todoOf(world, 'open-case', assessment))).toEqual({ kind: 'done' })
  expect(await eventsOf(world, cases.of(world.orgId, assessment.caseId).stream)).toEqual([])
})

it('opens the case and requests a review after an older version, each once', async () => {
  const assessment = await submitted(world)
  const todo = todoOf(world, 'request-review', assessment)
  await work(todo)
  world.pass(30)
  await work(todo)
  expect((await eventsOf(world, cases.of(world.orgId, assessment.caseId).stream)).map(({ type }) => type)).toEqual([
    'CaseOpened',
  ])
  const requestedAt = todo.dueAt.toISOString()
  expect(await sinceSubmitted(world, assessment)).toEqual([
    { type: 'AssessmentReviewRequested', data: expect.objectContaining({ caseId: assessment.caseId, requestedAt }) },
  ])
})

it('requests no review for an assessment that has ended', async () => {
  const assessment = await submitted(world)
  await cancelled(assessment)
  expect(await work(todoOf(world, 'request-review', assessment))).toEqual({ kind: 'done' })
  expect(await eventsOf(world, cases.of(world.orgId, assessment.caseId).stream)).toEqual([])
})
