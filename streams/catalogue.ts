import { aiReviews } from './ai-review/aggregate.ts'
import { aiReviewSlots } from './ai-review-slot/aggregate.ts'
import { assessments } from './assessment/aggregate.ts'
import { cases } from './case/aggregate.ts'
import { aiReviewChannelStream } from './channels/ai-review.ts'
import { assessmentChannelStream } from './channels/assessment.ts'
import { clinicalChannelStream } from './channels/clinical.ts'
import { consentChannelStream } from './channels/consent.ts'
import { usersChannelStream } from './channels/users.ts'
import { webhookChannelStream } from './channels/webhook.ts'
import { workflowChannelStream } from './channels/workflow.ts'
import { consents } from './consent/aggregate.ts'
import { consentTypes } from './consent-type/aggregate.ts'
import { images } from './image/aggregate.ts'
import { oauthClients } from './oauth-client/aggregate.ts'
import { organisationRoles } from './organisation-roles/aggregate.ts'
import { oauthScopes } from './oauth-scope/aggregate.ts'
import { patients } from './patient/aggregate.ts'
import { permissions } from './permission/aggregate.ts'
import { projections } from './projection/aggregate.ts'
import { reservations } from './reservation/aggregate.ts'
import { createCatalogue } from './store/catalogue.ts'
import { users } from './user/aggregate.ts'
import { webhookDeliveries } from './webhook-delivery/aggregate.ts'
import { webhookRecoveries } from './webhook-recovery/aggregate.ts'
import { webhookSubscriptions } from './webhook-subscriptions/aggregate.ts'
import { workflowDefinitions } from './workflow-definition/aggregate.ts'
import { workflowInstances } from './workflow-instance/aggregate.ts'

/** All event types. The start fails on a duplicate type, and on a type with PHI but without a subject. */
export const catalogue = createCatalogue([
  aiReviews,
  aiReviewSlots,
  assessments,
  cases,
  consents,
  consentTypes,
  images,
  oauthClients,
  organisationRoles,
  oauthScopes,
  patients,
  permissions,
  projections,
  reservations,
  users,
  webhookDeliveries,
  webhookRecoveries,
  webhookSubscriptions,
  workflowDefinitions,
  workflowInstances,
  aiReviewChannelStream,
  assessmentChannelStream,
  clinicalChannelStream,
  consentChannelStream,
  usersChannelStream,
  webhookChannelStream,
  workflowChannelStream,
])
