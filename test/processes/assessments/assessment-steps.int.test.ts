import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ConcludePayload } from '../../../processes/assessments/assessments.process.ts'
import { assessmentsProcess } from '../../../processes/assessments/assessments.effects.ts'
import type { Todo } from '../../../processes/runtime/process.ts'
import { assessmentFold } from '../../../streams/assessment/state.ts'
import { assessmentStream } from '../../../streams/assessment/stream.ts'
import { caseStream } from '../../../streams/case/stream.ts'
import { aiReviewChannel, type AiReviewChannelEvent } from '../../../streams/channels/ai-review.ts'
import { contextOf } from '../../commands/handling/decision-world.ts'
import { reviewPublicFact } from '../../streams/channel-facts.ts'
import { assessmentFact, ids } from '../../streams/facts.ts'
import { openProcessWorld, workOff, type ProcessWorld } from '../../support/process-world.ts'

let world: ProcessWorld

beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())

const later = (seconds: number) => new Date(world.now().getTime() + seconds * 1000)

interface Submitted {
  readonly assessmentId: string
  readonly caseId: string
  readonly deadlineAt: Date
}

/** An assessment submitted now, with an hour until its deadline. */
async function submitted(): Promise<Submitted> {
  const [assessmentId, caseId] = [randomUUID(), randomUUID()]
  const deadlineAt = later(3600)
  const story = [
    assessmentFact('AssessmentRequested', { assessmentId, organisationId: world.orgId }),
    assessmentFact('AssessmentSubmitted', { assessmentId, caseId, submittedAt: later(0).toISOString(), deadlineAt: deadlineAt.toISOString() }),
  ]
  await world.store.append(assessmentFold, assessmentStream(world.orgId, assessmentId), 'no_stream', story, contextOf(world))
  return { assessmentId, caseId, deadlineAt }
}

function todoOf(step: string, { assessmentId }: Submitted, payload: object = {}): Todo {
  const cause = { eventId: randomUUID(), correlationId: randomUUID() }
  return { key: assessmentId, step, orgId: world.orgId, dueAt: world.now(), payload: { cause, ...payload } }
}

/** What is due once the assessment's review has ended so. */
async function concludeOf(assessment: Submitted, ended: AiReviewChannelEvent): Promise<Todo> {
  const id = randomUUID()
  const data = { ...ended.data, caseId: assessment.caseId, orgId: world.orgId, event_id: id }
  const metadata = { commandId: randomUUID(), $correlationId: randomUUID(), $causationId: randomUUID() }
  const before = await world.store.readLast(aiReviewChannel)
  const { revision } = await world.store.appendRaw(aiReviewChannel, before?.revision ?? 'no_stream', [{ id, type: ended.type, data, metadata }])
  const payload: Omit<ConcludePayload, 'cause'> = { channelRevision: revision.toString() }
  return todoOf('conclude', assessment, payload)
}

const work = (todo: Todo) => workOff(world, assessmentsProcess, todo)

async function eventsOf(stream: string) {
  const events: { readonly type: string; readonly data: unknown }[] = []
  for await (const { type, data } of world.otherStore.readStream(stream)) events.push({ type, data })
  return events
}

const endsOf = async ({ assessmentId }: Submitted) => (await eventsOf(assessmentStream(world.orgId, assessmentId))).slice(2)

it('ends an assessment whose uploads were not submitted when their window closes, once, and not before', async () => {
  const assessmentId = randomUUID()
  const closesAt = later(3600).toISOString()
  const story = [
    assessmentFact('AssessmentRequested', { assessmentId, organisationId: world.orgId, mode: 'slot' }),
    assessmentFact('AssessmentUploadsAwaited', { assessmentId, closesAt }),
  ]
  const stream = assessmentStream(world.orgId, assessmentId)
  await world.store.append(assessmentFold, stream, 'no_stream', story, contextOf(world))
  const todo = todoOf('close-uploads', { assessmentId, caseId: randomUUID(), deadlineAt: later(3600) })
  world.pass(3599)
  expect(await work(todo)).toEqual({ kind: 'done' })
  world.pass(1)
  expect(await work(todo)).toMatchObject({ kind: 'done', position: expect.anything() })
  world.pass(60)
  await work(todo)
  const data = { assessmentId, aiReviewId: null, code: 'UPLOAD_WINDOW_EXPIRED', failedAt: closesAt }
  expect((await eventsOf(stream)).slice(2)).toEqual([{ type: 'AssessmentFailed', data }])
})

it('closes no window of uploads that were submitted', async () => {
  const assessment = await submitted()
  world.pass(3600)
  expect(await work(todoOf('close-uploads', assessment))).toEqual({ kind: 'done' })
  expect(await endsOf(assessment)).toEqual([])
})

it('ends an assessment at its deadline, once, and not before', async () => {
  const assessment = await submitted()
  const todo = todoOf('expire', assessment)
  world.pass(3599)
  expect(await work(todo)).toEqual({ kind: 'done' })
  expect(await endsOf(assessment)).toEqual([])

  world.pass(1)
  expect(await work(todo)).toMatchObject({ kind: 'done', position: expect.anything() })
  world.pass(60)
  await work(todo)
  const failedAt = assessment.deadlineAt.toISOString()
  const data = { assessmentId: assessment.assessmentId, aiReviewId: null, code: 'ANALYSIS_TIMEOUT', failedAt }
  expect(await endsOf(assessment)).toEqual([{ type: 'AssessmentFailed', data }])
})

it('ends an assessment with its review, once, at the instant that the review ended', async () => {
  const assessment = await submitted()
  const todo = await concludeOf(assessment, reviewPublicFact('ai_review.completed'))
  world.pass(10)
  await work(todo)
  world.pass(10)
  await work(todo)
  const data = { aiReviewId: ids.review, aiProvider: world.configuration.providerName, completedAt: todo.dueAt.toISOString() }
  expect(await endsOf(assessment)).toEqual([{ type: 'AssessmentCompleted', data: expect.objectContaining(data) }])
  world.pass(3600)
  await work(todoOf('expire', assessment))
  expect(await endsOf(assessment)).toHaveLength(1)
})

it.each([
  [reviewPublicFact('ai_review.failed'), 'PROVIDER_REJECTED'],
  [reviewPublicFact('ai_review.failed', { errorClassification: 'provider_result_timeout' }), 'ANALYSIS_TIMEOUT'],
  [reviewPublicFact('ai_review.cancelled'), 'CONSENT_MISSING'],
  [reviewPublicFact('ai_review.cancelled', { reason: 'requested' }), 'CANCELLED'],
  [reviewPublicFact('ai_review.completed', { imageQuality: [{ imageId: ids.image, quality: 'IMAGE_QUALITY_UNSUITABLE' }] }), 'IMAGE_QUALITY_INSUFFICIENT'],
] as const)('fails an assessment whose review ended otherwise, case %#', async (ended, code) => {
  const assessment = await submitted()
  await work(await concludeOf(assessment, ended))
  expect(await endsOf(assessment)).toEqual([{ type: 'AssessmentFailed', data: expect.objectContaining({ aiReviewId: ids.review, code }) }])
})

it('takes no result of a review that ends after its assessment has expired', async () => {
  const assessment = await submitted()
  world.pass(3600)
  await work(todoOf('expire', assessment))
  expect(await work(await concludeOf(assessment, reviewPublicFact('ai_review.completed')))).toEqual({ kind: 'done' })
  expect((await endsOf(assessment)).map(({ type }) => type)).toEqual(['AssessmentFailed'])
})

it('opens the case and asks for a review, each once', async () => {
  const assessment = await submitted()
  const todo = todoOf('request-review', assessment)
  await work(todo)
  world.pass(30)
  await work(todo)
  expect((await eventsOf(caseStream(world.orgId, assessment.caseId))).map(({ type }) => type)).toEqual(['CaseOpened'])
  const requestedAt = todo.dueAt.toISOString()
  expect(await endsOf(assessment)).toEqual([{ type: 'AssessmentReviewRequested', data: expect.objectContaining({ caseId: assessment.caseId, requestedAt }) }])
})

it('asks for no review of an assessment that has ended', async () => {
  const assessment = await submitted()
  world.pass(3600)
  await work(todoOf('expire', assessment))
  expect(await work(todoOf('request-review', assessment))).toEqual({ kind: 'done' })
  expect(await eventsOf(caseStream(world.orgId, assessment.caseId))).toEqual([])
})
