import { expect, it } from 'vitest'
import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import { aiReviewProcess } from '../../processes/ai-review/ai-review.process.ts'
import { assessmentsProcess } from '../../processes/assessments/assessments.process.ts'
import { clinicalProcess } from '../../processes/clinical/clinical.process.ts'
import { humanReviewProcess } from '../../processes/human-review/human-review.process.ts'
import { notificationsProcess } from '../../processes/notifications/notifications.process.ts'
import { webhooksProcess } from '../../processes/webhooks/webhooks.process.ts'
import { workflowsProcess } from '../../processes/workflows/workflows.process.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { assessmentChannelStream } from '../../streams/channels/assessment.ts'
import { clinicalChannelStream } from '../../streams/channels/clinical.ts'
import { aiReviewChannelStream } from '../../streams/channels/ai-review.ts'
import { consentChannelStream } from '../../streams/channels/consent.ts'
import { notificationSubscriptions } from '../../streams/notification-subscription/aggregate.ts'
import { webhookDeliveries } from '../../streams/webhook-delivery/aggregate.ts'
import { webhookRecoveries } from '../../streams/webhook-recovery/aggregate.ts'
import { workflowInstances } from '../../streams/workflow-instance/aggregate.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'
import { reviewFact } from '../streams/ai-review-facts.ts'
import {
  assessmentPublicFact,
  clinicalPublicFact,
  consentPublicFact,
  reviewPublicFact,
} from '../streams/channel-facts.ts'
import { assessmentFact, caseFact, ids } from '../streams/facts.ts'
import { foreignFact, ofForeignEvent } from '../streams/foreign-facts.ts'
import { ownTask, taskFact } from '../streams/human-review-facts.ts'
import { ruleFact, settingIds } from '../streams/notification-settings-facts.ts'
import { deliveryFact, recovery, recoveryFact, subscriptionFact } from '../streams/webhook-facts.ts'
import { instanceFact } from '../streams/workflow-facts.ts'
import { recorded, rowsAfter, type GivenEvent } from '../support/given-projector.ts'
import { rowsInMemory } from '../support/rows-in-memory.ts'

const inStream = (stream: string) => (event: GivenEvent) => ({ ...event, stream })
const review = inStream(aiReviews.of(ids.org, ids.review).stream)
const assessment = inStream(assessments.of(ids.org, ids.assessment).stream)
const onReviewChannel = inStream(aiReviewChannelStream.name)
const onConsentChannel = inStream(consentChannelStream.name)
const subscriptions = inStream(webhookSubscriptions.of(ids.org).stream)
const delivery = inStream(webhookDeliveries.of(ids.org, ids.delivery).stream)
const ruleOf = (owner: TenantId, changes: Parameters<typeof ruleFact<'NotificationSubscriptionCreated'>>[1]) => ({
  ...ruleFact('NotificationSubscriptionCreated', changes),
  stream: notificationSubscriptions.of(owner, changes?.subscriptionId ?? settingIds.rule).stream,
})
const instance = inStream(workflowInstances.of(ids.org, ids.workflowInstance).stream)
const onClinicalChannel = inStream(clinicalChannelStream.name)
const started = instance(instanceFact('WorkflowInstanceStarted'))
const closedCase = onClinicalChannel(clinicalPublicFact('clinical.case.closed'))
const subscribed = subscriptions(subscriptionFact('WebhookSubscribed'))
const ofCase = inStream(cases.of(ids.org, ids.case).stream)
const openedTask = ownTask(taskFact('HumanReviewTaskOpened'))
const completed = { ...assessment(assessmentFact('AssessmentCompleted')), id: ids.event }

it.each([
  {
    process: aiReviewProcess,
    step: 'withdraw',
    events: [
      review(reviewFact('AiReviewRequested')),
      onConsentChannel(consentPublicFact('consent.denied')),
      onConsentChannel(consentPublicFact('consent.withdrawn')),
    ],
  },
  {
    process: assessmentsProcess,
    step: 'conclude',
    events: [
      assessment(assessmentFact('AssessmentRequested')),
      assessment(assessmentFact('AssessmentSubmitted')),
      onReviewChannel(reviewPublicFact('ai_review.failed')),
      onReviewChannel(reviewPublicFact('ai_review.completed', { aiReviewId: ids.newReview })),
    ],
  },
  {
    process: assessmentsProcess,
    step: 'conclude',
    events: [
      onReviewChannel(reviewPublicFact('ai_review.completed')),
      assessment(assessmentFact('AssessmentRequested')),
      assessment(assessmentFact('AssessmentSubmitted')),
      assessment(assessmentFact('AssessmentReviewRequested')),
    ],
  },
  {
    process: clinicalProcess,
    step: 'supersede-diagnoses',
    events: [
      ofCase(caseFact('CaseOpened')),
      onReviewChannel(reviewPublicFact('ai_review.completed')),
      onReviewChannel(reviewPublicFact('ai_review.superseded')),
    ],
  },
  {
    process: humanReviewProcess,
    step: 'conclude',
    events: [
      ofCase(caseFact('CaseHumanReviewStarted')),
      ownTask(taskFact('HumanReviewTaskOpened')),
      ownTask(taskFact('HumanReviewTaskDecided')),
    ],
  },
  {
    process: humanReviewProcess,
    step: 'assign',
    events: [
      ofCase(caseFact('CaseHumanReviewStarted', { assessmentId: null })),
      ofCase(caseFact('CaseAssessmentAssigned')),
    ],
  },
  {
    process: notificationsProcess,
    step: 'create',
    events: [
      ruleOf(ids.org, { eventType: 'ai_review.failed' }),
      ruleOf(noOrganisation, { orgId: null, eventType: 'ai_review.failed', subscriptionId: ids.subscription }),
      ruleOf(ids.org, { eventType: 'ai_review.failed', subscriptionId: ids.claim, enabled: false }),
      onReviewChannel(reviewPublicFact('ai_review.failed')),
      onReviewChannel(reviewPublicFact('ai_review.completed')),
    ],
  },
  // Two rows with one key would stop the list for every organisation.
  {
    process: notificationsProcess,
    step: 'create',
    events: [
      ruleOf(noOrganisation, {
        orgId: null,
        eventType: 'visit.booked',
        recipientRule: { type: 'slackChannel', channel: 'C0123' },
      }),
      ofForeignEvent(
        foreignFact('ForeignEventReceived', {
          eventType: 'visit.booked',
          orgId: noOrganisation,
          organisationIds: [noOrganisation],
        }),
      ),
    ],
  },
  {
    process: assessmentsProcess,
    step: 'follow-ended-task',
    events: [openedTask, ownTask(taskFact('HumanReviewTaskDecided'))],
  },
  { process: webhooksProcess, step: 'deliver', events: [subscribed, completed] },
  {
    process: webhooksProcess,
    step: 'redeliver',
    events: [
      subscribed,
      inStream(webhookRecoveries.of(ids.org, recovery).stream)(recoveryFact('WebhookRecoveryRequested')),
    ],
  },
  {
    process: webhooksProcess,
    step: 'watch',
    events: [subscribed, completed, delivery(deliveryFact('WebhookDeliveryAttemptFailed'))],
  },
  {
    process: webhooksProcess,
    step: 'disable',
    events: [subscribed, completed, delivery(deliveryFact('WebhookDeliveryFailed', { statusCode: 410 }))],
  },
  {
    process: webhooksProcess,
    step: 'destroy-secrets',
    events: [subscribed, subscriptions(subscriptionFact('WebhookSubscriptionDeleted'))],
  },
  {
    process: webhooksProcess,
    step: 'cancel',
    events: [subscribed, completed, subscriptions(subscriptionFact('WebhookSubscriptionDisabled'))],
  },
  {
    process: workflowsProcess,
    step: 'follow',
    events: [
      started,
      instance(instanceFact('WorkflowAssessmentRequested')),
      inStream(assessmentChannelStream.name)(assessmentPublicFact('assessment.completed')),
    ],
  },
  { process: workflowsProcess, step: 'cancel', events: [started, closedCase] },
  { process: workflowsProcess, step: 'cancel', events: [closedCase, started] },
])('Postgres selects the rows of $process.name for $step as the unit tests compute them', async (example) => {
  const { process, step, events } = example
  const rows = await rowsAfter(process.list, recorded(events))
  expect(rows['todo']).toContainEqual(expect.objectContaining({ step }))
  expect(rows).toEqual(rowsInMemory(process.list, recorded(events)))
})
