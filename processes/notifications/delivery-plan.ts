import { categoriesWith, isPhiWith, type StartAttempt } from '../../commands/notifications/attempt-notification.ts'
import { findTemplate } from '../../commands/notifications/find-template.ts'
import { isOptedOut } from '../../commands/notifications/preferences.ts'
import type { AttemptOutcome } from '../../commands/notifications/record-outcome.ts'
import { isSuppressed } from '../../commands/notifications/suppressions.ts'
import { userWithAddress } from '../../commands/users/user-reservations.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { notificationPreferences } from '../../streams/notification-preferences/aggregate.ts'
import type { Notification } from '../../streams/notification/aggregate.ts'
import type { NotificationCategory } from '../../streams/types.ts'
import type { SendOutcome } from '../adapters/notification-sender.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { callOutside } from '../../engine/processes/attempt.ts'
import type { StepContext } from '../../engine/processes/process.ts'
import { messageFor } from './message.ts'

type Prepared = Pick<StartAttempt, 'template' | 'resolvedAddress' | 'providerName' | 'request'>

/** What an attempt does next: the call of the provider, or the end without one. */
export type DeliveryPlan =
  | (Prepared & { readonly kind: 'send'; readonly send: (signal: AbortSignal) => Promise<SendOutcome> })
  | (Prepared & Ending & { readonly kind: 'end' })

interface Surroundings {
  readonly orgId: TenantId
  readonly deps: ProcessDependencies
  readonly step: StepContext
}

interface Ending {
  readonly outcome: AttemptOutcome
  /** The users service is away, so the attempts of other messages would end like this one. */
  readonly isAway?: boolean
}

type Address = { readonly address: string } | Ending

/**
 * Delivery rules 3 to 6 of the specification, in their order. Everything is read anew for each attempt: preferences,
 * address, suppressions and template. Nothing outside changes here, so a crash leaves no attempt behind.
 */
export async function planDelivery(notification: Notification, surroundings: Surroundings): Promise<DeliveryPlan> {
  const { orgId, deps } = surroundings
  const { channel, templateCode, locale, recipientType, categories } = notification
  const request = { channel, recipientType, templateCode, locale }
  const none = { template: null, resolvedAddress: null, request } as const
  if (await hasOptedOut(notification, categories, surroundings))
    return { ...none, kind: 'end', providerName: 'preferences', outcome: optedOut }

  const resolved = await addressOf(notification, surroundings)
  if ('outcome' in resolved) return { ...none, ...resolved, kind: 'end', providerName: 'user-management' }
  const { address: resolvedAddress } = resolved
  const [isHeldBack, template] = await Promise.all([
    isSuppressed(deps, { channel, address: resolvedAddress, orgId }),
    findTemplate(deps.store, { code: templateCode, channel, locale, orgId }),
  ])
  if (isHeldBack) return { ...none, resolvedAddress, kind: 'end', providerName: 'suppressions', outcome: suppressed }
  const prepared = { template: template ?? null, resolvedAddress, request }
  const end = (outcome: AttemptOutcome): DeliveryPlan => ({
    ...prepared,
    kind: 'end',
    providerName: 'templates',
    outcome,
  })
  if (template === undefined) return end(permanent('template_not_found', 'no template has this code'))
  if (channel === 'slack' && isPhiWith(notification, template))
    return end(permanent('phi_policy_violation', 'chat messages must not contain personal health information'))
  const ofBoth = categoriesWith(notification, template)
  if (ofBoth.length > categories.length && (await hasOptedOut(notification, ofBoth, surroundings)))
    return { ...end(optedOut), providerName: 'preferences' }
  const message = await messageFor(
    notification,
    { template, orgId, address: resolvedAddress, categories: ofBoth },
    deps,
  )
  if ('errorDetail' in message) return end(permanent('template_render_failed', message.errorDetail))
  const versioned = { ...request, templateVersion: template.version }
  return { ...prepared, ...message, request: versioned, kind: 'send' }
}

const optedOut: AttemptOutcome = { kind: 'suppressed', reason: 'preference_opt_out' }
const suppressed: AttemptOutcome = { kind: 'suppressed', reason: 'suppression_list' }

function permanent(
  errorCode: Extract<AttemptOutcome, { kind: 'permanent' }>['errorCode'],
  errorDetail: string,
): AttemptOutcome {
  return { kind: 'permanent', errorCode, errorDetail }
}

/**
 * Chat channels have no preferences. For marketing, a plain address has the preferences of the member of the
 * organisation who has this address. Otherwise a sender could avoid an opt-out by writing to the address instead of the
 * user.
 */
async function hasOptedOut(
  { recipientType, recipientRef, channel }: Notification,
  categories: readonly NotificationCategory[],
  { orgId, deps }: Surroundings,
): Promise<boolean> {
  if (recipientRef === null || recipientType === 'slackChannel') return false
  const isUser = recipientType === 'user'
  const concerned = isUser ? categories : categories.filter((category) => category === 'marketing')
  if (concerned.length === 0) return false
  const userId = isUser ? recipientRef : await userWithAddress(deps, recipientRef, orgId)
  if (userId === null) return false
  const { state } = await deps.store.load(notificationPreferences.of(userId))
  return concerned.some((category) => isOptedOut(state, category, channel))
}

/** For a user the address of this moment. It is never kept from one attempt to the next. */
async function addressOf(
  { recipientType, recipientRef, recipientKey }: Notification,
  { orgId, deps, step }: Surroundings,
): Promise<Address> {
  if (recipientKey === null) return { outcome: permanent('recipient_unresolvable', 'the event names no recipient') }
  if (recipientRef === null) return { outcome: permanent('recipient_not_found', 'the recipient was erased') }
  if (recipientType !== 'user') return { address: recipientRef }
  const question = { orgId, userId: recipientRef }
  const answer = await callOutside(step, (signal) => deps.recipients.ofUser(question, signal))
  switch (answer.kind) {
    case 'found':
      return { address: answer.recipient.email }
    case 'not-found':
      return { outcome: permanent('recipient_not_found', 'no active member of the organisation') }
    case 'unavailable': {
      const errorDetail = answer.status === null ? 'no answer' : `status ${answer.status}`
      const outcome = { kind: 'transient', errorCode: 'user_lookup_unavailable', errorDetail, retryAfterMs: 0 } as const
      return { outcome, isAway: !answer.isOfOne }
    }
  }
}
