import { randomUUID } from 'node:crypto'
import type { ConcludePayload } from '../../../processes/assessments/conclude.steps.ts'
import type { TodoRow } from '../../../engine/processes/process.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { aiReviewChannelStream, type AiReviewChannelEvent } from '../../../streams/channels/ai-review.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { assessmentFact, ids } from '../../streams/facts.ts'
import type { ProcessWorld } from '../../support/process-world.ts'

export interface Submitted {
  readonly assessmentId: string
  readonly caseId: string
  readonly deadlineAt: Date
}

/** An assessment submitted now, with an hour until its deadline. */
export async function submitted(world: ProcessWorld): Promise<Submitted> {
  const [assessmentId, caseId] = [randomUUID(), randomUUID()]
  const deadlineAt = new Date(world.now().getTime() + 3_600_000)
  const images = assessmentFact('AssessmentSubmitted').data.images.map((image) => ({
    ...image,
    object: { ...image.object, key: image.object.key.replace(ids.org, world.orgId) },
  }))
  const story = [
    assessmentFact('AssessmentRequested', { assessmentId, organisationId: world.orgId }),
    assessmentFact('AssessmentSubmitted', {
      assessmentId,
      caseId,
      images,
      submittedAt: world.now().toISOString(),
      deadlineAt: deadlineAt.toISOString(),
    }),
  ]
  await world.store.append(assessments.of(world.orgId, assessmentId), 'no_stream', story, contextOf(world))
  return { assessmentId, caseId, deadlineAt }
}

export function todoOf(world: ProcessWorld, step: string, { assessmentId }: Submitted, payload: object = {}): TodoRow {
  const cause = { eventId: randomUUID(), correlationId: randomUUID() }
  return { key: assessmentId, step, orgId: world.orgId, dueAt: world.now(), payload: { cause, ...payload } }
}

/** The due steps after a review of the assessment's case has ended. */
export async function concludeOf(
  world: ProcessWorld,
  assessment: Submitted,
  ended: AiReviewChannelEvent,
): Promise<TodoRow> {
  const id = randomUUID()
  const data = { ...ended.data, caseId: assessment.caseId, orgId: world.orgId, event_id: id }
  const metadata = { commandId: randomUUID(), $correlationId: randomUUID(), $causationId: randomUUID() }
  const before = await world.store.readLast(aiReviewChannelStream.name)
  const { revision } = await world.store.appendRaw(aiReviewChannelStream.name, before?.revision ?? 'no_stream', [
    { id, type: ended.type, data, metadata },
  ])
  const aiReviewId = 'aiReviewId' in ended.data ? ended.data.aiReviewId : ids.review
  const payload: ConcludePayload = { channelRevision: revision.toString(), aiReviewId }
  return todoOf(world, 'conclude', assessment, payload)
}

/** The events of a stream. */
export async function eventsOf({ otherStore }: ProcessWorld, stream: string) {
  const events: { readonly type: string; readonly data: unknown }[] = []
  for await (const { type, data } of otherStore.readStream(stream)) events.push({ type, data })
  return events
}

/** The events of an assessment after its submission. */
export async function sinceSubmitted(world: ProcessWorld, { assessmentId }: Submitted) {
  return (await eventsOf(world, assessments.of(world.orgId, assessmentId).stream)).slice(2)
}
