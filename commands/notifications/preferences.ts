import { isOptOutEffective } from '../../contracts/notifications/settings.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  preferenceKey,
  type NotificationPreference,
  type NotificationPreferencesState,
} from '../../streams/notification-preferences/aggregate.ts'
import type { NotificationPreferencesEvent } from '../../streams/notification-preferences/events.ts'
import type { NotificationCategory, NotificationChannel } from '../../streams/types.ts'
import type { Decision } from '../../engine/commands/decision.ts'

/** Whether the user's preferences hold back messages of this category. Never for `transactional`. */
export function isOptedOut(
  state: NotificationPreferencesState,
  category: NotificationCategory,
  channel: NotificationChannel,
): boolean {
  return isOptOutEffective(category) && state.get(preferenceKey({ category, channel }))?.optedOut === true
}

type Entry = Pick<NotificationPreference, 'category' | 'channel' | 'optedOut'>

interface PreferencesCommand {
  readonly userId: string
  readonly organisationId: TenantId
  readonly changedBy: string
  readonly now: Date
}

export interface SetPreferences extends PreferencesCommand {
  /** Each category and channel at most once. */
  readonly entries: readonly Entry[]
}

/** Sets the given entries. An entry that the same organisation set to the same value before causes nothing. */
export function setPreferences(
  { entries, now, ...command }: SetPreferences,
  state: NotificationPreferencesState,
): Decision<NotificationPreferencesEvent> {
  const news = entries.filter((entry) => {
    const known = state.get(preferenceKey(entry))
    return known?.optedOut !== entry.optedOut || known.organisationId !== command.organisationId
  })
  if (news.length === 0) return []
  return [{ type: 'NotificationPreferencesSet', data: { ...command, entries: news, setAt: now.toISOString() } }]
}

export interface OptOutByLink extends Omit<PreferencesCommand, 'changedBy'> {
  readonly category: NotificationCategory
  readonly channel: NotificationChannel
  /** When the message with the link was made. */
  readonly issuedAt: Date
}

/** Whether the user chose to get such messages after the link was made. */
export function hasOptedInSince(
  state: NotificationPreferencesState,
  { category, channel, issuedAt }: Pick<OptOutByLink, 'category' | 'channel' | 'issuedAt'>,
): boolean {
  const known = state.get(preferenceKey({ category, channel }))
  return known !== undefined && !known.optedOut && Date.parse(known.updatedAt) > issuedAt.getTime()
}

/** Opts the user out, unless it is opted out already or has opted in later. */
export function optOutByLink(
  { category, channel, issuedAt, ...command }: OptOutByLink,
  state: NotificationPreferencesState,
): Decision<NotificationPreferencesEvent> {
  const isOut = state.get(preferenceKey({ category, channel }))?.optedOut === true
  if (isOut || hasOptedInSince(state, { category, channel, issuedAt })) return []
  return setPreferences(
    { ...command, changedBy: 'unsubscribe-link', entries: [{ category, channel, optedOut: true }] },
    state,
  )
}
