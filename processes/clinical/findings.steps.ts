import { Type, type Static } from 'typebox'
import { lesionBatches, type LesionBatch } from '../../commands/clinical/lesion-batches.ts'
import { recordFindings } from '../../commands/clinical/record-findings.ts'
import { supersedeDiagnoses } from '../../commands/clinical/supersede-diagnoses.ts'
import type { Decision } from '../../engine/commands/decision.ts'
import { execute } from '../../engine/commands/execute.ts'
import { problem } from '../../platform/http/problems.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import { cases, type CaseState } from '../../streams/case/aggregate.ts'
import { aiReviewChannelStream, type AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import { readChannelEvent } from '../../engine/relay/channel.ts'
import { causeOf, stepCommand } from '../../engine/processes/step-identity.ts'

/** The place of the completed review on the channel, so its lesions stay out of the list. */
export const RecordPayload = Type.Object({ channelRevision: Type.String() })
export type RecordPayload = Static<typeof RecordPayload>

export const SupersedePayload = Type.Object({ recording: RecordPayload, supersededById: Type.String() })
export type SupersedePayload = Static<typeof SupersedePayload>

type Completed = RecordedEvent<Extract<AiReviewChannelEvent, { type: 'ai_review.completed' }>>

export const recordFindingsOfReview: ProcessStep<RecordPayload> = async (todo, deps) => {
  const completed = await completedOf(todo.payload, deps)
  return { kind: 'done', position: await recordOnce(completed, deps) }
}

/**
 * The row of this step replaces that of the other one, which may not have run, or may still run. So this one also records the
 * findings, with the same ids, before it supersedes.
 */
export const supersedeDiagnosesOfReview: ProcessStep<SupersedePayload> = async (todo, deps) => {
  const { recording, supersededById } = todo.payload
  const completed = await completedOf(recording, deps)
  await recordOnce(completed, deps)
  const { aiReviewId, lesions } = completed.data
  const command = { aiReviewId, diagnosisCount: lesions.length, supersededById, now: todo.dueAt }
  const position = await appendBatches(
    deps,
    completed,
    (batch, state) => supersedeDiagnoses({ ...command, batch }, state),
    (part) => todo.command(`clinical.supersede-diagnoses${part}`),
  )
  return { kind: 'done', position }
}

function completedOf({ channelRevision }: RecordPayload, { store }: ProcessDependencies): Promise<Completed> {
  return readChannelEvent(store, aiReviewChannelStream, channelRevision, ['ai_review.completed'])
}

/** The event of the channel is the cause for both steps, so both append the same ids. */
async function recordOnce(completed: Completed, deps: ProcessDependencies): Promise<Position | undefined> {
  const { aiReviewId, lesions, orgId, occurred_at } = completed.data
  const bodySiteId = await bodySiteOf(completed, deps)
  const command = { aiReviewId, lesionCount: lesions.length, bodySiteId, now: new Date(occurred_at) }
  return appendBatches(
    deps,
    completed,
    (batch, state) => recordFindings({ ...command, batch }, state),
    (part) =>
      stepCommand({ process: 'clinical', name: `clinical.record-findings${part}`, ...causeOf(completed), orgId }),
  )
}

/**
 * One append for each batch of the review's lesions, with ids that follow from the cause. Returns the last position.
 */
async function appendBatches(
  { store }: ProcessDependencies,
  { data: { orgId, caseId, lesions } }: Completed,
  decide: (batch: LesionBatch, state: CaseState) => Decision<CaseEvent, 'not-found' | 'conflict'>,
  contextOf: (part: string) => CommandContext,
): Promise<Position | undefined> {
  const target = cases.of(orgId, caseId)
  let position: Position | undefined
  for (const [index, batch] of lesionBatches(lesions).entries()) {
    const context = contextOf(index === 0 ? '' : `.${index}`)
    const done = await execute(store, target, (state) => decide(batch, state), context)
    position = done.position ?? position
  }
  return position
}

/**
 * The body site of the case's assessment. The states have what came before the review's end: no append validates them.
 * @throws Problem `not-found`: the case opens after the review, whose findings would lack the body site
 */
async function bodySiteOf(
  { data: { orgId, caseId }, position }: Completed,
  { store }: ProcessDependencies,
): Promise<string | null> {
  const { state: opened } = await store.loadFollowed(cases.of(orgId, caseId), position)
  if (opened.status === 'absent') throw problem('not-found')
  if (opened.assessmentId === null) return null
  const { state: assessment } = await store.loadFollowed(assessments.of(orgId, opened.assessmentId), position)
  return assessment.status === 'absent' ? null : assessment.finding.bodySiteId
}
