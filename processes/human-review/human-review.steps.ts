import { Type, type Static } from 'typebox'
import { startHumanReview } from '../../commands/clinical/human-reviews.ts'
import { execute } from '../../engine/commands/execute.ts'
import { selectionOf } from '../../commands/human-review/selection.ts'
import {
  assignAssessment,
  cancelTask,
  confirmConsent,
  endLease,
  openTask,
  passReview,
} from '../../commands/human-review/tasks.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { aiReviewChannelStream, type AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import { humanReviewPolicies } from '../../streams/human-review-policy/aggregate.ts'
import type { HumanReviewPolicyEvent, PolicyRule } from '../../streams/human-review-policy/events.ts'
import { humanReviewTasks, type HumanReviewTaskState } from '../../streams/human-review-task/aggregate.ts'
import type { ReviewedLesion } from '../../streams/human-review-task/events.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { requiredConsentCode } from '../../streams/ai-review/aggregate.ts'
import type { ProcessStep } from '../dependencies.ts'
import { readChannelEvent } from '../../engine/relay/channel.ts'
import { appends, callOutside } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'

/** Places of the completed review on its channel, and of the policy in force at that event in its stream. */
export const OpenPayload = Type.Object({ channelRevision: Type.String(), policyRevision: Type.String() })

/** The assessment that the case of the task got. */
export const AssignPayload = Type.Object({ assessmentId: Type.String() })

const consentRetryMs = 5_000
const openingRetryMs = 500

type Completed = Extract<AiReviewChannelEvent, { type: 'ai_review.completed' }>['data']

/**
 * Opens the task, or records that no rule selected the review. Both have the same id of the append. The case comes
 * first, so that it is in review as soon as the task is visible. Its event also has the assessment of the task, so that
 * each repeat opens the same task. An assessment that the case gets later makes `assign` due.
 */
export const open: ProcessStep<Static<typeof OpenPayload>> = async (todo, deps) => {
  const { store, vault } = deps
  const { orgId, key: taskId, dueAt: now, payload } = todo
  const { data } = await readChannelEvent(store, aiReviewChannelStream, payload.channelRevision, [
    'ai_review.completed',
  ])
  const rules = await rulesAt(store, orgId, BigInt(payload.policyRevision))
  const { aiReviewId, caseId, productId, assessedByProviderVersion: providerVersion } = data
  const selection = selectionOf(rules, data, await vault.secret('review-share', 'current'))
  const ids = { taskId, aiReviewId, now }
  const target = { ...humanReviewTasks.of(orgId, taskId), isNew: true }
  const context = todo.command('human-review.open')
  if (selection === undefined) {
    return appends(store, target, (state) => passReview(ids, state), context)
  }
  const { patientId, isOfAssessment } = await factsOf(store, orgId, aiReviewId)
  const start = { ...ids, productId }
  const { state: ofCase } = await execute(
    store,
    cases.of(orgId, caseId),
    (state) => startHumanReview(start, state),
    todo.command('human-review.start-in-case'),
  )
  // The route of the assessment may have died before it opened the case. Then a process opens it, unless the patient is erased.
  if (ofCase.status === 'absent' && isOfAssessment && !vault.isClosed(orgId, patientId))
    return { kind: 'retry', after: openingRetryMs, reason: 'case_not_opened' }
  const task = {
    ...ids,
    ...selection,
    selectedBy: [...selection.selectedBy],
    reviewOrdinal: Number(payload.channelRevision),
    organisationId: orgId,
    caseId,
    productId,
    providerVersion,
    patientId,
    assessmentId: ofCase.status === 'absent' ? null : (ofCase.humanReviews.get(taskId)?.assessmentId ?? null),
    lesions: data.lesions.map(diagnosisOf),
  }
  return appends(store, target, (state) => openTask(task, state), context)
}

async function rulesAt(store: EventStore, orgId: TenantId, place: bigint): Promise<readonly PolicyRule[]> {
  const { stream } = humanReviewPolicies.of(orgId)
  for await (const { data } of store.readStream<HumanReviewPolicyEvent>(stream, { from: place, limit: 1 }))
    return data.rules
  throw new Error(`${stream} has no event ${place}`)
}

/** A completed review has started, so it knows its patient. Only the images of assessments are in the object store. */
async function factsOf(store: EventStore, orgId: TenantId, aiReviewId: string) {
  const { state } = await store.load(aiReviews.of(orgId, aiReviewId))
  if (state.status === 'absent' || state.patientId === null) throw new Error('a completed review has no patient')
  return { patientId: state.patientId, isOfAssessment: state.images.some(({ objectKey }) => objectKey !== null) }
}

/** Records the assessment in the task. The task is opened soon after its start in the case. */
export const assign: ProcessStep<Static<typeof AssignPayload>> = async (todo, { store }) => {
  const command = { assessmentId: todo.payload.assessmentId, now: todo.dueAt }
  const { state, position } = await execute(
    store,
    taskOf(todo),
    (current) => assignAssessment(command, current),
    todo.command('human-review.assign', todo.key),
  )
  if (state.status === 'absent') return { kind: 'retry', after: openingRetryMs, reason: 'task_not_opened' }
  return { kind: 'done', position }
}

function diagnosisOf(lesion: Completed['lesions'][number]): ReviewedLesion {
  const { lesionNumber, category } = lesion
  const icd10 = { code: lesion.suspectedDiagnosisIcd10Code, term: lesion.suspectedDiagnosisIcd10Term }
  const snomed = { code: lesion.suspectedDiagnosisSnomedCode, term: lesion.suspectedDiagnosisSnomedTerm }
  return { lesionNumber, category, icd10, snomed }
}

/** Ends the lease. A lease that was extended meanwhile has a row of its own. */
export const end: ProcessStep = async (todo, { store }) => {
  const decide = (state: HumanReviewTaskState) => endLease({ now: todo.dueAt }, state)
  return appends(store, taskOf(todo), decide, todo.command('human-review.end-lease'))
}

export const supersede: ProcessStep = async (todo, { store }) => {
  const decide = (state: HumanReviewTaskState) => cancelTask({ reason: 'superseded', now: todo.dueAt }, state)
  return appends(store, taskOf(todo), decide, todo.command('human-review.supersede'))
}

/**
 * Cancels the task unless the patient's consent is granted: a refusal that was recorded with an earlier date never
 * overrides a later decision. One refusal may be about several tasks of its patient.
 */
export const withdraw: ProcessStep = async (todo, { store, consent }, step) => {
  const { orgId, key, dueAt: now } = todo
  const { state: task } = await store.load(taskOf(todo))
  if (task.status === 'absent') throw new Error('a withdrawn consent is about a task that was never opened')
  const question = { orgId, patientId: task.patientId, code: requiredConsentCode }
  const { answer } = await callOutside(step, (signal) => consent.check(question, signal))
  if (answer === 'unavailable') return { kind: 'retry', after: consentRetryMs, reason: 'consent_check_unavailable' }
  const [name, decide] =
    answer === 'granted'
      ? (['confirm-consent', (state: HumanReviewTaskState) => confirmConsent({ now }, state)] as const)
      : ([
          'withdraw',
          (state: HumanReviewTaskState) => cancelTask({ reason: 'consent_withdrawn', now }, state),
        ] as const)
  return appends(store, taskOf(todo), decide, todo.command(`human-review.${name}`, key))
}

function taskOf({ orgId, key }: Todo) {
  return humanReviewTasks.of(orgId, key)
}
