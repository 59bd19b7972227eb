import { v7 } from 'uuid'
import { failExport, runningExport } from '../../commands/audit/export-decisions.ts'
import { cancelWithPatient as cancelReview } from '../../commands/ai-review/cancel-review.ts'
import { cancelWithPatient as cancelAssessment } from '../../commands/assessments/expire-assessment.ts'
import { cancelTask } from '../../commands/human-review/tasks.ts'
import { endWithPatient, isBeingSent } from '../../commands/notifications/end-with-patient.ts'
import { changeProfile } from '../../commands/users/profile.ts'
import { cancelWithPatient as cancelInstance } from '../../commands/workflows/end-instance.ts'
import { isRefusal, refused } from '../../engine/commands/decision.ts'
import { execute } from '../../engine/commands/execute.ts'
import { reservations } from '../../engine/commands/reservation/aggregate.ts'
import type { ReservationEvent } from '../../engine/commands/reservation/events.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import { categoryOf } from '../../engine/store/catalogue.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { auditExports } from '../../streams/audit-export/aggregate.ts'
import { humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import { notifications } from '../../streams/notification/aggregate.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import { clinicalPatientOf, isUser, users } from '../../streams/user/aggregate.ts'
import { workflowInstances } from '../../streams/workflow-instance/aggregate.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { erasureStep, type ErasedPatient } from './erasures.steps.ts'

type Attempts = Pick<Todo, 'attempt'>
type Ending = (stream: string, deps: ProcessDependencies, todo: Attempts, now: Date) => Promise<boolean>

/** How the open work of a stream ends, by the category of the stream. True if something ended now. */
const endings: Readonly<Record<string, Ending>> = {
  [aiReviews.category]: async (stream, { store }, todo, now) => {
    const done = await execute(store, aiReviews.at(stream), (state) => cancelReview({ now }, state), todo.attempt())
    return done.events.length > 0
  },
  [assessments.category]: async (stream, { store }, todo, now) => {
    const target = assessments.at(stream)
    return (await execute(store, target, (state) => cancelAssessment({ now }, state), todo.attempt())).events.length > 0
  },
  [workflowInstances.category]: async (stream, { store }, todo, now) => {
    const target = workflowInstances.at(stream)
    return (await execute(store, target, (state) => cancelInstance({ now }, state), todo.attempt())).events.length > 0
  },
  [humanReviewTasks.category]: async (stream, { store }, todo, now) => {
    const command = { reason: 'subject_erased', now } as const
    const target = humanReviewTasks.at(stream)
    return (await execute(store, target, (state) => cancelTask(command, state), todo.attempt())).events.length > 0
  },
  [notifications.category]: async (stream, { store }, todo, now) => {
    const target = notifications.at(stream)
    return (await execute(store, target, (state) => endWithPatient({ now }, state), todo.attempt())).events.length > 0
  },
  [auditExports.category]: async (stream, { store, exports }, todo, now) => {
    const { state } = await store.load(auditExports.at(stream))
    const running = runningExport(state)
    if (running === undefined) return false
    const { exportId } = running
    const command = { exportId, errorCode: 'SUBJECT_ERASED', now }
    await exports.end(exportId)
    await execute(store, auditExports.at(stream), (newest) => failExport(command, newest), todo.attempt())
    return true
  },
}

/** Ends everything that is open about the patient. True if something was. */
export async function endOpenWork(
  { orgId, patientId }: Omit<ErasedPatient, 'erasure'>,
  deps: ProcessDependencies,
  todo: Attempts,
  now: Date,
): Promise<boolean> {
  let wasOpen = false
  for await (const stream of deps.patientStreams(orgId, patientId))
    if ((await endings[categoryOf(stream)]?.(stream, deps, todo, now)) === true) wasOpen = true
  return wasOpen
}

export const endWork = erasureStep('work_ended', async (patient, deps, todo, context) => {
  await endOpenWork(patient, deps, todo, context.now())
  for await (const stream of deps.patientStreams(patient.orgId, patient.patientId)) {
    if (categoryOf(stream) !== notifications.category) continue
    const { state } = await deps.store.load(notifications.at(stream))
    if (isBeingSent(state, context.now())) return { kind: 'retry', after: 1_000, reason: 'message_being_sent' }
  }
  return undefined
})

/** The names of the streams stay, without an owner. So the keys of the patient are not needed. */
export const releaseIdentifiers = erasureStep('identifiers_released', async (patient, deps, todo, context) => {
  const { store } = deps
  const ownerStream = patients.of(patient.orgId, patient.patientId).stream
  const releasedAt = context.now().toISOString()
  for await (const stream of deps.patientStreams(patient.orgId, patient.patientId)) {
    if (categoryOf(stream) !== reservations.category) continue
    await execute(
      store,
      reservations.at(stream),
      (state): readonly ReservationEvent[] =>
        state.status === 'free' || state.reservation.ownerStream !== ownerStream
          ? []
          : [{ type: 'ReservationReleased', data: { claimId: state.reservation.claimId, releasedAt } }],
      todo.attempt(),
    )
  }
  return undefined
})

export const unlinkAccount = erasureStep('account_unlinked', async (patient, deps, todo, context) => {
  await unlinkAccounts(patient, deps, todo, context.now())
  return undefined
})

/** A person keeps the account, without the patient. May be repeated: another process may link an account meanwhile. */
export async function unlinkAccounts(
  { orgId, patientId }: Omit<ErasedPatient, 'erasure'>,
  deps: ProcessDependencies,
  todo: Attempts,
  now: Date,
): Promise<void> {
  for (const userId of await deps.usersOfPatient(patientId)) {
    const command = {
      patientAccount: { clinicalPatientId: null },
      newProfileId: v7(),
      changedBy: 'erasure',
      now,
    }
    await execute(
      deps.store,
      users.of(userId),
      (state) => {
        // Two organisations may have a patient with one id. A link from after the membership is not to this one.
        if (!isUser(state) || clinicalPatientOf(state) !== patientId) return []
        if (!state.linkOrganisationIds.includes(orgId)) return []
        const decision = changeProfile(command, state)
        return isRefusal(decision) ? refused('conflict') : decision
      },
      todo.attempt(),
    )
  }
}
