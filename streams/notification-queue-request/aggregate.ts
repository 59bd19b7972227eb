import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { notificationQueueRequestEvents, type NotificationQueueRequestEvent } from './events.ts'

export type NotificationQueueRequest = NotificationQueueRequestEvent['data']

export type NotificationQueueRequestState =
  | { readonly status: 'absent' }
  | (NotificationQueueRequest & { readonly status: 'answered' })

/** One stream per request, so that a repeat of its key finds the answer. */
export const notificationQueueRequests = defineAggregate({
  category: 'notificationqueuerequest',
  id: idOfOrganisation,
  events: notificationQueueRequestEvents,
  initialState: { status: 'absent' },
  evolve: (
    _state: NotificationQueueRequestState,
    { data }: NotificationQueueRequestEvent,
  ): NotificationQueueRequestState => ({ ...data, status: 'answered' }),
})
