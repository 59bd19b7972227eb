import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createDeliveryBodies, type DeliveryBodies } from '../../../processes/webhooks/delivery-body.ts'
import type { DeliveredEventType } from '../../../streams/webhook-delivery/events.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { assessmentFact, ids } from '../../streams/facts.ts'

let world: DecisionWorld
let signed: string[]
let bodies: DeliveryBodies
let assessmentId: string

beforeAll(async () => {
  world = await openDecisionWorld()
})
afterAll(() => world.close())

beforeEach(async () => {
  signed = []
  const presignDownload = async (key: string, ttlSeconds: number) => {
    signed.push(key)
    return {
      url: `https://objects.example/${key}?at=${world.now().getTime()}`,
      expiresAt: new Date(world.now().getTime() + ttlSeconds * 1000),
    }
  }
  bodies = createDeliveryBodies({ ...world, objects: { presignDownload } })
  assessmentId = await ended()
})

async function ended(): Promise<string> {
  const id = randomUUID()
  const facts = [
    assessmentFact('AssessmentRequested', { assessmentId: id }),
    assessmentFact('AssessmentSubmitted', { assessmentId: id, caseId: randomUUID() }),
    assessmentFact('AssessmentCompleted', { assessmentId: id }),
  ]
  await world.store.append(assessments.of(world.orgId, id), 'no_stream', facts, contextOf(world))
  return id
}

const eventOf = (
  mode: 'full' | 'thin' = 'full',
  id = assessmentId,
  eventType: DeliveredEventType = 'assessment.completed',
  eventId: string = id,
) => ({ orgId: world.orgId, eventId, eventType, assessmentId: id, mode })

const textOf = async (event: Parameters<DeliveryBodies['of']>[0]) => (await bodies.of(event)).text

it('are made once for all subscriptions with deliveries at about the same time', async () => {
  const [first, ...others] = await Promise.all(Array.from({ length: 4 }, () => textOf(eventOf())))
  expect(new Set([...others, await textOf(eventOf())])).toEqual(new Set([first]))
  expect(JSON.parse(first ?? '')).toMatchObject({ id: assessmentId, status: 'completed' })
  expect(signed.length).toBeGreaterThan(0)
  expect(new Set(signed).size).toBe(signed.length)
})

it('have new addresses for a later attempt', async () => {
  const first = await textOf(eventOf())
  world.pass(1)
  const second = await textOf(eventOf())
  expect(second).not.toBe(first)
  expect(second).toContain(`?at=${world.now().getTime()}`)
})

it('are not those of another assessment, another mode or another organisation', async () => {
  const other = await ended()
  expect(JSON.parse(await textOf(eventOf()))).toMatchObject({ id: assessmentId })
  expect(JSON.parse(await textOf(eventOf('full', other)))).toMatchObject({ id: other })
  expect(JSON.parse(await textOf(eventOf('thin')))).toEqual({ id: assessmentId, status: 'completed' })
  await expect(textOf({ ...eventOf(), orgId: ids.otherOrg })).rejects.toThrow('has not ended')
})

it('contain the decision that they report, also if this process has read only the end, or a newer review has a task', async () => {
  const before = JSON.parse(await textOf(eventOf())) as object
  expect(before).not.toHaveProperty('review')
  const none = eventOf('full', assessmentId, 'assessment.reviewed', randomUUID())
  await expect(textOf(none)).rejects.toThrow('a decision that the assessment does not have')
  const target = assessments.of(world.orgId, assessmentId)
  const { revision } = await world.otherStore.load(target)
  const [of, newer] = [{ assessmentId }, { assessmentId, taskId: randomUUID() }]
  const decided = assessmentFact('AssessmentHumanReviewDecided', of)
  const events = [
    assessmentFact('AssessmentHumanReviewOpened', of),
    decided,
    assessmentFact('AssessmentHumanReviewOpened', { ...newer, reviewOrdinal: 5 }),
    assessmentFact('AssessmentHumanReviewDecided', { ...newer, aiReviewId: ids.newReview, agreesWithAi: true }),
  ]
  await world.otherStore.append(target, revision, events, contextOf(world))
  const eventIds: string[] = []
  for await (const { id } of world.otherStore.readStream(target.stream)) eventIds.push(id)
  const reviewed = eventOf('full', assessmentId, 'assessment.reviewed', eventIds.at(-3))
  const named = { task_id: ids.task, ai_review_id: ids.review }
  const review = { status: 'decided', decided_at: decided.data.decidedAt, agrees_with_ai: false }
  expect(JSON.parse(await textOf(reviewed))).toEqual({ ...before, ...named, review })
  const thin = { id: assessmentId, status: 'completed', ...named }
  expect(JSON.parse(await textOf({ ...reviewed, mode: 'thin' }))).toEqual(thin)
  const ofNewer = { task_id: newer.taskId, ai_review_id: ids.newReview, review: { ...review, agrees_with_ai: true } }
  const eventOfNewer = { ...reviewed, eventId: eventIds.at(-1) ?? '' }
  expect(JSON.parse(await textOf(eventOfNewer))).toEqual({ ...before, ...ofNewer })
})

it('are thin from the beginning of the erasure of the patient, also for a decision and a redelivery', async () => {
  const patientId = randomUUID()
  const of = { assessmentId: randomUUID() }
  const facts = [
    assessmentFact('AssessmentRequested', { ...of, patientId }),
    assessmentFact('AssessmentSubmitted', { ...of, caseId: randomUUID() }),
    assessmentFact('AssessmentCompleted', of),
    assessmentFact('AssessmentHumanReviewOpened', of),
    assessmentFact('AssessmentHumanReviewDecided', of),
  ]
  const target = assessments.of(world.orgId, of.assessmentId)
  await world.store.append(target, 'no_stream', facts, contextOf(world))
  let decision = ''
  for await (const { id } of world.store.readStream(target.stream)) decision = id
  const ofEnd = eventOf('full', of.assessmentId)
  const ofDecision = eventOf('full', of.assessmentId, 'assessment.reviewed', decision)
  expect((await bodies.of(ofEnd)).shown?.patientId).toBe(patientId)
  expect((await bodies.of(ofDecision)).shown?.patientId).toBe(patientId)

  world.vault.closeSubject(world.orgId, patientId)
  world.pass(1)
  const thin = { id: of.assessmentId, status: 'completed' }
  const redelivered = await bodies.of(ofEnd)
  expect([JSON.parse(redelivered.text), redelivered.shown]).toEqual([thin, null])
  const named = { task_id: ids.task, ai_review_id: ids.review }
  const decided = await bodies.of(ofDecision)
  expect([JSON.parse(decided.text), decided.shown]).toEqual([{ ...thin, ...named }, null])
})

it('that failed are made again', async () => {
  const id = randomUUID()
  await expect(textOf(eventOf('thin', id))).rejects.toThrow('has not ended')
  await world.otherStore.append(
    assessments.of(world.orgId, id),
    'no_stream',
    [
      assessmentFact('AssessmentRequested', { assessmentId: id }),
      assessmentFact('AssessmentFailed', { assessmentId: id }),
    ],
    contextOf(world),
  )
  expect(JSON.parse(await textOf(eventOf('thin', id)))).toEqual({ id, status: 'failed' })
})

it('name the patient and what they show of it, thin ones none', async () => {
  const full = await bodies.of(eventOf())
  expect(full.shown).toEqual({ patientId: ids.patient, categories: ['images', 'record', 'results'] })
  expect(JSON.parse(full.text)).toHaveProperty('external_reference')
  expect((await bodies.of(eventOf('thin'))).shown).toBeNull()
  expect((await bodies.of({ ...eventOf(), assessmentId: null, eventType: 'webhook.test' })).shown).toBeNull()
})
