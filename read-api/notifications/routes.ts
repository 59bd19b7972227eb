import { Type } from 'typebox'
import {
  EventInboxEntry,
  NotificationFailure,
  NotificationRecord,
  NotificationWithAttempts,
  toEventInboxEntry,
  toNotificationFailure,
  toNotificationRecord,
  toNotificationWithAttempts,
} from '../../contracts/notifications/record.ts'
import { Instant, Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { askingForOrganisation } from '../../platform/http/tenancy.ts'
import { notificationsProjector } from '../../projections/notifications/notifications.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { atRevision, readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import {
  getNotification,
  listFailures,
  listInboxEntries,
  listNotifications,
  placeOfFailure,
  placeOfInboxEntry,
  placeOfNotification,
} from './queries.ts'

const servedBy = [notificationsProjector]
const ofReaders = { access: { scopes: ['notifications:read'] }, tenancy: 'or-none', servedBy } as const
const ofAdministrators = {
  access: { admin: 'notifications:admin', orScope: 'notifications:admin' },
  tenancy: 'or-none',
  servedBy,
} as const

const ofNone =
  'A platform client that names no organisation reads the notifications that have none: those of rules of the platform about events without an organisation.'

export interface NotificationReadDependencies extends ReadDependencies {
  /** HMAC of a recipient. The read model does not contain addresses. */
  readonly recipientKeyOf: (recipientRef: string) => string
}

export function notificationReadRoutes(app: ServiceApp, deps: NotificationReadDependencies): void {
  const { pool, configuration, now, recipientKeyOf } = deps

  listRoute(app, deps, {
    ...ofReaders,
    path: '',
    operationId: 'listNotifications',
    summary: 'Notifications of the organisation, newest first',
    description:
      'Variables are never shown, and e-mail addresses are masked. `from` (inclusive) and `to` (exclusive) are about `createdAt`. ' +
      ofNone,
    query: {
      recipientRef: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 254,
          description:
            'The full address, user id or chat channel. The link to the next page does not contain it: add it again',
        }),
      ),
      status: Type.Optional(NotificationRecord.properties.status),
      from: Type.Optional(Instant),
      to: Type.Optional(Instant),
    },
    unlinked: ['recipientRef'],
    list: 'notifications',
    sort: '-created_at',
    pageName: 'NotificationPage',
    item: NotificationRecord,
    casing: 'camel',
    rows: ({ tenant, query: { recipientRef, status, from, to } }, page) => {
      const recipientKey = recipientRef === undefined ? undefined : recipientKeyOf(recipientRef)
      return listNotifications(deps, tenant, { recipientKey, status, from, to }, page)
    },
    placeOf: placeOfNotification,
    toItem: toNotificationRecord,
    shows: ({ patientId }) => ({ patientId }),
  })

  readRoute(app, {
    ...ofReaders,
    path: '/:id',
    operationId: 'getNotification',
    summary: 'A notification with its delivery attempts',
    params: { id: Uuid },
    description: ofNone,
    reply: NotificationWithAttempts,
    shows: (_, { patientId }) => ({ patientId }),
    find: async ({ tenant, params }) => {
      const notification = await getNotification(deps, tenant, params.id).catch(askingForOrganisation(tenant))
      return { ...atRevision(notification, toNotificationWithAttempts), patientId: notification.patientId }
    },
  })

  listRoute(app, deps, {
    ...ofAdministrators,
    path: '/admin/queue/failed',
    operationId: 'listFailedNotifications',
    summary: 'Failed notifications of the last days, the latest failure first',
    description: 'Shown for `FAILED_RETENTION_SECONDS` (7 days). A notification that is sent again leaves the list.',
    list: 'failed-notifications',
    sort: '-failed_at',
    pageName: 'NotificationFailurePage',
    item: NotificationFailure,
    casing: 'camel',
    rows: ({ tenant }, page) => {
      const since = new Date(now().getTime() - configuration.failedRetentionSeconds * 1000).toISOString()
      return listFailures(pool, tenant, since, page)
    },
    placeOf: placeOfFailure,
    toItem: toNotificationFailure,
  })

  listRoute(app, deps, {
    ...ofAdministrators,
    path: '/admin/inbox',
    operationId: 'listEventInbox',
    summary: 'Events that rules matched, the last received first',
    description:
      'An event that is too old, or that notifications caused themselves, makes no notification. `rules` contains the reason.',
    query: { eventId: Type.Optional(Uuid) },
    list: 'event-inbox',
    sort: '-received_at',
    pageName: 'EventInboxPage',
    item: EventInboxEntry,
    casing: 'camel',
    rows: ({ tenant, query: { eventId } }, page) => listInboxEntries(pool, tenant, { eventId }, page),
    placeOf: placeOfInboxEntry,
    toItem: toEventInboxEntry,
  })
}
