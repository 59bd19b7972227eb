import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import type { KeyOwner } from '../../engine/store/schema.ts'
import type { NotificationCategory } from '../types.ts'
import { notificationEvents, type EndedAttempt, type NotificationEvent } from './events.ts'
import type { DataOf } from '../../engine/store/events.ts'

export type CreatedNotification = DataOf<NotificationEvent, 'NotificationCreated'>

/** An attempt without an outcome. Its message may have been sent. */
export interface OpenAttempt {
  readonly attemptId: string
  readonly attempt: number
  readonly startedAt: string
  readonly leaseUntil: string
}

export interface Notification extends CreatedNotification {
  /** All categories that the template had at creation and at each rendering, without doubles. */
  readonly categories: readonly NotificationCategory[]
  /** Started attempts, over all rounds. */
  readonly attempts: number
  /** `attempts` before this round. A round has as many tries as the retry schedule allows. */
  readonly attemptsBeforeRound: number
  /** Attempts of this round that ended without a known outcome. Each may have sent the message. */
  readonly unknownAttempts: readonly EndedAttempt[]
  /** Refusals of this round for reasons that we do not know. */
  readonly unclearInRound: number
  /** Fingerprints of the keyed requests to send it again, by the HMAC of their key. */
  readonly retries: GrowingMap<string>
}

export type QueuedNotification = Notification & { readonly status: 'queued'; readonly nextAttemptAt: string }
export type SendingNotification = Notification & { readonly status: 'sending'; readonly open: OpenAttempt }

export type NotificationState =
  | { readonly status: 'absent' }
  | { readonly status: 'discarded' }
  | (Notification & { readonly status: 'pending' })
  | QueuedNotification
  | SendingNotification
  | (Notification & { readonly status: 'sent' | 'failed' | 'suppressed' })

/** True for a notification that readers see. */
export function isNotification<State extends NotificationState>(
  state: State,
): state is Exclude<State, { status: 'absent' | 'discarded' }> {
  return state.status !== 'absent' && state.status !== 'discarded'
}

function evolve(state: NotificationState, event: NotificationEvent): NotificationState {
  if (event.type === 'NotificationCreated') return created(event.data)
  if (event.type === 'NotificationDiscarded') return { status: 'discarded' }
  if (!isNotification(state)) return state
  switch (event.type) {
    case 'NotificationQueued': {
      const { reason, nextAttemptAt, request } = event.data
      const isNewRound = reason === 'retry_requested'
      const retries = request === null ? state.retries : state.retries.with(request.key, request.fingerprint)
      const attemptsBeforeRound = isNewRound ? state.attempts : state.attemptsBeforeRound
      const ofRound = isNewRound ? newRound : {}
      return { ...known(state), status: 'queued', nextAttemptAt, retries, attemptsBeforeRound, ...ofRound }
    }
    case 'NotificationAttemptStarted': {
      const { attemptId, attempt, templateVersion, phi, category, categories, startedAt, leaseUntil } = event.data
      return {
        ...known(state),
        status: 'sending',
        attempts: attempt,
        templateVersion: templateVersion ?? state.templateVersion,
        phi,
        category,
        categories,
        open: { attemptId, attempt, startedAt, leaseUntil },
      }
    }
    case 'NotificationRetryScheduled': {
      const { errorCode, nextAttemptAt } = event.data
      // Other refusals of this class are not tried again.
      const unclearInRound = state.unclearInRound + (errorCode === 'provider_4xx' ? 1 : 0)
      const unknownAttempts = unknownAfter(state, event.data)
      return { ...known(state), status: 'queued', nextAttemptAt, unclearInRound, unknownAttempts }
    }
    case 'NotificationAttemptWithdrawn': {
      const { attempts, nextAttemptAt } = event.data
      return { ...known(state), status: 'queued', attempts, nextAttemptAt }
    }
    case 'NotificationSent':
      return { ...known(state), status: 'sent' }
    case 'NotificationFailed':
      return { ...known(state), status: 'failed', unknownAttempts: unknownAfter(state, event.data) }
    case 'NotificationSuppressed':
      return { ...known(state), status: 'suppressed' }
  }
}

const newRound = { unclearInRound: 0, unknownAttempts: [] }

function unknownAfter(
  { unknownAttempts }: Notification,
  { ended, errorCode }: Pick<DataOf<NotificationEvent, 'NotificationFailed'>, 'ended' | 'errorCode'>,
): readonly EndedAttempt[] {
  return ended !== null && errorCode === 'delivery_unknown' ? [...unknownAttempts, ended] : unknownAttempts
}

function created(data: CreatedNotification): NotificationState {
  const categories = data.category === null ? [] : [data.category]
  const retries = new GrowingMap<string>()
  return { ...data, status: 'pending', categories, attempts: 0, attemptsBeforeRound: 0, ...newRound, retries }
}

/** The members that every status has. */
function known(state: Exclude<NotificationState, { status: 'absent' | 'discarded' }>): Notification {
  if (state.status === 'queued') {
    const { nextAttemptAt: _, ...rest } = state
    return rest
  }
  if (state.status === 'sending') {
    const { open: _, ...rest } = state
    return rest
  }
  return state
}

/** The person whose key encrypts data. The names are those of the events. */
interface PhiSubject {
  readonly phiSubject: string
  readonly phiKeyOwner: KeyOwner
}

interface Concerned {
  readonly notificationId: string
  /** The patient whom the variables concern, if any. */
  readonly patientId: string | null
  /** The user who is the recipient, if one is. */
  readonly userId: string | null
}

/** For variables and the recipient: the patient, else the user, else a key for this notification. */
export function subjectOfContent({ notificationId, patientId, userId }: Concerned): PhiSubject {
  if (patientId !== null) return { phiSubject: patientId, phiKeyOwner: 'organisation' }
  return subjectOfUser(userId) ?? { phiSubject: notificationId, phiKeyOwner: 'organisation' }
}

/** The patient whom a notification concerns. */
export function patientOf({ notificationId, phiSubject, phiKeyOwner }: PhiSubject & Pick<Concerned, 'notificationId'>) {
  return phiKeyOwner === 'organisation' && phiSubject !== notificationId ? phiSubject : null
}

/** For an address: the user, whose erasure must end it also where the variables concern a patient. */
export function subjectOfAddress({ recipientType, recipientRef, phiSubject, phiKeyOwner }: Notification): PhiSubject {
  return subjectOfUser(recipientType === 'user' ? recipientRef : null) ?? { phiSubject, phiKeyOwner }
}

function subjectOfUser(userId: string | null): PhiSubject | undefined {
  return userId === null ? undefined : { phiSubject: userId, phiKeyOwner: 'platform' }
}

export const notifications = defineAggregate({
  category: 'notification',
  id: idOfOrganisation,
  events: notificationEvents,
  initialState: { status: 'absent' },
  evolve,
})
