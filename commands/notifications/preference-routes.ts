import {
  NotificationPreferencesRecord,
  requireOwnOrAdministrator,
  toPreferencesRecord,
} from '../../contracts/notifications/settings.ts'
import { changedByOf } from '../../platform/http/access.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { notificationSettingsProjector } from '../../projections/notifications/notification-settings.projector.ts'
import { notificationPreferences } from '../../streams/notification-preferences/aggregate.ts'
import { users } from '../../streams/user/aggregate.ts'
import { changed } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { maySee } from '../users/user-visibility.ts'
import { setPreferences } from './preferences.ts'
import { requireDistinct, SetPreferencesBody } from './setting-bodies.ts'

/** What a user wants to receive (specification 4.6). */
export function preferenceWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  commandRoute(app, deps, {
    method: 'PUT',
    path: '/preferences/:userId',
    operationId: 'setNotificationPreferences',
    summary: 'Set notification preferences of a user',
    description:
      'For the user of X-Actor-Context, or with `notifications:admin` as a scope or a permission. Entries that are left out stay as they are. An opt-out of `transactional` is stored and has no effect.',
    access: { scopes: ['notifications:preferences:write'] },
    body: SetPreferencesBody,
    hasEtag: true,
    ifMatch: 'stream',
    readBy: [notificationSettingsProjector],
    reply: changed(NotificationPreferencesRecord),
    problems: ['permission-missing', 'user-erased'],
    handle: async ({ tenant, caller, params: { userId }, body, now, run }) => {
      requireOwnOrAdministrator(caller, userId)
      requireDistinct(body)
      const unseen = maySee(tenant, (await deps.store.load(users.of(userId))).state)
      if (unseen !== null) throw problem(unseen.refused)
      const command = { userId, organisationId: tenant, entries: body, changedBy: changedByOf(caller), now }
      const done = await run(notificationPreferences.of(userId), (state) => setPreferences(command, state))
      const set = [...done.state.values()].map((one) => ({ ...one, orgId: one.organisationId }))
      return { ...done, record: toPreferencesRecord(userId, tenant, set) }
    },
  })
}
