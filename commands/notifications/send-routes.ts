import { NotificationAccepted } from '../../contracts/notifications/record.ts'
import { escapePointer } from '../../platform/http/errors.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { notificationsProjector } from '../../projections/notifications/notifications.projector.ts'
import {
  isNotification,
  notifications,
  patientOf,
  subjectOfContent,
  type CreatedNotification,
} from '../../streams/notification/aggregate.ts'
import type { NotificationStatus, RecipientType } from '../../streams/notification/events.ts'
import type { NotificationTemplate } from '../../streams/notification-template/aggregate.ts'
import { isUser, users } from '../../streams/user/aggregate.ts'
import { requirePatient } from '../clinical/require-patient.ts'
import { accepted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { createNotification } from './create-notification.ts'
import { defaultLocale, findTemplate } from './find-template.ts'
import { recipientOf, SendNotificationBody, variablesText } from './notification-bodies.ts'
import { recipientKeyOf } from './recipient-key.ts'
import { compileTemplate, type Variables } from '../../platform/templates/rendering.ts'
import { isStoppable } from './unsubscribe-links.ts'

/** A notification on request of a client. The delivery follows. */
export function sendNotificationRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault } = deps

  commandRoute(app, deps, {
    method: 'POST',
    path: '',
    operationId: 'sendNotification',
    summary: 'Send a notification',
    description:
      'A chat channel gets a chat message; a user and an e-mail address get a mail. The template is that of the locale of the user, else of en-GB.',
    access: { scopes: ['notifications:send'] },
    body: SendNotificationBody,
    reply: accepted(NotificationAccepted, ({ id }) => `/${id}`),
    readBy: [notificationsProjector],
    problems: ['template-not-found', 'template-variable-missing', 'patient-not-found', 'subject-erased'],
    handle: async ({ tenant, body, keyed, caller, now, run }) => {
      const { templateCode: code, variables, correlationId = null } = body
      const { recipientType, recipientRef, channel } = recipientOf(body.recipient)
      const text = variablesText(variables)
      const notificationId = keyed.id
      const target = { ...notifications.of(tenant, notificationId), isNew: true }
      const { state: known, revision, position } = keyed.isKeyed ? await store.load(target) : store.presume(target)
      // A repeat does not need a template that still takes its variables.
      if (isNotification(known) && known.fingerprint === keyed.fingerprint)
        return { ...answerOf(known), revision, events: [], reached: position }

      const userId = recipientType === 'user' ? recipientRef : null
      const patientId =
        body.patientId === undefined ? null : await requirePatient(deps, tenant, body.patientId, '/patientId')
      const locale = userId === null ? null : await localeOf(tenant, userId)
      const template = await findTemplate(store, { code, channel, locale, orgId: tenant })
      if (template === undefined) throw problem('template-not-found')
      await requireVariables(template, variables, recipientType)
      const command = {
        notificationId,
        organisationId: tenant,
        templateCode: code,
        templateVersion: template.version,
        channel,
        locale: locale ?? defaultLocale,
        category: template.category,
        // Variables about a patient are personal health information, whatever the template says.
        phi: template.phi || patientId !== null,
        recipientType,
        recipientRef,
        recipientKey: recipientKeyOf(vault, recipientRef),
        variables: text,
        ...subjectOfContent({ notificationId, patientId, userId }),
        correlationId,
        triggerSource: `api:${caller.clientId}`,
        trigger: null,
        hop: 0,
        fingerprint: keyed.fingerprint,
        failure: null,
        now,
      }
      const done = await run(target, (state) => createNotification(command, state))
      if (!isNotification(done.state)) throw problem('internal-error')
      return { ...done, ...answerOf(done.state) }
    },
  })

  function answerOf(state: CreatedNotification & { readonly status: NotificationStatus }) {
    const { notificationId: id, status } = state
    return { record: { id, status }, patientId: patientOf(state), retryAfterSeconds: 1 }
  }

  /** Null for anyone who is no member of the organisation: the delivery will refuse such a recipient. */
  async function localeOf(tenant: TenantId, userId: string): Promise<string | null> {
    const { state } = await store.load(users.of(userId))
    if (!isUser(state)) return null
    const isMember = [...state.memberships.values()].some(({ organisationId }) => organisationId === tenant)
    return isMember ? state.locale : null
  }
}

/** The delivery adds this variable to what users can stop by a link. */
const ofDelivery = 'unsubscribeUrl'

/** The names of variables are those of the template, so they are not personal data. */
async function requireVariables(
  template: NotificationTemplate,
  variables: Variables,
  recipientType: RecipientType,
): Promise<void> {
  const hasLink = recipientType === 'user' && isStoppable(template.category)
  const given = hasLink ? { ...variables, [ofDelivery]: '' } : variables
  const { missingFrom } = await compileTemplate(template)
  const missingVariables = missingFrom(given)
  if (missingVariables.length === 0) return
  const errors = missingVariables.map((name) => ({
    pointer: `/variables/${name.split('.').map(escapePointer).join('/')}`,
    detail: 'is used by the template',
    code: 'missing',
  }))
  throw problem('template-variable-missing', { errors, extensions: { missingVariables } })
}
