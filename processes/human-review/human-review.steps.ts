import { Type, type Static } from 'typebox'
import { execute } from '../../commands/handling/execute.ts'
import { selectionOf } from '../../commands/human-review/selection.ts'
import { cancelTask, confirmConsent, endLease, openTask, passReview } from '../../commands/human-review/tasks.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { aiReviewChannelStream, type AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import { humanReviewPolicies } from '../../streams/human-review-policy/aggregate.ts'
import type { HumanReviewPolicyEvent, PolicyRule } from '../../streams/human-review-policy/events.ts'
import { humanReviewTasks, type HumanReviewTaskState } from '../../streams/human-review-task/aggregate.ts'
import type { ReviewedLesion } from '../../streams/human-review-task/events.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import { requiredConsentCode } from '../ai-review/start.steps.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { readChannelEvent } from '../relay/channel.ts'
import { callOutside } from '../runtime/attempt.ts'
import type { Todo } from '../runtime/define-process.ts'
import type { StepContext, StepOutcome } from '../runtime/process.ts'

/** Places of the completed review on its channel, and of the policy in force at that event in its stream. */
export const OpenPayload = Type.Object({ channelRevision: Type.String(), policyRevision: Type.String() })

const consentRetryMs = 5_000

type Completed = Extract<AiReviewChannelEvent, { type: 'ai_review.completed' }>['data']

/** Opens the task, or records that no rule selected the review. Both have the same id of the append. */
export async function open(todo: Todo<Static<typeof OpenPayload>>, deps: ProcessDependencies): Promise<StepOutcome> {
  const { store } = deps
  const { orgId, key: taskId, dueAt: now, payload } = todo
  const { data } = await readChannelEvent(store, aiReviewChannelStream, payload.channelRevision, [
    'ai_review.completed',
  ])
  const rules = await rulesAt(store, orgId, BigInt(payload.policyRevision))
  const { aiReviewId, caseId, productId, assessedByProviderVersion: providerVersion } = data
  const selection = selectionOf(rules, data)
  const ids = { taskId, aiReviewId, now }
  const task = selection && {
    ...ids,
    ...selection,
    selectedBy: [...selection.selectedBy],
    organisationId: orgId,
    caseId,
    productId,
    providerVersion,
    patientId: await patientOf(store, orgId, aiReviewId),
    assessmentId: await assessmentOf(store, orgId, data),
    lesions: data.lesions.map(diagnosisOf),
  }
  const { position } = await execute(
    store,
    { ...humanReviewTasks.of(orgId, taskId), isNew: true },
    (state) => (task === undefined ? passReview(ids, state) : openTask(task, state)),
    todo.command('human-review.open'),
  )
  return { kind: 'done', position }
}

async function rulesAt(store: EventStore, orgId: TenantId, place: bigint): Promise<readonly PolicyRule[]> {
  const { stream } = humanReviewPolicies.of(orgId)
  for await (const { data } of store.readStream<HumanReviewPolicyEvent>(stream, { from: place, limit: 1 }))
    return data.rules
  throw new Error(`${stream} has no event ${place}`)
}

/** A completed review has started, so it knows its patient. */
async function patientOf(store: EventStore, orgId: TenantId, aiReviewId: string): Promise<string> {
  const { state } = await store.load(aiReviews.of(orgId, aiReviewId))
  if (state.status === 'absent' || state.patientId === null) throw new Error('a completed review has no patient')
  return state.patientId
}

/** The assessment that has the case and the product of the review. Loads fresh state, because no append validates it. */
async function assessmentOf(
  store: EventStore,
  orgId: TenantId,
  { caseId, productId }: Pick<Completed, 'caseId' | 'productId'>,
): Promise<string | null> {
  const { state: opened } = await store.load(cases.of(orgId, caseId))
  if (opened.status === 'absent' || opened.assessmentId === null) return null
  const { state: assessment } = await store.load(assessments.of(orgId, opened.assessmentId))
  return assessment.status !== 'absent' && assessment.productId === productId ? opened.assessmentId : null
}

function diagnosisOf(lesion: Completed['lesions'][number]): ReviewedLesion {
  const { lesionNumber, category } = lesion
  const icd10 = { code: lesion.suspectedDiagnosisIcd10Code, term: lesion.suspectedDiagnosisIcd10Term }
  const snomed = { code: lesion.suspectedDiagnosisSnomedCode, term: lesion.suspectedDiagnosisSnomedTerm }
  return { lesionNumber, category, icd10, snomed }
}

/** Ends the lease. A lease that was extended meanwhile has a row of its own. */
export async function end(todo: Todo, { store }: ProcessDependencies): Promise<StepOutcome> {
  const decide = (state: HumanReviewTaskState) => endLease({ now: todo.dueAt }, state)
  const { position } = await execute(store, taskOf(todo), decide, todo.command('human-review.end-lease'))
  return { kind: 'done', position }
}

export async function supersede(todo: Todo, { store }: ProcessDependencies): Promise<StepOutcome> {
  const decide = (state: HumanReviewTaskState) => cancelTask({ reason: 'superseded', now: todo.dueAt }, state)
  const { position } = await execute(store, taskOf(todo), decide, todo.command('human-review.supersede'))
  return { kind: 'done', position }
}

/**
 * Cancels the task unless the patient's consent is granted: a refusal that was recorded with an earlier date never
 * overrides a later decision. One refusal may be about several tasks of its patient.
 */
export async function withdraw(
  todo: Todo,
  { store, consent }: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const { orgId, key, dueAt: now } = todo
  const { state: task } = await store.load(taskOf(todo))
  if (task.status === 'absent') throw new Error('a withdrawn consent is about a task that was never opened')
  const question = { orgId, patientId: task.patientId, code: requiredConsentCode }
  const answer = await callOutside(step, (signal) => consent.check(question, signal))
  if (answer === 'unavailable') return { kind: 'retry', after: consentRetryMs, reason: 'consent_check_unavailable' }
  const [name, decide] =
    answer === 'granted'
      ? (['confirm-consent', (state: HumanReviewTaskState) => confirmConsent({ now }, state)] as const)
      : ([
          'withdraw',
          (state: HumanReviewTaskState) => cancelTask({ reason: 'consent_withdrawn', now }, state),
        ] as const)
  const { position } = await execute(store, taskOf(todo), decide, todo.command(`human-review.${name}`, key))
  return { kind: 'done', position }
}

function taskOf({ orgId, key }: Todo) {
  return humanReviewTasks.of(orgId, key)
}
