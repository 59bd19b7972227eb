import { accessLogs } from './access-log/aggregate.ts'
import { accessMonths } from './access-month/aggregate.ts'
import { aiReviews } from './ai-review/aggregate.ts'
import { aiReviewAccesses } from './ai-review-access/aggregate.ts'
import { aiReviewBudgets } from './ai-review-budget/aggregate.ts'
import { aiReviewPlaces } from './ai-review-places/aggregate.ts'
import { aiReviewSlots } from './ai-review-slot/aggregate.ts'
import { assessments } from './assessment/aggregate.ts'
import { auditExports } from './audit-export/aggregate.ts'
import { backups } from './backups/aggregate.ts'
import { cases } from './case/aggregate.ts'
import { channelStreams } from './channels/channel-streams.ts'
import { consents } from './consent/aggregate.ts'
import { consentTypes } from './consent-type/aggregate.ts'
import { humanReviewPolicies } from './human-review-policy/aggregate.ts'
import { humanReviewTasks } from './human-review-task/aggregate.ts'
import { foreignEvents } from './foreign-event/aggregate.ts'
import { images } from './image/aggregate.ts'
import { logSeals } from './log-seals/aggregate.ts'
import { mintedIds } from '../engine/commands/minted-id/aggregate.ts'
import { notifications } from './notification/aggregate.ts'
import { notificationPreferences } from './notification-preferences/aggregate.ts'
import { notificationQueueRequests } from './notification-queue-request/aggregate.ts'
import { notificationSubscriptions } from './notification-subscription/aggregate.ts'
import { notificationTemplates } from './notification-template/aggregate.ts'
import { oauthClients } from './oauth-client/aggregate.ts'
import { operations } from './operations/aggregate.ts'
import { organisationRoles } from './organisation-roles/aggregate.ts'
import { oauthScopes } from './oauth-scope/aggregate.ts'
import { patientErasures } from './patient-erasure/aggregate.ts'
import { patients } from './patient/aggregate.ts'
import { permissions } from './permission/aggregate.ts'
import { projections } from './projection/aggregate.ts'
import { reservations } from '../engine/commands/reservation/aggregate.ts'
import { createCatalogue } from '../engine/store/catalogue.ts'
import { eventKeys } from './event-key/aggregate.ts'
import { tokenKeys } from './token-key/aggregate.ts'
import { suppressions } from './suppression/aggregate.ts'
import { users } from './user/aggregate.ts'
import { webhookDeliveries } from './webhook-delivery/aggregate.ts'
import { webhookRecoveries } from './webhook-recovery/aggregate.ts'
import { webhookSubscriptions } from './webhook-subscriptions/aggregate.ts'
import { writeProbes } from './write-probe/aggregate.ts'
import { workflowDefinitions } from './workflow-definition/aggregate.ts'
import { workflowInstances } from './workflow-instance/aggregate.ts'

/** All event types. The start fails on a duplicate type, and on a type with PHI but without a subject. */
export const catalogue = createCatalogue([
  accessLogs,
  accessMonths,
  aiReviews,
  aiReviewAccesses,
  aiReviewBudgets,
  aiReviewPlaces,
  aiReviewSlots,
  assessments,
  auditExports,
  backups,
  cases,
  consents,
  consentTypes,
  humanReviewPolicies,
  humanReviewTasks,
  eventKeys,
  foreignEvents,
  images,
  logSeals,
  mintedIds,
  notifications,
  notificationPreferences,
  notificationQueueRequests,
  notificationSubscriptions,
  notificationTemplates,
  oauthClients,
  operations,
  organisationRoles,
  oauthScopes,
  patientErasures,
  patients,
  permissions,
  projections,
  reservations,
  suppressions,
  tokenKeys,
  users,
  webhookDeliveries,
  webhookRecoveries,
  webhookSubscriptions,
  workflowDefinitions,
  workflowInstances,
  writeProbes,
  ...channelStreams,
])
