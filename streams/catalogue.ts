import { aiReviewEvents } from './ai-review/events.ts'
import { category as aiReview } from './ai-review/stream.ts'
import { aiReviewSlotEvents } from './ai-review-slot/events.ts'
import { category as aiReviewSlot } from './ai-review-slot/stream.ts'
import { assessmentEvents } from './assessment/events.ts'
import { category as assessment } from './assessment/stream.ts'
import { caseEvents } from './case/events.ts'
import { category as clinicalCase } from './case/stream.ts'
import { aiReviewChannel, aiReviewChannelEvents } from './channels/ai-review.ts'
import { assessmentChannel, assessmentChannelEvents } from './channels/assessment.ts'
import { clinicalChannel, clinicalChannelEvents } from './channels/clinical.ts'
import { consentChannel, consentChannelEvents } from './channels/consent.ts'
import { webhookChannel, webhookChannelEvents } from './channels/webhook.ts'
import { consentEvents } from './consent/events.ts'
import { category as consent } from './consent/stream.ts'
import { consentTypeEvents } from './consent-type/events.ts'
import { category as consentType } from './consent-type/stream.ts'
import { imageEvents } from './image/events.ts'
import { category as image } from './image/stream.ts'
import { oauthClientEvents } from './oauth-client/events.ts'
import { category as oauthClient } from './oauth-client/stream.ts'
import { patientEvents } from './patient/events.ts'
import { category as patient } from './patient/stream.ts'
import { projectionEvents } from './projection/events.ts'
import { category as projection } from './projection/stream.ts'
import { reservationEvents } from './reservation/events.ts'
import { category as reservation } from './reservation/stream.ts'
import { createCatalogue } from './store/catalogue.ts'
import { webhookDeliveryEvents } from './webhook-delivery/events.ts'
import { category as webhookDelivery } from './webhook-delivery/stream.ts'
import { webhookRecoveryEvents } from './webhook-recovery/events.ts'
import { category as webhookRecovery } from './webhook-recovery/stream.ts'
import { webhookSubscriptionEvents } from './webhook-subscriptions/events.ts'
import { category as webhookSubscriptions } from './webhook-subscriptions/stream.ts'

/** Every event type there is; a doubled one, or one whose PHI has no subject, stops the start. */
export const catalogue = createCatalogue([
  { category: aiReview, events: aiReviewEvents },
  { category: aiReviewSlot, events: aiReviewSlotEvents },
  { category: assessment, events: assessmentEvents },
  { category: clinicalCase, events: caseEvents },
  { category: consent, events: consentEvents },
  { category: consentType, events: consentTypeEvents },
  { category: image, events: imageEvents },
  { category: oauthClient, events: oauthClientEvents },
  { category: patient, events: patientEvents },
  { category: projection, events: projectionEvents },
  { category: reservation, events: reservationEvents },
  { category: webhookDelivery, events: webhookDeliveryEvents },
  { category: webhookRecovery, events: webhookRecoveryEvents },
  { category: webhookSubscriptions, events: webhookSubscriptionEvents },
  { category: aiReviewChannel, events: aiReviewChannelEvents },
  { category: assessmentChannel, events: assessmentChannelEvents },
  { category: clinicalChannel, events: clinicalChannelEvents },
  { category: consentChannel, events: consentChannelEvents },
  { category: webhookChannel, events: webhookChannelEvents },
])
