import { aiReviewsProjector } from './ai-review/ai-reviews.projector.ts'
import { assessmentsProjector } from './assessments/assessments.projector.ts'
import { accessLogProjector } from './audit/access-log.projector.ts'
import { auditExportsProjector } from './audit/audit-exports.projector.ts'
import { auditSubjectsProjector } from './audit/audit-subjects.projector.ts'
import { oauthClientsProjector } from './auth/oauth-clients.projector.ts'
import { oauthScopesProjector } from './auth/oauth-scopes.projector.ts'
import { casesProjector } from './clinical/cases.projector.ts'
import { patientsProjector } from './clinical/patients.projector.ts'
import { consentRecordsProjector } from './consent/consent-records.projector.ts'
import { consentTypesProjector } from './consent/consent-types.projector.ts'
import { eventFeedProjector } from './events/event-feed.projector.ts'
import { foreignEventsProjector } from './foreign-events/foreign-events.projector.ts'
import { humanReviewProjector } from './human-review/human-review.projector.ts'
import { imagesProjector } from './images/images.projector.ts'
import { notificationsProjector } from './notifications/notifications.projector.ts'
import { notificationTemplatesProjector } from './notifications/notification-templates.projector.ts'
import { notificationSettingsProjector } from './notifications/notification-settings.projector.ts'
import type { Projector } from '../engine/projections/projector.ts'
import { operatorActionsProjector } from './operations/operator-actions.projector.ts'
import { usersProjector } from './users/users.projector.ts'
import { webhookDeliveriesProjector } from './webhooks/webhook-deliveries.projector.ts'
import { webhookSubscriptionsProjector } from './webhooks/webhook-subscriptions.projector.ts'
import { workflowsProjector } from './workflows/workflows.projector.ts'

/** The read models from which GET routes answer. */
export const readModels: readonly Projector[] = [
  accessLogProjector,
  aiReviewsProjector,
  assessmentsProjector,
  auditExportsProjector,
  auditSubjectsProjector,
  casesProjector,
  consentRecordsProjector,
  consentTypesProjector,
  eventFeedProjector,
  foreignEventsProjector,
  humanReviewProjector,
  imagesProjector,
  notificationsProjector,
  notificationTemplatesProjector,
  notificationSettingsProjector,
  oauthClientsProjector,
  oauthScopesProjector,
  operatorActionsProjector,
  patientsProjector,
  usersProjector,
  webhookDeliveriesProjector,
  webhookSubscriptionsProjector,
  workflowsProjector,
]
