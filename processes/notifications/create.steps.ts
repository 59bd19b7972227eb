import { Type, type Static } from 'typebox'
import { patientOf } from '../../commands/foreign-events/record-foreign-event.ts'
import {
  createNotification,
  discardNotification,
  type DiscardNotification,
} from '../../commands/notifications/create-notification.ts'
import { defaultLocale, findTemplate } from '../../commands/notifications/find-template.ts'
import { recipientKeyOf } from '../../commands/notifications/recipient-key.ts'
import { execute } from '../../engine/commands/execute.ts'
import { answeringRefusals } from '../../engine/commands/refusals.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import { clinicalChannelStream } from '../../streams/channels/clinical.ts'
import { notifications, subjectOfContent } from '../../streams/notification/aggregate.ts'
import { RecipientRule } from '../../streams/notification-subscription/events.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import type { NotificationChannel } from '../../streams/types.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import { appends, callOutside } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'
import type { RecipientAnswer } from '../adapters/recipient-lookup.ts'
import { notificationIdOf } from './matches.ts'
import { isAboutPatient, readPublicEvent, textAt, variablesOf, type PublicEvent } from './public-event.ts'

/** The rule as it was at the event, and the place of the event on its channel. */
export const CreatePayload = Type.Object({
  subscriptionId: Type.String(),
  templateCode: Type.String(),
  recipientRule: RecipientRule,
  eventType: Type.String(),
  channelStream: Type.String(),
  channelRevision: Type.String(),
  receivedAt: Type.String(),
})
export type CreatePayload = Static<typeof CreatePayload>

/** Events that notifications cause have hop 1. What these cause in turn would go on for ever. */
const mostHops = 1
/** Milliseconds, while the users service is away, and after a failure for one user. */
const [awayMs, unreadableMs] = [2_000, 60_000]

const answering = answeringRefusals({})

/**
 * Makes the notification that a rule wants for an event. Its id follows from the rule and the event, and its stream
 * must be new. So a step that runs again makes nothing. The content depends on the instant of the run, so each run has
 * a command id of its own.
 */
export const create: ProcessStep<CreatePayload> = async (todo, deps, step) => {
  const { orgId: organisationId, payload, cause } = todo
  const { store, configuration } = deps
  const { subscriptionId, eventType, receivedAt } = payload
  const trigger = { eventId: cause.eventId, eventType, subscriptionId, receivedAt }
  const notificationId = notificationIdOf({ ...trigger, organisationId })
  const target = { ...notifications.of(organisationId, notificationId), isNew: true }
  const named = { notificationId, organisationId, trigger, now: step.now() }
  const found = await readPublicEvent(store, payload, cause.eventId)
  const event = admitted(found, named.now, configuration.notificationEventMaxAgeSeconds)
  if (typeof event === 'string') {
    const discard = { ...named, reason: event }
    return appends(store, target, (state) => discardNotification(discard, state), todo.attempt())
  }
  const recipient = await recipientOf(event, todo, deps, step)
  if ('kind' in recipient) return putOff(recipient)
  const content = await contentOf(event, recipient, todo, deps)
  const command = { ...named, ...content, ...subjectOf(notificationId, event, recipient, organisationId) }
  deps.failpoint('notification-prepared')
  const { position } = await execute(
    store,
    target,
    (state) => answering(createNotification(command, state)),
    todo.attempt(),
  )
  deps.failpoint('notification-created')
  return { kind: 'done', position, health: 'good' }
}

/** The event, or the reason why it makes no notification. An event that an operator dropped is old. */
function admitted(
  event: RecordedEvent<PublicEvent> | undefined,
  now: Date,
  mostSeconds: number,
): RecordedEvent<PublicEvent> | DiscardNotification['reason'] {
  if (event === undefined) return 'event_too_old'
  if (event.data.hop > mostHops) return 'hop'
  return now.getTime() - Date.parse(event.recordedAt) > mostSeconds * 1000 ? 'event_too_old' : event
}

type Unavailable = Extract<RecipientAnswer, { readonly kind: 'unavailable' }>

/**
 * A service that is away holds up the other events too. A user whose record cannot be read must not: as the oldest row, this
 * one would be the first after each pause.
 */
function putOff({ isOfOne }: Unavailable): StepOutcome {
  const reason = 'user_lookup_unavailable'
  return isOfOne
    ? { kind: 'retry', after: unreadableMs, reason }
    : { kind: 'retry', after: awayMs, pauseMs: awayMs, reason }
}

interface EventRecipient {
  readonly recipientType: 'user' | 'slackChannel'
  /** Null if the event names none. */
  readonly recipientRef: string | null
  readonly locale: string
  /** Where the rule looked for the recipient. */
  readonly path: string | null
  /** The clinical patient who is the recipient. */
  readonly patientId: string | null
}

/** A user that is no member is a recipient, too: the delivery finds this, and records it. */
async function recipientOf(
  { data }: RecordedEvent<PublicEvent>,
  { orgId, payload: { recipientRule: rule } }: Todo<CreatePayload>,
  { recipients }: ProcessDependencies,
  step: StepContext,
): Promise<EventRecipient | Unavailable> {
  const unknown = { recipientType: 'user', recipientRef: null, locale: defaultLocale, patientId: null } as const
  if (rule.type === 'slackChannel')
    return { ...unknown, recipientType: 'slackChannel', recipientRef: rule.channel, path: null }
  const { path } = rule
  // Other services may write ids in upper case. Keys, preferences and filters have them in lower case.
  const id = textAt(data, path)?.toLowerCase()
  if (id === undefined || !isUuid(id)) return { ...unknown, path }
  const isPatient = rule.type === 'patient'
  const answer = await callOutside(step, (signal) =>
    isPatient
      ? recipients.ofPatient({ orgId, patientId: id }, signal)
      : recipients.ofUser({ orgId, userId: id }, signal),
  )
  if (answer.kind === 'unavailable') return answer
  const user = answer.kind === 'found' ? answer.recipient : null
  const recipientRef = user?.userId ?? (isPatient ? null : id)
  const locale = user?.locale ?? defaultLocale
  return { recipientType: 'user', recipientRef, locale, path, patientId: isPatient ? id : null }
}

const patientErased: string = clinicalChannelStream.events.patientErased.type

/**
 * The person whose key encrypts the content. Without an organisation, the platform has the key. The event of an erasure names
 * a patient who has no key any more. It has nothing else of the patient, so its messages are not about one.
 */
function subjectOf(
  notificationId: string,
  { type, data }: RecordedEvent<PublicEvent>,
  { recipientType, recipientRef, patientId }: EventRecipient,
  orgId: TenantId,
): ReturnType<typeof subjectOfContent> {
  if (orgId === noOrganisation) return { phiSubject: notificationId, phiKeyOwner: 'platform' }
  const userId = recipientType === 'user' ? recipientRef : null
  const concerned = type === patientErased ? null : (patientId ?? patientOf(data) ?? null)
  return subjectOfContent({ notificationId, patientId: concerned, userId })
}

async function contentOf(
  event: RecordedEvent<PublicEvent>,
  { recipientType, recipientRef, locale, path }: EventRecipient,
  { orgId, payload: { templateCode } }: Todo<CreatePayload>,
  { store, vault }: ProcessDependencies,
) {
  const channel: NotificationChannel = recipientType === 'slackChannel' ? 'slack' : 'email'
  const template = await findTemplate(store, { code: templateCode, channel, locale, orgId })
  return {
    templateCode,
    templateVersion: template?.version ?? null,
    channel,
    locale,
    category: template?.category ?? null,
    phi: template?.phi === true || isAboutPatient(event),
    recipientType,
    recipientRef,
    recipientKey: recipientRef === null ? null : recipientKeyOf(vault, recipientRef),
    variables: variablesOf(event, orgId),
    correlationId: event.data.correlation_id,
    hop: event.data.hop + 1,
    triggerSource: `event:${event.id}`,
    fingerprint: null,
    failure: recipientRef === null ? unresolvable(path) : template === undefined ? noTemplate : null,
  }
}

function unresolvable(path: string | null) {
  return { errorCode: 'recipient_unresolvable', errorDetail: path ?? '' } as const
}

const noTemplate = { errorCode: 'template_not_found', errorDetail: 'no template has this code' } as const
