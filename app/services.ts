import { exportWriteRoute } from '../commands/audit/export-route.ts'
import { rawResponseRoute } from '../commands/ai-review/raw-response-route.ts'
import { aiReviewWriteRoutes } from '../commands/ai-review/routes.ts'
import { membershipRoutes } from '../commands/users/membership-routes.ts'
import type { UserDependencies } from '../commands/users/registration-attempt.ts'
import { roleWriteRoutes, type RoleDependencies } from '../commands/users/role-routes.ts'
import { userWriteRoutes } from '../commands/users/user-routes.ts'
import type { AssessmentDependencies } from '../commands/assessments/dependencies.ts'
import { assessmentWriteRoutes } from '../commands/assessments/routes.ts'
import { authAdminRoutes } from '../commands/auth/client-routes.ts'
import type { AuthDependencies } from '../commands/auth/client-authentication.ts'
import { wellKnownMetadataRoute } from '../commands/auth/metadata-routes.ts'
import { authRoutes } from '../commands/auth/routes.ts'
import { scopeWriteRoutes } from '../commands/auth/scope-routes.ts'
import { erasureRoutes } from '../commands/clinical/erasure-routes.ts'
import type { KnownPatients } from '../commands/clinical/require-patient.ts'
import { clinicalWriteRoutes } from '../commands/clinical/routes.ts'
import { consentWriteRoutes } from '../commands/consent/routes.ts'
import { humanReviewWriteRoutes } from '../commands/human-review/routes.ts'
import { imageWriteRoutes } from '../commands/images/routes.ts'
import { notificationQueueRoutes, type QueueRouteDependencies } from '../commands/notifications/queue-routes.ts'
import { recipientKeyOf } from '../commands/notifications/recipient-key.ts'
import { sendNotificationRoutes } from '../commands/notifications/send-routes.ts'
import { templateWriteRoutes } from '../commands/notifications/template-routes.ts'
import { deliveryWriteRoutes } from '../commands/webhooks/delivery-routes.ts'
import type { DeliveriesToRecover, FindDueDelivery } from '../commands/webhooks/dependencies.ts'
import { webhookWriteRoutes } from '../commands/webhooks/routes.ts'
import { notificationsProjector } from '../projections/notifications/notifications.projector.ts'
import { preferenceWriteRoutes } from '../commands/notifications/preference-routes.ts'
import { subscriptionWriteRoutes } from '../commands/notifications/subscription-routes.ts'
import { suppressionWriteRoutes } from '../commands/notifications/suppression-routes.ts'
import { unsubscribeRoutes } from '../commands/notifications/unsubscribe-routes.ts'
import { noOrganisation, tenantOfFact, type TenantId } from '../platform/kit/tenants.ts'
import { notificationSettingsProjector } from '../projections/notifications/notification-settings.projector.ts'
import { workflowWriteRoutes } from '../commands/workflows/routes.ts'
import { auditSubjectsProjector } from '../projections/audit/audit-subjects.projector.ts'
import { isSubject } from '../read-api/audit/subject-queries.ts'
import { usersProjector } from '../projections/users/users.projector.ts'
import { webhookDeliveriesProjector } from '../projections/webhooks/webhook-deliveries.projector.ts'
import { asOfRoutes, type AsOfRouteDependencies } from '../read-api/audit/as-of-routes.ts'
import { logRoutes, type LogRouteDependencies } from '../read-api/audit/log-routes.ts'
import { accessRoutes } from '../read-api/audit/access-routes.ts'
import { exportReadRoute } from '../read-api/audit/export-route.ts'
import { timelineRoute, type AuditRouteDependencies } from '../read-api/audit/timeline-route.ts'
import { eventDocumentRoutes } from '../read-api/events/document-routes.ts'
import { eventRoutes, type EventRouteDependencies } from '../read-api/events/routes.ts'
import { provenanceRoute, type ProvenanceRouteDependencies } from '../read-api/ai-review/provenance-route.ts'
import { aiReviewReadRoutes } from '../read-api/ai-review/routes.ts'
import { assessmentReadRoutes } from '../read-api/assessments/routes.ts'
import { authReadRoutes } from '../read-api/auth/routes.ts'
import { clinicalReadRoutes } from '../read-api/clinical/routes.ts'
import { consentReadRoutes } from '../read-api/consent/routes.ts'
import { humanReviewReadRoutes } from '../read-api/human-review/routes.ts'
import { imageReadRoutes } from '../read-api/images/routes.ts'
import { listFailuresOfClass, listStuck } from '../read-api/notifications/queries.ts'
import { notificationReadRoutes } from '../read-api/notifications/routes.ts'
import { templateReadRoutes } from '../read-api/notifications/template-routes.ts'
import { countRules, getNotificationSubscription, getSuppression } from '../read-api/notifications/setting-queries.ts'
import { settingReadRoutes } from '../read-api/notifications/setting-routes.ts'
import { projectionRoutes } from '../commands/operations/projection-routes.ts'
import { retryRoutes, type OperationsCommandDependencies } from '../commands/operations/retry-routes.ts'
import { operationsRoutes, type OperationsRouteDependencies } from '../read-api/operations/routes.ts'
import { requireCurrent, type ReadDependencies } from '../engine/reads/read-route.ts'
import type { SessionDependencies } from '../engine/reads/server-sent-events.ts'
import { ownAccessRoute } from '../read-api/users/own-access-route.ts'
import { ownReadRoutes } from '../read-api/users/own-routes.ts'
import { getRole } from '../read-api/users/queries.ts'
import { roleReadRoutes } from '../read-api/users/role-routes.ts'
import { userReadRoutes } from '../read-api/users/user-routes.ts'
import { getDueDelivery, listUndelivered } from '../read-api/webhooks/queries.ts'
import { deliveryReadRoutes, webhookReadRoutes } from '../read-api/webhooks/routes.ts'
import { workflowReadRoutes } from '../read-api/workflows/routes.ts'
import type { Service } from '../platform/http/service.ts'

export type ServiceDependencies = AssessmentDependencies &
  AuditRouteDependencies &
  AsOfRouteDependencies &
  LogRouteDependencies &
  ProvenanceRouteDependencies &
  AuthDependencies &
  EventRouteDependencies &
  OperationsRouteDependencies &
  OperationsCommandDependencies &
  ReadDependencies &
  UserDependencies

/** What the console shows to the person of a session. */
export function consoleServicesOf(deps: ServiceDependencies & SessionDependencies): readonly Service[] {
  const mounts = ['console'] as const
  return [
    {
      prefix: 'operations',
      documentedAt: 'prefixed',
      mounts,
      routes: (app) => {
        operationsRoutes(app, deps)
        retryRoutes(app, deps)
        projectionRoutes(app, deps)
      },
    },
    { prefix: 'audit', documentedAt: 'prefixed', mounts, routes: (app) => timelineRoute(app, deps) },
    { prefix: 'auth', documentedAt: 'prefixed', mounts, routes: (app) => authReadRoutes(app, deps) },
    {
      prefix: 'user-management',
      documentedAt: 'bare',
      mounts,
      routes: (app) => {
        userReadRoutes(app, deps)
        roleReadRoutes(app, deps)
      },
    },
  ]
}

/** Every service with its routes, commands and queries. */
export function servicesOf(deps: ServiceDependencies): readonly Service[] {
  return [
    {
      prefix: 'events',
      documentedAt: 'prefixed',
      mounts: ['prefixed'],
      routes: (app) => eventRoutes(app, deps),
      wellKnownRoutes: eventDocumentRoutes,
    },
    {
      prefix: 'audit',
      documentedAt: 'prefixed',
      // Bare, `/v1/timeline` would be an address of every service.
      mounts: ['prefixed', 'gateway'],
      routes: (app) => {
        timelineRoute(app, deps)
        asOfRoutes(app, deps)
        logRoutes(app, deps)
        accessRoutes(app, { ...deps, recipientKeyOf: (ref) => recipientKeyOf(deps.vault, ref) })
        exportWriteRoute(app, { ...deps, isKnownPatient: isKnownPatient(deps) })
        exportReadRoute(app, deps)
      },
    },
    {
      prefix: 'operations',
      documentedAt: 'prefixed',
      // Bare, `/v1/overview` would be an address of every service.
      mounts: ['prefixed', 'gateway'],
      routes: (app) => {
        operationsRoutes(app, deps)
        retryRoutes(app, deps)
        projectionRoutes(app, deps)
      },
    },
    {
      prefix: 'auth',
      documentedAt: 'prefixed',
      routes: (app) => {
        authRoutes(app, deps)
        authAdminRoutes(app, deps)
        scopeWriteRoutes(app, deps)
        authReadRoutes(app, deps)
      },
      wellKnownRoutes: (app) => wellKnownMetadataRoute(app, deps),
    },
    {
      prefix: 'clinical-api',
      documentedAt: 'prefixed',
      routes: (app) => {
        clinicalWriteRoutes(app, deps)
        erasureRoutes(app, { ...deps, isKnownPatient: isKnownPatient(deps) })
        clinicalReadRoutes(app, deps)
        imageWriteRoutes(app, deps)
        imageReadRoutes(app, deps)
        assessmentWriteRoutes(app, deps)
        assessmentReadRoutes(app, deps)
        webhookWriteRoutes(app, deps)
        webhookReadRoutes(app, deps)
        deliveryWriteRoutes(app, {
          ...deps,
          deliveriesToRecover: deliveriesToRecover(deps),
          findDueDelivery: findDueDelivery(deps),
        })
        deliveryReadRoutes(app, deps)
      },
    },
    {
      prefix: 'orchestrator',
      documentedAt: 'prefixed',
      routes: (app) => {
        workflowWriteRoutes(app, deps)
        workflowReadRoutes(app, deps)
      },
    },
    {
      prefix: 'consent',
      documentedAt: 'bare',
      routes: (app) => {
        consentWriteRoutes(app, deps)
        consentReadRoutes(app, deps)
      },
    },
    {
      prefix: 'user-management',
      documentedAt: 'bare',
      routes: (app) => {
        userWriteRoutes(app, deps)
        membershipRoutes(app, deps)
        roleWriteRoutes(app, { ...deps, organisationOfRole: organisationOfRole(deps) })
        ownReadRoutes(app, deps)
        ownAccessRoute(app, deps)
        userReadRoutes(app, deps)
        roleReadRoutes(app, deps)
      },
    },
    {
      prefix: 'notifications',
      documentedAt: 'prefixed',
      // Bare, `/v1/{id}` would be an address of every service.
      mounts: ['prefixed', 'gateway'],
      routes: (app) => {
        sendNotificationRoutes(app, deps)
        notificationQueueRoutes(app, { ...deps, ...queueLists(deps) })
        notificationReadRoutes(app, { ...deps, recipientKeyOf: (ref) => recipientKeyOf(deps.vault, ref) })
        templateWriteRoutes(app, deps)
        templateReadRoutes(app, deps)
        subscriptionWriteRoutes(app, {
          ...deps,
          ownerOfSubscription: ownerIn(deps, (id) => getNotificationSubscription(deps.pool, null, id)),
          countRules: (orgId, limit) => countRules(deps.pool, orgId, limit),
        })
        suppressionWriteRoutes(app, {
          ...deps,
          ownerOfSuppression: ownerIn(deps, (id) => getSuppression(deps, null, id)),
        })
        preferenceWriteRoutes(app, deps)
        unsubscribeRoutes(app, deps)
        settingReadRoutes(app, deps)
      },
    },
    {
      prefix: 'ai-review',
      documentedAt: 'bare',
      routes: (app) => {
        aiReviewWriteRoutes(app, deps)
        rawResponseRoute(app, deps)
        aiReviewReadRoutes(app, deps)
        provenanceRoute(app, deps)
      },
    },
    {
      prefix: 'human-review',
      documentedAt: 'prefixed',
      // Bare, `/v1/policy` and `/v1/tasks` would be addresses of every service.
      mounts: ['prefixed', 'gateway'],
      routes: (app) => {
        humanReviewWriteRoutes(app, deps)
        humanReviewReadRoutes(app, deps)
      },
    },
  ]
}

/** The index must contain everything recorded until now. */
function isKnownPatient(deps: ReadDependencies): KnownPatients['isKnownPatient'] {
  return async (tenant, id) => {
    await requireCurrent(deps, auditSubjectsProjector)
    return isSubject(deps.pool, { kind: 'patient', id, tenant })
  }
}

/** A read model supplies the deliveries of a recovery. It must contain everything recorded until now. */
function deliveriesToRecover(deps: ReadDependencies): DeliveriesToRecover {
  return async (org, subscriptionId, period, limit) => {
    await requireCurrent(deps, webhookDeliveriesProjector)
    return listUndelivered(deps.pool, org, subscriptionId, period, limit)
  }
}

/** The read model must contain everything recorded until now. */
function queueLists(
  deps: ReadDependencies,
): Pick<QueueRouteDependencies, 'failedNotifications' | 'stuckNotifications'> {
  return {
    async failedNotifications(org, failures, limit) {
      await requireCurrent(deps, notificationsProjector)
      const erased = deps.vault.closedOf(org)
      return foundOf(await listFailuresOfClass(deps.pool, org, { ...failures, erased }, limit))
    },
    async stuckNotifications(org, stuck, limit) {
      await requireCurrent(deps, notificationsProjector)
      return foundOf(await listStuck(deps.pool, org, stuck, limit))
    },
  }
}

function foundOf(rows: readonly { readonly notificationId: string; readonly total: number }[]) {
  return { ids: rows.map(({ notificationId }) => notificationId), total: rows[0]?.total ?? 0 }
}

/** The path of a role has no organisation. */
function organisationOfRole(deps: ReadDependencies): RoleDependencies['organisationOfRole'] {
  return async (roleId) => {
    await requireCurrent(deps, usersProjector)
    return tenantOfFact((await getRole(deps.pool, null, roleId)).orgId)
  }
}

/** The path of a notification setting has no organisation. */
function ownerIn(deps: ReadDependencies, find: (id: string) => Promise<{ readonly orgId: string | null }>) {
  return async (id: string): Promise<TenantId> => {
    await requireCurrent(deps, notificationSettingsProjector)
    const { orgId } = await find(id)
    return orgId === null ? noOrganisation : tenantOfFact(orgId)
  }
}

/** Until its stream begins, a due delivery exists only in a read model. */
function findDueDelivery(deps: ReadDependencies): FindDueDelivery {
  const [firstDelayMs = 0] = deps.configuration.webhookRetryScheduleMs
  return async (org, subscriptionId, deliveryId) => {
    await requireCurrent(deps, webhookDeliveriesProjector)
    return getDueDelivery(deps.pool, org, subscriptionId, deliveryId, firstDelayMs)
  }
}
