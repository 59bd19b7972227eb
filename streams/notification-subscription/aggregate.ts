import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { notificationSubscriptionEvents, type NotificationSubscriptionEvent } from './events.ts'

type DataOf<Type extends NotificationSubscriptionEvent['type']> = Extract<
  NotificationSubscriptionEvent,
  { type: Type }
>['data']

export type NotificationSubscription = Omit<DataOf<'NotificationSubscriptionCreated'>, 'changedBy'> & {
  readonly updatedAt: string
}

export type NotificationSubscriptionState =
  | { readonly status: 'absent' }
  /** A deleted one keeps its data: the repeat of its key is refused. */
  | (NotificationSubscription & { readonly status: 'existing' | 'deleted' })

function evolve(
  state: NotificationSubscriptionState,
  event: NotificationSubscriptionEvent,
): NotificationSubscriptionState {
  if (event.type === 'NotificationSubscriptionCreated') {
    const { changedBy: _, ...data } = event.data
    return { ...data, status: 'existing', updatedAt: data.createdAt }
  }
  if (state.status === 'absent') return state
  switch (event.type) {
    case 'NotificationSubscriptionChanged': {
      const { changedBy: _, changedAt, ...data } = event.data
      return { ...state, ...data, updatedAt: changedAt }
    }
    case 'NotificationSubscriptionDeleted':
      return { ...state, status: 'deleted' }
  }
}

/** One rule. `noOrganisation` owns the rules of the platform. */
export const notificationSubscriptions = defineAggregate({
  category: 'notificationsubscription',
  id: idOfOrganisation,
  events: notificationSubscriptionEvents,
  initialState: { status: 'absent' },
  evolve,
})
