import { accessLogs } from '../../streams/access-log/aggregate.ts'
import { accessMonths } from '../../streams/access-month/aggregate.ts'
import { aiReviewAccesses } from '../../streams/ai-review-access/aggregate.ts'
import { aiReviewBudgets } from '../../streams/ai-review-budget/aggregate.ts'
import { aiReviewPlaces } from '../../streams/ai-review-places/aggregate.ts'
import { aiReviewSlots } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { auditExports } from '../../streams/audit-export/aggregate.ts'
import { operations } from '../../streams/operations/aggregate.ts'
import { backups } from '../../streams/backups/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { consentTypes } from '../../streams/consent-type/aggregate.ts'
import { consents } from '../../streams/consent/aggregate.ts'
import { humanReviewPolicies } from '../../streams/human-review-policy/aggregate.ts'
import { humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import { foreignEvents } from '../../streams/foreign-event/aggregate.ts'
import { images } from '../../streams/image/aggregate.ts'
import { logSeals } from '../../streams/log-seals/aggregate.ts'
import { mintedIds } from '../../engine/commands/minted-id/aggregate.ts'
import { notifications } from '../../streams/notification/aggregate.ts'
import { notificationPreferences } from '../../streams/notification-preferences/aggregate.ts'
import { notificationQueueRequests } from '../../streams/notification-queue-request/aggregate.ts'
import { notificationSubscriptions } from '../../streams/notification-subscription/aggregate.ts'
import { notificationTemplates } from '../../streams/notification-template/aggregate.ts'
import { oauthClients } from '../../streams/oauth-client/aggregate.ts'
import { oauthScopes } from '../../streams/oauth-scope/aggregate.ts'
import { organisationRoles } from '../../streams/organisation-roles/aggregate.ts'
import { patientErasures } from '../../streams/patient-erasure/aggregate.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import { permissions } from '../../streams/permission/aggregate.ts'
import { projections } from '../../streams/projection/aggregate.ts'
import { eventKeys } from '../../streams/event-key/aggregate.ts'
import { tokenKeys } from '../../streams/token-key/aggregate.ts'
import { writeProbes } from '../../streams/write-probe/aggregate.ts'
import { reservations } from '../../engine/commands/reservation/aggregate.ts'
import { suppressions } from '../../streams/suppression/aggregate.ts'
import { users } from '../../streams/user/aggregate.ts'
import { webhookDeliveries } from '../../streams/webhook-delivery/aggregate.ts'
import { webhookRecoveries } from '../../streams/webhook-recovery/aggregate.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'
import { workflowDefinitions } from '../../streams/workflow-definition/aggregate.ts'
import { workflowInstances } from '../../streams/workflow-instance/aggregate.ts'
import { accessLogFact, accessLogIds, accessMonthFact, auditPublicFact } from '../streams/access-log-facts.ts'
import { exportFact } from '../streams/audit-export-facts.ts'
import { erasureFact } from '../streams/patient-erasure-facts.ts'
import { accessFact, budgetFact, givenImages, placesFact, reviewFact, slotFact } from '../streams/ai-review-facts.ts'
import {
  assessmentPublicFact,
  clinicalPublicFact,
  consentPublicFact,
  reviewPublicFact,
  webhookPublicFact,
} from '../streams/channel-facts.ts'
import * as facts from '../streams/facts.ts'
import { humanReviewPublicFact, policyFact, taskFact, taskId } from '../streams/human-review-facts.ts'
import { foreignFact, foreignRecord } from '../streams/foreign-facts.ts'
import { imageFact, ownImage } from '../streams/image-facts.ts'
import {
  notificationFact,
  notificationIds,
  notificationPublicFact,
  queueRequestFact,
} from '../streams/notification-facts.ts'
import { preferencesFact, ruleFact, settingIds, suppressionFact } from '../streams/notification-settings-facts.ts'
import { ownTemplate, templateFact } from '../streams/notification-template-facts.ts'
import { completeUser, permissionFact, roleFact, userFact, userIds, usersPublicFact } from '../streams/user-facts.ts'
import { deliveryFact, recovery, recoveryFact, subscriptionFact } from '../streams/webhook-facts.ts'
import { definitionFact, instanceFact, lesionSteps, workflowPublicFact } from '../streams/workflow-facts.ts'

const { ids } = facts

/** The streams of the story in `facts.ts`. A channel has one stream, which is its category. */
const ownedStreams = [
  accessLogs.of(ids.org, '2026-03-01', accessLogIds.process),
  accessMonths.of('2026-03'),
  aiReviews.of(ids.org, ids.review),
  aiReviewAccesses.of(ids.org, ids.review),
  aiReviewBudgets.of(ids.org, '2026-03-01'),
  aiReviewPlaces.of(ids.org),
  aiReviewSlots.of(ids.org, ids.case, ids.product),
  assessments.of(ids.org, ids.assessment),
  auditExports.of(ids.org, ids.patient),
  cases.of(ids.org, ids.case),
  consentTypes.of(ids.org, ids.consentType),
  consents.of(ids.org, ids.patient),
  humanReviewPolicies.of(ids.org),
  humanReviewTasks.of(ids.org, taskId),
  foreignEvents.of(foreignRecord),
  images.of(ids.org, ownImage),
  mintedIds.of(ids.org, 'd'.repeat(64)),
  notifications.of(ids.org, notificationIds.notification),
  notificationPreferences.of(userIds.user),
  notificationQueueRequests.of(ids.org, notificationIds.queueRequest),
  notificationSubscriptions.of(ids.org, settingIds.rule),
  notificationTemplates.of(ids.org, ownTemplate),
  oauthClients.of(ids.client),
  oauthScopes.of(),
  organisationRoles.of(ids.org),
  patientErasures.of(ids.org, ids.patient),
  patients.of(ids.org, ids.patient),
  permissions.of(),
  projections.of('patients'),
  writeProbes.of(ids.claim),
  reservations.of(ids.org, 'e'.repeat(64)),
  suppressions.of(ids.org, settingIds.suppression),
  eventKeys.of('x1Zk-9_Q'),
  tokenKeys.of('NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'),
  users.of(userIds.user),
  webhookDeliveries.of(ids.org, ids.delivery),
  webhookRecoveries.of(ids.org, recovery),
  webhookSubscriptions.of(ids.org),
  workflowDefinitions.of(ids.org, ids.workflowDefinition),
  workflowInstances.of(ids.org, ids.workflowInstance),
].map(({ stream }) => stream)

/** The data of an event of each type, as the tests of that type use it. PHI members are not null. */
const dataOfTypes = new Map<string, object>(
  [
    accessLogFact,
    auditPublicFact,
    erasureFact,
    exportFact,
    accessMonthFact,
    facts.assessmentFact,
    facts.caseFact,
    facts.backupFact,
    facts.operationsFact,
    facts.clientFact,
    facts.consentFact,
    facts.consentTypeFact,
    facts.logSealFact,
    facts.mintedIdFact,
    facts.patientFact,
    facts.projectionFact,
    facts.reservationFact,
    facts.eventKeyFact,
    facts.tokenKeyFact,
    facts.writeProbeFact,
    facts.scopeFact,
    foreignFact,
    imageFact,
    policyFact,
    taskFact,
    humanReviewPublicFact,
    notificationFact,
    notificationPublicFact,
    queueRequestFact,
    templateFact,
    accessFact,
    budgetFact,
    placesFact,
    slotFact,
    reviewFact,
    deliveryFact,
    recoveryFact,
    subscriptionFact,
    assessmentPublicFact,
    clinicalPublicFact,
    consentPublicFact,
    reviewPublicFact,
    webhookPublicFact,
    permissionFact,
    preferencesFact,
    ruleFact,
    suppressionFact,
    roleFact,
    userFact,
    usersPublicFact,
    definitionFact,
    instanceFact,
    workflowPublicFact,
  ].flatMap(({ usual }) => Object.entries(usual)),
)
for (const { type, data } of [
  facts.caseFact('CaseOpened', {
    customFields: { ward: 'canary-field' },
    workflow: {
      workflowInstanceId: ids.workflowInstance,
      workflowDefinitionId: ids.workflowDefinition,
      definitionVersion: 1,
    },
  }),
  facts.caseFact('CaseDiagnosisRecorded', {
    source: 'clinician',
    taskId: ids.task,
    icd10: { code: null, term: null },
    snomed: { code: null, term: null },
    category: null,
    patientId: ids.patient,
    correction: {
      icd10: { code: 'canary-code', term: 'canary-term' },
      snomed: { code: 'canary-snomed', term: 'canary-snomed-term' },
      category: 'canary-category',
    },
  }),
  // Conditions and values keep the order in which they were given.
  definitionFact('WorkflowDefinitionPublished', {
    steps: lesionSteps.map((given) =>
      given.kind === 'output'
        ? { ...given, config: { values: { age: 'intake.answers.age' } } }
        : { ...given, next: given.next.map(({ step_id }) => ({ step_id })) },
    ),
  }),
  deliveryFact('WebhookDeliveryAttempted', { shown: { patientId: ids.patient, categories: ['images', 'results'] } }),
  slotFact('AiReviewSlotClaimed', givenImages),
  reviewFact('AiReviewRequested', givenImages),
  reviewFact('AiReviewStarted', { addresses: givenImages.addresses }),
  completeUser,
  userFact('UserChanged', { patientAccount: completeUser.data.patientAccount }),
])
  dataOfTypes.set(type, data)

/** A channel, the seals of the log, the backups and the operations have one stream, with the name of the category. */
function isItsOwnStream(category: string): boolean {
  return category.includes('.') || [logSeals, backups, operations].some((one) => one.category === category)
}

/** What a golden file of the newest version of a type is written from. */
export function goldenFact(type: string): { readonly stream: string; readonly decoded: object } {
  const decoded = dataOfTypes.get(type)
  const category = catalogue.entry(type)?.category ?? type
  if (decoded === undefined) throw new Error(`the tests have no fact of ${type}: add one to test/streams`)
  const stream = isItsOwnStream(category) ? category : ownedStreams.find((name) => name.startsWith(`${category}-`))
  if (stream === undefined) throw new Error(`no stream of category ${category}: add one to golden-facts.ts`)
  return { stream, decoded }
}
