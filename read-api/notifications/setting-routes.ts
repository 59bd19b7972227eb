import { Type } from 'typebox'
import {
  NotificationPreferencesRecord,
  NotificationSubscriptionRecord,
  requireOwnOrAdministrator,
  SuppressionRecord,
  toPreferencesRecord,
  toSubscriptionRecord,
  toSuppressionRecord,
} from '../../contracts/notifications/settings.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, orgQueryOf } from '../../platform/http/parameters.ts'
import { variantFor } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { notificationSettingsProjector } from '../../projections/notifications/notification-settings.projector.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { atRevision, readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import {
  getNotificationSubscription,
  getPreferences,
  getSuppression,
  listNotificationSubscriptions,
  listSuppressions,
  placeOfRule,
  placeOfSuppression,
} from './setting-queries.ts'

const usual = {
  access: { admin: 'notifications:admin', orScope: 'notifications:admin' },
  tenancy: 'optional',
  servedBy: [notificationSettingsProjector],
} as const

const orgNames = orgQueryOf('optional')
const visibility =
  'Without `orgId`: those of the organisation and of the platform; for a platform client those of all organisations.'

/** Rules, suppressions and preferences (specification 4.6). */
export function settingReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool } = deps

  listRoute(app, deps, {
    ...usual,
    path: '/admin/subscriptions',
    operationId: 'listNotificationSubscriptions',
    summary: 'Rules that send messages for events, the oldest first',
    description: visibility,
    query: { ...orgNames, eventType: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })) },
    list: 'notification-subscriptions',
    sort: 'createdAt',
    pageName: 'NotificationSubscriptionPage',
    casing: 'camel',
    item: NotificationSubscriptionRecord,
    rows: ({ tenant, query }, page) => {
      const filters = { isOwnOnly: namedOrg(query) !== undefined, eventType: query.eventType }
      return listNotificationSubscriptions(pool, tenant, filters, page)
    },
    placeOf: placeOfRule,
    toItem: toSubscriptionRecord,
  })

  readRoute(app, {
    ...usual,
    path: '/admin/subscriptions/:id',
    operationId: 'getNotificationSubscription',
    summary: 'A rule that sends messages for events',
    params: { id: Uuid },
    reply: NotificationSubscriptionRecord,
    find: async ({ tenant, params }) =>
      atRevision(await getNotificationSubscription(pool, tenant, params.id), toSubscriptionRecord),
  })

  listRoute(app, deps, {
    ...usual,
    path: '/admin/suppressions',
    operationId: 'listSuppressions',
    summary: 'Addresses that get no message, the oldest first',
    description: visibility,
    query: orgNames,
    list: 'suppressions',
    sort: 'createdAt',
    pageName: 'SuppressionPage',
    casing: 'camel',
    item: SuppressionRecord,
    rows: ({ tenant, query }, page) =>
      listSuppressions(deps, tenant, { isOwnOnly: namedOrg(query) !== undefined }, page),
    placeOf: placeOfSuppression,
    toItem: toSuppressionRecord,
  })

  readRoute(app, {
    ...usual,
    path: '/admin/suppressions/:id',
    operationId: 'getSuppression',
    summary: 'An address that gets no message',
    params: { id: Uuid },
    reply: SuppressionRecord,
    find: async ({ tenant, params }) => atRevision(await getSuppression(deps, tenant, params.id), toSuppressionRecord),
  })

  readRoute(app, {
    path: '/preferences/:userId',
    operationId: 'getNotificationPreferences',
    summary: 'Notification preferences of a user',
    description:
      'For the user of X-Actor-Context, or with `notifications:admin` as a scope or a permission. The ETag is `"-1"` until one is set.',
    access: { scopes: ['notifications:preferences:read'] },
    params: { userId: Uuid },
    servedBy: [notificationSettingsProjector, usersProjector],
    reply: NotificationPreferencesRecord,
    problems: ['permission-missing', 'user-erased'],
    find: async ({ tenant, caller, params: { userId } }) => {
      requireOwnOrAdministrator(caller, userId)
      const set = await getPreferences(pool, tenant, userId)
      const revisions = set.map(({ streamRevision }) => BigInt(streamRevision))
      const [revision] = revisions.toSorted((one, other) => Number(other - one))
      const body = toPreferencesRecord(userId, tenant, set)
      // The organisation of an entry is shown to itself only.
      return revision === undefined ? { body, revision: 'no_stream' } : { body, revision, variant: variantFor(tenant) }
    },
  })
}
