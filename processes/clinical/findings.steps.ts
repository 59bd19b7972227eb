import { lesionShares, type LesionShare } from '../../commands/clinical/lesion-shares.ts'
import { recordFindings } from '../../commands/clinical/record-findings.ts'
import { supersedeDiagnoses } from '../../commands/clinical/supersede-diagnoses.ts'
import type { Decision } from '../../commands/handling/decision.ts'
import { execute } from '../../commands/handling/execute.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import { cases, type CaseState } from '../../streams/case/aggregate.ts'
import { aiReviewChannel, type AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import type { RecordedEvent } from '../../streams/store/events.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { readChannelEvent } from '../relay/channel-event.ts'
import type { StepOutcome, Todo } from '../runtime/process.ts'
import { stepCommand, type StepCause } from '../runtime/step-command.ts'
import { causeOf, orgOf, readCause } from '../runtime/step-identity.ts'
import type { RecordPayload, SupersedePayload } from './clinical.process.ts'

type CompletedEvent = Extract<AiReviewChannelEvent, { type: 'ai_review.completed' }>
type Completed = RecordedEvent<CompletedEvent>

export async function recordFindingsOfReview(todo: Todo, deps: ProcessDependencies): Promise<StepOutcome> {
  const completed = await completedOf(todo, deps)
  deps.failpoint('findings-due')
  const position = await recordOnce(completed, deps)
  deps.failpoint('findings-recorded')
  return { kind: 'done', position }
}

/**
 * Both rows of a review may be worked off at once, and this one first: so it does what the other one does, under the
 * very same ids, before it supersedes. Whoever comes second finds it done.
 */
export async function supersedeDiagnosesOfReview(todo: Todo, deps: ProcessDependencies): Promise<StepOutcome> {
  const completed = await completedOf(todo, deps)
  await recordOnce(completed, deps)
  const { aiReviewId, lesions } = completed.data
  const { supersededById } = todo.payload as SupersedePayload
  const command = { aiReviewId, diagnosisCount: lesions.length, supersededById, now: todo.dueAt }
  const cause = { name: 'clinical.supersede-diagnoses', ...readCause(todo), orgId: orgOf(todo) }
  const position = await appendShares(deps, completed, cause, (share, state) =>
    supersedeDiagnoses({ ...command, share }, state),
  )
  deps.failpoint('diagnoses-superseded')
  return { kind: 'done', position }
}

function completedOf(todo: Todo, { store }: ProcessDependencies): Promise<Completed> {
  const { channelRevision } = todo.payload as RecordPayload
  return readChannelEvent<CompletedEvent>(store, aiReviewChannel, BigInt(channelRevision))
}

async function recordOnce(completed: Completed, deps: ProcessDependencies): Promise<Position | undefined> {
  const { aiReviewId, lesions, orgId, occurred_at } = completed.data
  const bodySiteId = await bodySiteOf(completed, deps)
  const command = { aiReviewId, lesionCount: lesions.length, bodySiteId, now: new Date(occurred_at) }
  const cause = { name: 'clinical.record-findings', ...causeOf(completed), orgId }
  return appendShares(deps, completed, cause, (share, state) => recordFindings({ ...command, share }, state))
}

/** One append for each share of the review's lesions, under ids that follow from the cause; the position of the last. */
async function appendShares(
  { store }: ProcessDependencies,
  { data: { orgId, caseId, lesions } }: Completed,
  { name, ...cause }: StepCause,
  decide: (share: LesionShare, state: CaseState) => Decision<CaseEvent, 'not-found' | 'conflict'>,
): Promise<Position | undefined> {
  const target = cases.of(orgId, caseId)
  let position: Position | undefined
  for (const [index, share] of lesionShares(lesions).entries()) {
    const context = stepCommand({ ...cause, name: index === 0 ? name : `${name}.${index}` })
    const done = await execute(store, target, (state) => decide(share, state), context)
    position = done.position ?? position
  }
  return position
}

/** What the assessment said of the place, where one opened the case; read afresh, since no append checks it. */
async function bodySiteOf(
  { data: { orgId, caseId } }: Completed,
  { store }: ProcessDependencies,
): Promise<string | null> {
  const { state: opened } = await store.load(cases.of(orgId, caseId))
  if (opened.status !== 'open' || opened.assessmentId === null) return null
  const { state: assessment } = await store.load(assessments.of(orgId, opened.assessmentId))
  return assessment.status === 'absent' ? null : assessment.finding.bodySiteId
}
