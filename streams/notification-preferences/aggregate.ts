import type { TenantId } from '../../platform/kit/tenants.ts'
import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import type { NotificationCategory, NotificationChannel } from '../types.ts'
import { notificationPreferencesEvents, type NotificationPreferencesEvent } from './events.ts'

export interface NotificationPreference {
  readonly category: NotificationCategory
  readonly channel: NotificationChannel
  readonly optedOut: boolean
  /** The organisation in which it was last set. */
  readonly organisationId: TenantId
  readonly updatedAt: string
}

/** What a user has ever set, by `preferenceKey`. */
export type NotificationPreferencesState = ReadonlyMap<string, NotificationPreference>

export function preferenceKey({
  category,
  channel,
}: Pick<NotificationPreference, 'category' | 'channel'>): `${NotificationCategory}.${NotificationChannel}` {
  return `${category}.${channel}`
}

function evolve(
  state: NotificationPreferencesState,
  { data }: NotificationPreferencesEvent,
): NotificationPreferencesState {
  const { organisationId, entries, setAt: updatedAt } = data
  const set = entries.map((entry) => [preferenceKey(entry), { ...entry, organisationId, updatedAt }] as const)
  return new Map([...state, ...set])
}

/** One stream per user, because a user belongs to no organisation. */
export const notificationPreferences = defineAggregate({
  category: 'notificationpreferences',
  id: (userId: string) => userId,
  events: notificationPreferencesEvents,
  initialState: new Map(),
  evolve,
})
