import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { at as memberAt } from '../../../app/demo/members.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { dayOf, imageKey } from '../../../commands/assessments/image-key.ts'
import { supersedeSlot } from '../../../commands/ai-review/supersede-review.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { getAssessment } from '../../../read-api/assessments/routes.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { images } from '../../../streams/image/aggregate.ts'
import { assessmentChannelStream } from '../../../streams/channels/assessment.ts'
import { humanReviewPolicies } from '../../../streams/human-review-policy/aggregate.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { slotFact } from '../../streams/ai-review-facts.ts'
import { caseFact, ids } from '../../streams/facts.ts'
import { imageFact } from '../../streams/image-facts.ts'
import { opinionOn, policyFact, rule, taskFact } from '../../streams/human-review-facts.ts'
import { subscribe } from '../webhooks/webhook-steps.ts'
import { assessmentEventsOf, decideConsent, reviewOf, submitAnalysis, type Analysis } from './analyses.ts'
import { givenTimeline } from './given-timeline.ts'

const given = givenTimeline()
let naming: WebhookReceiver

/** The policy selects every review. One receiver gets decisions too, the receiver of the timeline does not. */
beforeAll(async () => {
  const { world } = given
  const { orgId, store } = world
  naming = await startWebhookReceiver()
  await subscribe(world, { url: naming.url, eventTypes: ['assessment.completed', 'assessment.reviewed'] })
  const set = policyFact('HumanReviewPolicySet', { organisationId: orgId, rules: [rule({ always: true })] })
  await store.append(humanReviewPolicies.of(orgId), 'no_stream', [set], contextOf(world))
})
afterAll(() => naming.close())

/** A clinician confirms the review of the analysis. */
async function decide(analysis: Analysis): Promise<string> {
  return decideTask(humanReviewTaskId((await reviewOf(given, analysis)).id))
}

async function decideTask(taskId: string): Promise<string> {
  const { otherStore, orgId, now } = given.world
  const target = humanReviewTasks.of(orgId, taskId)
  const { state, revision } = await otherStore.load(target)
  if (state.status !== 'open') throw new Error(`the task is ${state.status}`)
  const decidedAt = now().toISOString()
  const confirmed = { outcome: 'confirm' as const, icd10: null, snomed: null, category: null }
  const lesions = state.lesions.map(({ lesionNumber }) => ({ lesionNumber, ...confirmed }))
  const events = [
    taskFact('HumanReviewOpinionGiven', {
      taskId,
      patientId: state.patientId,
      ...opinionOn(...lesions),
      givenAt: decidedAt,
    }),
    taskFact('HumanReviewTaskDecided', { taskId, agreesWithAi: true, decidedAt }),
  ]
  await otherStore.append(target, revision, events, contextOf(given.world))
  return decidedAt
}

const typesOf = async (analysis: Analysis) => (await assessmentEventsOf(given, analysis)).map(({ type }) => type)

async function reviewIn({ assessmentId }: Analysis) {
  const { review, status, streamRevision } = await getAssessment(
    { pool: given.timeline.pool, vault: given.world.vault },
    given.world.orgId,
    assessmentId,
  )
  return { review, status, revision: streamRevision }
}

/** Type and body of each webhook about the assessment, in the order of their types. */
function webhooksTo({ received }: WebhookReceiver, { assessmentId }: Analysis) {
  return received
    .map(({ headers, body }) => ({ type: headers['webhook-event-type'] ?? '', body: JSON.parse(body) as unknown }))
    .filter(({ body }) => memberAt(body, 'id') === assessmentId)
    .toSorted((one, other) => one.type.localeCompare(other.type))
}

async function publishedAbout({ assessmentId }: Analysis): Promise<string[]> {
  const types: string[] = []
  for await (const { type, data } of given.world.otherStore.readStream(assessmentChannelStream.name))
    if (memberAt(data, 'assessment_id') === assessmentId) types.push(type)
  return types
}

/** The members that name a review of the assessment and its task. */
const namesOf = (aiReviewId: string) => ({ task_id: humanReviewTaskId(aiReviewId), ai_review_id: aiReviewId })

/** Each message about the decision was sent once, and nothing follows. */
async function expectDecisionOnce(analysis: Analysis, decidedAt: string): Promise<void> {
  await given.timeline.runFor(60)
  const named = namesOf((await reviewOf(given, analysis)).id)
  const review = { status: 'decided', decided_at: decidedAt, agrees_with_ai: true }
  expect(await reviewIn(analysis)).toEqual({ review, status: 'completed', revision: '5' })
  const completion = { type: 'assessment.completed', body: expect.objectContaining({ status: 'completed' }) }
  const reviewed = {
    type: 'assessment.reviewed',
    body: expect.objectContaining({ status: 'completed', review, ...named }),
  }
  expect(webhooksTo(naming, analysis)).toEqual([completion, reviewed])
  expect(webhooksTo(given.receiver, analysis)).toEqual([completion])
  expect(await publishedAbout(analysis)).toEqual(['assessment.completed', 'assessment.reviewed'])
}

const story = ['AssessmentReviewRequested', 'AssessmentCompleted', 'AssessmentHumanReviewOpened']

it('sends the end at once, shows the open review, and sends its decision once', async () => {
  await given.open()
  const analysis = await submitAnalysis(given.world)
  await given.timeline.runFor(600)
  expect(await typesOf(analysis)).toEqual(story)
  const open = { status: 'open', decided_at: null, agrees_with_ai: null }
  expect(await reviewIn(analysis)).toEqual({ review: open, status: 'completed', revision: '4' })
  expect(webhooksTo(naming, analysis).map(({ type }) => type)).toEqual(['assessment.completed'])

  const decidedAt = await decide(analysis)
  await expectDecisionOnce(analysis, decidedAt)
  expect(await typesOf(analysis)).toEqual([...story, 'AssessmentHumanReviewDecided'])
})

it('the same if the task is decided before the assessment has ended', async () => {
  await given.open({ stopped: ['assessments_todo'] })
  const { world, timeline } = given
  const analysis = await submitAnalysis(world)
  await timeline.runFor(600)
  const decidedAt = await decide(analysis)
  await timeline.runUntilIdle()
  expect(await typesOf(analysis)).toEqual(['AssessmentReviewRequested'])

  await timeline.resume('assessments_todo')
  await expectDecisionOnce(analysis, decidedAt)
  expect(await typesOf(analysis)).toEqual([...story, 'AssessmentHumanReviewDecided'])
})

it('shows that a task was cancelled, and sends no webhook', async () => {
  await given.open({ stopped: ['human_review_todo'] })
  const analysis = await submitAnalysis(given.world)
  await given.timeline.runFor(600)
  expect(await reviewIn(analysis)).toEqual({ review: null, status: 'completed', revision: '3' })

  await given.timeline.resume('human_review_todo')
  await given.timeline.runUntilIdle()
  expect(await typesOf(analysis)).toEqual(story)
  await decideConsent(given.world, 'withdrawn')
  await given.timeline.runFor(60)
  const cancelled = { status: 'cancelled', decided_at: null, agrees_with_ai: null }
  expect(await reviewIn(analysis)).toEqual({ review: cancelled, status: 'completed', revision: '5' })
  expect(await typesOf(analysis)).toEqual([...story, 'AssessmentHumanReviewCancelled'])
  expect(webhooksTo(naming, analysis).map(({ type }) => type)).toEqual(['assessment.completed'])
  expect(await publishedAbout(analysis)).toEqual(['assessment.completed'])
})

/** Another request supersedes the review that holds the slot. The process completes the claim. */
async function supersede({ caseId }: Analysis): Promise<void> {
  const { store, orgId, now } = given.world
  const slot = aiReviewSlots.of(orgId, caseId, ids.product)
  const { state } = await store.load(slot)
  if (state.status !== 'taken') throw new Error('the slot is free')
  const { claimedAt: _, requestEventId: __, aiReviewId, ...holder } = state.holder
  const supersedes = { aiReviewId, reason: null }
  const command = { ...holder, aiReviewId: randomUUID(), supersedes, request: null, now: now() }
  await execute(store, slot, (current) => supersedeSlot(command, current), contextOf(given.world))
}

const decisionsSent = (analysis: Analysis) =>
  webhooksTo(naming, analysis).flatMap(({ type, body }) => (type === 'assessment.reviewed' ? [body] : []))

it('sends a decision about a review that completed after the deadline of the assessment', async () => {
  await given.world.provider.result({ sha256: '*', not_ready_polls: 18 })
  await given.open({ deps: given.world.rewired({ providerResultTimeoutMs: 3 * 3600_000 }) })
  const analysis = await submitAnalysis(given.world)
  await given.timeline.runFor(4 * 3600)
  expect(await typesOf(analysis)).toEqual([
    'AssessmentReviewRequested',
    'AssessmentFailed',
    'AssessmentHumanReviewOpened',
  ])
  const decidedAt = await decide(analysis)
  await given.timeline.runFor(60)
  const review = { status: 'decided', decided_at: decidedAt, agrees_with_ai: true }
  const named = namesOf((await reviewOf(given, analysis)).id)
  const failure = { status: 'failed', error: { code: 'ANALYSIS_TIMEOUT' }, result: null, review, ...named }
  expect(await reviewIn(analysis)).toMatchObject({ review, status: 'failed' })
  expect(decisionsSent(analysis)).toMatchObject([failure])
  expect(await publishedAbout(analysis)).toEqual(['assessment.failed', 'assessment.reviewed'])
})

it('sends the decisions about a superseded review and its successor, and shows that of the successor', async () => {
  await given.open()
  const analysis = await submitAnalysis(given.world)
  await given.timeline.runFor(600)
  const first = namesOf((await reviewOf(given, analysis)).id)
  const { store, orgId } = given.world
  const decidedFirst = await decide(analysis)
  // The review is superseded before anything follows the decision.
  await supersede(analysis)
  await given.timeline.runFor(600)
  const { state } = await store.load(aiReviewSlots.of(orgId, analysis.caseId, ids.product))
  if (state.status !== 'taken') throw new Error('the slot is free')
  const second = namesOf(state.holder.aiReviewId)
  const open = { status: 'open', decided_at: null, agrees_with_ai: null }
  expect(await reviewIn(analysis)).toMatchObject({ review: open, status: 'completed' })
  const reviewFirst = { status: 'decided', decided_at: decidedFirst, agrees_with_ai: true }
  expect(decisionsSent(analysis)).toMatchObject([{ ...first, review: reviewFirst }])

  const decidedSecond = await decideTask(second.task_id)
  await given.timeline.runFor(60)
  const review = { ...reviewFirst, decided_at: decidedSecond }
  expect(await reviewIn(analysis)).toMatchObject({ review, status: 'completed' })
  expect(decisionsSent(analysis)).toHaveLength(2)
  expect(decisionsSent(analysis)).toMatchObject([
    { ...first, review: reviewFirst },
    { ...second, review },
  ])
  expect(await publishedAbout(analysis)).toEqual(['assessment.completed', 'assessment.reviewed', 'assessment.reviewed'])
})

/** A client's case with an image, and a review of it. */
async function reviewOfClient(caseId: string, imageId: string): Promise<string> {
  const { world } = given
  const { store, orgId } = world
  const [aiReviewId, patientId] = [randomUUID(), randomUUID()]
  world.services.patientId = patientId
  const of = { caseId, patientId }
  const at = world.now()
  const key = imageKey({ day: dayOf(at), orgId, ownerId: imageId, imageId, randomPart: '0' })
  const object = await world.deps.objects.put(key, Buffer.from(`bytes ${imageId}`), 'image/jpeg')
  const opened = caseFact('CaseOpened', { ...of, organisationId: orgId, productId: null, assessmentId: null })
  await store.append(cases.of(orgId, caseId), 'no_stream', [opened], contextOf(world))
  const declared = imageFact('ImageDeclared', { imageId, organisationId: orgId, patientId, caseId })
  const received = [declared, imageFact('ImageReceived', { imageId, object })]
  await store.append(images.of(orgId, imageId), 'no_stream', received, contextOf(world))
  const {
    images: [usual],
  } = slotFact('AiReviewSlotClaimed').data
  if (usual === undefined) throw new Error('the usual review has an image')
  const review = { ...of, aiReviewId, orgId, images: [{ ...usual, imageId, objectKey: key }] }
  const claimed = slotFact('AiReviewSlotClaimed', { ...review, requestEventId: null, claimedAt: at.toISOString() })
  await store.append(aiReviewSlots.of(orgId, caseId, ids.product), 'no_stream', [claimed], contextOf(world))
  return aiReviewId
}

it('sends a decision from before the case had its assessment', async () => {
  await given.open()
  const { world, timeline } = given
  const { store, orgId } = world
  const [caseId, imageId, assessmentId] = [randomUUID(), randomUUID(), randomUUID()]
  const named = namesOf(await reviewOfClient(caseId, imageId))
  await timeline.runFor(600)
  const decidedAt = await decideTask(named.task_id)
  await timeline.runFor(60)

  const assigned = caseFact('CaseAssessmentAssigned', {
    caseId,
    assessmentId,
    imageIds: [imageId],
    assignedAt: world.now().toISOString(),
  })
  const ofCase = cases.of(orgId, caseId)
  await store.append(ofCase, (await store.load(ofCase)).revision, [assigned], contextOf(world))
  await timeline.runFor(60)
  const analysis = { assessmentId, caseId, submittedAt: world.now() }
  const review = { status: 'decided', decided_at: decidedAt, agrees_with_ai: true }
  expect(await reviewIn(analysis)).toMatchObject({ review, status: 'completed' })
  expect(decisionsSent(analysis)).toMatchObject([{ review, ...named }])
  const { state: task } = await store.load(humanReviewTasks.of(orgId, named.task_id))
  expect(task).toMatchObject({ status: 'decided', assessmentId })
})
