import { readdir, readFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toDiagnosisRecord, toFindingRecord } from '../../contracts/clinical/findings.ts'
import type { Pool } from '../../platform/database/database.ts'
import { createCursors, pageRequest, type CursorPlace, type PageRows } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import * as reviews from '../../read-api/ai-review/queries.ts'
import * as assessmentRoutes from '../../read-api/assessments/routes.ts'
import * as audit from '../../read-api/audit/access-queries.ts'
import { getExport } from '../../read-api/audit/export-route.ts'
import * as auth from '../../read-api/auth/queries.ts'
import * as clinical from '../../read-api/clinical/queries.ts'
import * as consent from '../../read-api/consent/queries.ts'
import { listAgreement } from '../../read-api/human-review/agreement.ts'
import * as humanReview from '../../read-api/human-review/queries.ts'
import * as imageQueries from '../../read-api/images/queries.ts'
import * as settings from '../../read-api/notifications/setting-queries.ts'
import * as templates from '../../read-api/notifications/template-queries.ts'
import * as notificationQueries from '../../read-api/notifications/queries.ts'
import * as userQueries from '../../read-api/users/queries.ts'
import * as webhooks from '../../read-api/webhooks/queries.ts'
import * as workflows from '../../read-api/workflows/queries.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { consentTypes } from '../../streams/consent-type/aggregate.ts'
import { humanReviewPolicies } from '../../streams/human-review-policy/aggregate.ts'
import { humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import { images } from '../../streams/image/aggregate.ts'
import { oauthClients } from '../../streams/oauth-client/aggregate.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import { users } from '../../streams/user/aggregate.ts'
import { workflowDefinitions } from '../../streams/workflow-definition/aggregate.ts'
import { workflowInstances } from '../../streams/workflow-instance/aggregate.ts'
import type { GivenEvent } from '../support/given-projector.ts'
import { accessLogFact, accessLogIds, ofAccessLog } from '../streams/access-log-facts.ts'
import { exportFact, exportId, ofExports } from '../streams/audit-export-facts.ts'
import { reviewFact } from '../streams/ai-review-facts.ts'
import {
  assessmentFact,
  at,
  caseFact,
  clientFact,
  consentFact,
  consentTypeFact,
  ids,
  patientFact,
} from '../streams/facts.ts'
import { ownTask, policyFact, taskFact, taskId } from '../streams/human-review-facts.ts'
import { imageFact, ownImage } from '../streams/image-facts.ts'
import { preferencesFact, ruleFact, settingIds, suppressionFact } from '../streams/notification-settings-facts.ts'
import { ofTemplate, ownTemplate, templateFact } from '../streams/notification-template-facts.ts'
import { notificationFact, ownNotification, notificationIds, trigger } from '../streams/notification-facts.ts'
import { ofRoles, ofUser, patientAccount, roleFact, userFact, userIds } from '../streams/user-facts.ts'
import { deliveryFact, subscriptionFact } from '../streams/webhook-facts.ts'
import { definitionFact, instanceFact } from '../streams/workflow-facts.ts'
import { claimOf, openReadTables, org, otherOrg, problemOf, type ReadTables } from './read-tables.ts'

const numbered = (group: string, number: number) => `00000000-0000-4000-9${group}00-${String(number).padStart(12, '0')}`
const count = 7
const each = <Value>(make: (number: number) => Value): Value[] =>
  Array.from({ length: count }, (_, number) => make(number))
/** Two records each have the same instant, so that only the id orders them. */
const paired = (number: number) => at(Math.floor(number / 2))

const manyDecisions = each((number) => ({
  ...consentFact('ConsentRecorded', {
    consentId: numbered('6', number),
    patientId: ids.otherPatient,
    recordedAt: paired(number),
  }),
  stream: 'other consents',
}))

const manyClients = each((number) => {
  const clientId = numbered('c', number)
  const fact = clientFact('OauthClientRegistered', { clientId, registeredAt: paired(number) })
  return { ...fact, stream: oauthClients.of(clientId).stream }
})

const manyRoles = each((number) =>
  ofRoles(
    roleFact('RoleCreated', { roleId: numbered('e', number), name: `role ${number}`, createdAt: paired(number) }),
  ),
)

/** Two patients in each second one, by two clients, and the contact of the user in the last one. */
const manyAccesses = each((number) =>
  ofAccessLog(
    accessLogFact('AccessRecorded', {
      accessId: numbered('c', number),
      at: paired(number),
      patientIds: number % 2 === 0 ? [ids.otherPatient] : [ids.otherPatient, ids.patient],
      clientId: `client-${number % 2}`,
      categories: number % 2 === 0 ? ['record'] : ['images', 'results'],
      subjectUserId: number === count - 1 ? userIds.user : null,
    }),
  ),
)

/** Members of the organisation. */
const manyUsers = each((number) => {
  const userId = numbered('d', number)
  const of = { userId, membershipId: numbered('f', number) }
  const stream = users.of(userId).stream
  return [
    ofRoles(roleFact('MembershipRoleAssigned', of)),
    { ...userFact('UserCreated', { userId, externalId: userId, createdAt: paired(number) }), stream },
    { ...userFact('UserMembershipAdded', of), stream },
  ]
}).flat()

const formerMember = { userId: numbered('d', count), externalId: 'former' }

const manyTemplates = each((number) => {
  const templateId = numbered('0', number)
  const fact = templateFact('NotificationTemplateCreated', { templateId, locale: `x-${number}` })
  return { ...fact, stream: `template ${number}` }
})

/** All have failed. */
const manyNotifications = each((number) => {
  const notificationId = numbered('9', number)
  const attemptId = numbered('0', number)
  const ended = { attemptId, attempt: 1, response: null, latencyMs: 1 }
  return [
    notificationFact('NotificationCreated', {
      notificationId,
      trigger: { ...trigger, eventId: numbered('e', number), receivedAt: paired(number) },
      createdAt: paired(number),
    }),
    notificationFact('NotificationAttemptStarted', { notificationId, attemptId }),
    notificationFact('NotificationFailed', { notificationId, ended, failedAt: paired(number) }),
  ].map((event) => ({ ...event, stream: `notification-${number}` }))
}).flat()

const manySettings = each((number) => [
  {
    ...ruleFact('NotificationSubscriptionCreated', {
      subscriptionId: numbered('1', number),
      createdAt: paired(number),
    }),
    stream: `rule ${number}`,
  },
  {
    ...suppressionFact('SuppressionAdded', { suppressionId: numbered('2', number), addedAt: paired(number) }),
    stream: `suppression ${number}`,
  },
]).flat()

/** Definitions, and an instance of each. The first instance waits at a step and has an output. */
const manyWorkflows = each((number) => {
  const [workflowDefinitionId, workflowInstanceId] = [numbered('0', number), numbered('5', number)]
  const published = definitionFact('WorkflowDefinitionPublished', {
    workflowDefinitionId,
    name: `workflow ${number}`,
    publishedAt: paired(number),
  })
  const started = instanceFact('WorkflowInstanceStarted', {
    workflowDefinitionId,
    workflowInstanceId,
    caseId: numbered('5', number % 2),
    startedAt: paired(number),
  })
  const waiting = [
    instanceFact('WorkflowStepAdvanced', { workflowInstanceId }),
    instanceFact('WorkflowStepParked', { workflowInstanceId }),
  ]
  const { stream } = workflowInstances.of(ids.org, workflowInstanceId)
  return [
    { ...published, stream: workflowDefinitions.of(ids.org, workflowDefinitionId).stream },
    ...[started, ...(number === 0 ? waiting : [])].map((event) => ({ ...event, stream })),
  ]
}).flat()

/** A decided task, and open ones. */
const manyTasks = [
  { ...policyFact('HumanReviewPolicySet'), stream: humanReviewPolicies.of(ids.org).stream },
  ...[
    taskFact('HumanReviewTaskOpened'),
    taskFact('HumanReviewTaskClaimed'),
    taskFact('HumanReviewOpinionGiven'),
    taskFact('HumanReviewTaskDecided'),
  ].map(ownTask),
  ...each((number) => {
    const of = { taskId: numbered('a', number), openedAt: paired(number) }
    return {
      ...taskFact('HumanReviewTaskOpened', of),
      stream: humanReviewTasks.of(ids.org, numbered('a', number)).stream,
    }
  }),
]

/** Each split of one text belongs to another patient. */
const splitText = 'ward|1|2|3|4|5|6|7'
const splitAt = (number: number) => {
  const parts = splitText.split('|')
  return { scheme: parts.slice(0, number + 1).join('|'), value: parts.slice(number + 1).join('|') }
}

const typeStream = consentTypes.of(ids.org, ids.consentType).stream
const events: GivenEvent[] = [
  ...manyClients,
  ...[patientFact('PatientRegistered'), patientFact('PatientCorrected')].map((event) => ({
    ...event,
    stream: patients.of(ids.org, ids.patient).stream,
  })),
  ...each((number) => ({
    ...patientFact('PatientRegistered', {
      patientId: numbered('7', number),
      person: { givenName: 'Ada', familyName: 'Canary', dob: '1970-02-28', identifiers: [splitAt(number)] },
      registeredAt: paired(number),
    }),
    stream: `patient ${number}`,
  })),
  ...[
    caseFact('CaseOpened'),
    caseFact('CaseFindingRecorded'),
    caseFact('CaseDiagnosisRecorded'),
    caseFact('CaseDiagnosisSuperseded'),
  ].map((event) => ({
    ...event,
    stream: cases.of(ids.org, ids.case).stream,
  })),
  ...each((number) => ({
    ...caseFact('CaseOpened', { caseId: numbered('8', number), patientId: ids.otherPatient, openedAt: paired(number) }),
    stream: cases.of(ids.org, numbered('8', number)).stream,
  })),
  // All in one case: two reviews at the same instant, and two lesions with the same number.
  ...each((number) => {
    const of = {
      caseId: numbered('8', 0),
      findingId: numbered('9', number),
      lesionNumber: number >> 2,
      recordedAt: paired(number),
      coordinates: null,
    }
    return { ...caseFact('CaseFindingRecorded', of), stream: cases.of(ids.org, numbered('8', 0)).stream }
  }),
  ...each((number) => {
    const of = {
      caseId: numbered('8', 0),
      diagnosisId: numbered('a', number),
      lesionNumber: number >> 2,
      recordedAt: paired(number),
    }
    return { ...caseFact('CaseDiagnosisRecorded', of), stream: cases.of(ids.org, numbered('8', 0)).stream }
  }),
  ...[
    assessmentFact('AssessmentRequested'),
    assessmentFact('AssessmentSubmitted'),
    assessmentFact('AssessmentCompleted'),
  ].map((event) => ({
    ...event,
    stream: assessments.of(ids.org, ids.assessment).stream,
  })),
  ...[imageFact('ImageDeclared', { declaredAt: at(3) }), imageFact('ImageReceived')].map((event) => ({
    ...event,
    stream: images.of(ids.org, ownImage).stream,
  })),
  // An image of another patient, without a case.
  ...each((number) => ({
    ...imageFact('ImageDeclared', {
      imageId: numbered('b', number),
      patientId: ids.otherPatient,
      caseId: null,
      declaredAt: paired(number),
    }),
    stream: images.of(ids.org, numbered('b', number)).stream,
  })),
  { ...consentTypeFact('ConsentTypeCreated'), stream: typeStream },
  { ...consentTypeFact('ConsentTextVersionPublished'), stream: typeStream },
  ...each((number) => ({
    ...consentTypeFact('ConsentTextVersionPublished', {
      textVersionId: numbered('1', number),
      locale: `x-${number}`,
      createdAt: paired(number),
    }),
    stream: typeStream,
  })),
  ...each((number) => ({
    ...consentTypeFact('ConsentTypeCreated', { consentTypeId: numbered('2', number), code: `code_${number}` }),
    stream: consentTypes.of(ids.org, numbered('2', number)).stream,
  })),
  ...each((number) =>
    subscriptionFact('WebhookSubscribed', { subscriptionId: numbered('3', number), createdAt: paired(number) }),
  ),
  ...each((number) => {
    const named = {
      deliveryId: numbered('7', number),
      subscriptionId: numbered('3', 0),
      eventId: numbered('8', number),
    }
    return [
      deliveryFact('WebhookDeliveryScheduled', { ...named, occurredAt: paired(number) }),
      deliveryFact('WebhookDeliveryAttempted', { deliveryId: named.deliveryId }),
      ...(number === 0 ? [] : [deliveryFact('WebhookDeliveryFailed', { ...named, attempt: 1 })]),
    ].map((event) => ({ ...event, stream: `delivery-${number}` }))
  }).flat(),
  ...[
    reviewFact('AiReviewRequested'),
    reviewFact('AiReviewProviderCaseCreated'),
    reviewFact('AiReviewProcessingAccepted'),
    reviewFact('AiReviewCompleted'),
  ].map((event) => ({ ...event, stream: 'review' })),
  ...each((number) => ({
    ...reviewFact('AiReviewRequested', {
      aiReviewId: numbered('4', number),
      caseId: numbered('5', number % 2),
      requestedAt: paired(number),
    }),
    stream: `review-${number}`,
  })),
  ofRoles(roleFact('RoleCreated')),
  ofRoles(roleFact('MembershipRoleAssigned')),
  ofUser(userFact('UserCreated', { patientAccount: patientAccount(ids.patient) })),
  ofUser(userFact('UserMembershipAdded')),
  { ...userFact('UserCreated', { ...formerMember, patientAccount: patientAccount(ids.patient) }), stream: 'former' },
  ofTemplate(templateFact('NotificationTemplateCreated')),
  ...manyTemplates,
  { ...ruleFact('NotificationSubscriptionCreated'), stream: 'rule' },
  { ...suppressionFact('SuppressionAdded'), stream: 'suppression' },
  { ...preferencesFact('NotificationPreferencesSet'), stream: 'preferences' },
  ...manySettings,
  ...manyRoles,
  ...manyUsers,
  ...manyWorkflows,
  ...manyTasks,
  { ...consentFact('ConsentRecorded'), stream: 'consent' },
  ...manyDecisions,
  ownNotification(notificationFact('NotificationCreated')),
  ownNotification(notificationFact('NotificationQueued')),
  ...manyNotifications,
  ...manyAccesses,
  ofExports(exportFact('AuditExportRequested')),
  claimOf(ids.org, ids.patient, { scheme: 'mrn', value: 'given-up' }),
]

let tables: ReadTables
let pool: Pool
/** For queries of personal members. */
let reads: ReadTables
beforeAll(async () => {
  tables = await openReadTables(events)
  pool = tables.pool
  reads = tables
})
afterAll(() => tables.close())

const first = { after: null, limit: 50 }
const since = at(0)

/** Every query by its exported name, for a record that the first organisation has. */
const queries: Readonly<Record<string, (tenant: TenantId) => Promise<unknown>>> = {
  getExport: (tenant) => getExport(pool, tenant, exportId),
  listAccesses: (tenant) => audit.listAccesses(reads, tenant, { patientId: ids.otherPatient, since }, first),
  listOwnAccesses: (tenant) =>
    audit.listOwnAccesses(reads, tenant, { userId: userIds.user, patientId: ids.otherPatient, since }, first),
  listClients: (tenant) => auth.listClients(pool, tenant, first),
  getClient: (tenant) => auth.getClient(pool, tenant, numbered('c', 0)),
  getUser: (tenant) => userQueries.getUser(reads, tenant, userIds.user),
  getUserByExternalId: (tenant) =>
    userQueries.getUserByExternalId(reads, tenant, userFact('UserCreated').data.externalId),
  getUserOfPatient: (tenant) => userQueries.getUserOfPatient(reads, tenant, ids.patient),
  listUsers: (tenant) => userQueries.listUsers(reads, tenant, { roleId: userIds.role }, first),
  getRole: (tenant) => userQueries.getRole(pool, tenant, userIds.role),
  listRoles: (tenant) => userQueries.listRoles(pool, tenant, first),
  listNotificationSubscriptions: (tenant) =>
    settings.listNotificationSubscriptions(pool, tenant, { isOwnOnly: false }, first),
  getNotificationSubscription: (tenant) => settings.getNotificationSubscription(pool, tenant, settingIds.rule),
  listSuppressions: (tenant) => settings.listSuppressions(reads, tenant, { isOwnOnly: false }, first),
  getSuppression: (tenant) => settings.getSuppression(reads, tenant, settingIds.suppression),
  getPreferences: (tenant) => settings.getPreferences(pool, tenant, userIds.user),
  listTemplates: (tenant) => templates.listTemplates(pool, tenant, { isOwnOnly: false }, first),
  listTemplateVariants: (tenant) => templates.listTemplateVariants(pool, tenant, 'assessment.completed'),
  getTemplate: (tenant) => templates.getTemplate(pool, tenant, ownTemplate),
  getAssessment: (tenant) => assessmentRoutes.getAssessment(reads, tenant, ids.assessment),
  getPatient: (tenant) => clinical.getPatient(reads, tenant, ids.patient),
  listPatients: (tenant) => clinical.listPatients(reads, tenant, 'mrn|canary-17', first),
  getCase: (tenant) => clinical.getCase(reads, tenant, ids.case),
  listCases: (tenant) => clinical.listCases(reads, tenant, { patientId: ids.patient, status: 'open' }, first),
  listFindings: (tenant) => clinical.listFindings(pool, tenant, ids.case, first),
  listDiagnoses: (tenant) => clinical.listDiagnoses(reads, tenant, ids.case, first),
  getImage: (tenant) => imageQueries.getImage(pool, tenant, ownImage),
  listImages: (tenant) => imageQueries.listImages(pool, tenant, { caseId: ids.case }, first),
  listConsentTypes: (tenant) => consent.listConsentTypes(pool, tenant, first),
  getConsentType: (tenant) => consent.getConsentType(pool, tenant, ids.consentType),
  getConsentTypeByCode: (tenant) => consent.getConsentTypeByCode(pool, tenant, 'ai_analysis'),
  latestTextVersions: (tenant) => consent.latestTextVersions(pool, tenant, ids.consentType, 50),
  listTextVersions: (tenant) => consent.listTextVersions(pool, tenant, ids.consentType, first),
  latestDecisions: (tenant) => consent.latestDecisions(pool, tenant, ids.patient, ['ai_analysis']),
  listDecisionsInForce: (tenant) =>
    consent.listDecisionsInForce(pool, tenant, ids.patient, { asOf: null, now: new Date(at(60)) }, first),
  listDecisions: (tenant) => consent.listDecisions(reads, tenant, ids.patient, { page: first }),
  getDecisionWithLocale: (tenant) => consent.getDecisionWithLocale(reads, tenant, ids.patient, ids.consent),
  getDecision: (tenant) => consent.getDecision(reads, tenant, ids.patient, ids.consent),
  listNotifications: (tenant) => notificationQueries.listNotifications(reads, tenant, {}, first),
  getNotification: (tenant) => notificationQueries.getNotification(reads, tenant, notificationIds.notification),
  listFailures: (tenant) => notificationQueries.listFailures(pool, tenant, at(0), first),
  listFailuresOfClass: (tenant) =>
    notificationQueries.listFailuresOfClass(pool, tenant, { errorCode: 'provider_4xx', since: at(0), erased: [] }, 50),
  listStuck: (tenant) =>
    notificationQueries.listStuck(pool, tenant, { dueBefore: new Date(at(60)), now: new Date(at(60)) }, 50),
  listInboxEntries: (tenant) => notificationQueries.listInboxEntries(pool, tenant, { eventId: ids.event }, first),
  getWorkflowDefinition: (tenant) => workflows.getWorkflowDefinition(pool, tenant, numbered('0', 0)),
  getWorkflowVersion: (tenant) => workflows.getWorkflowVersion(pool, tenant, numbered('0', 0), 1),
  listWorkflowDefinitions: (tenant) => workflows.listWorkflowDefinitions(pool, tenant, first),
  getWorkflowInstance: (tenant) => workflows.getWorkflowInstance(reads, tenant, numbered('5', 0)),
  listWorkflowInstances: (tenant) => workflows.listWorkflowInstances(pool, tenant, {}, first),
  latestPolicy: (tenant) => humanReview.latestPolicy(pool, tenant),
  getTask: (tenant) => humanReview.getTask(reads, tenant, [ids.product], taskId),
  listTasks: (tenant) => humanReview.listTasks(reads, tenant, null, { now: new Date(at(60)) }, first),
  listAgreement: (tenant) => listAgreement(pool, tenant, null, { from: new Date(at(0)), to: new Date(at(120)) }),
  listReviews: (tenant) => reviews.listReviews(pool, tenant, {}, first),
  getReview: (tenant) => reviews.getReview(pool, tenant, ids.review),
  listSubscriptions: (tenant) => webhooks.listSubscriptions(pool, tenant, first),
  getSubscription: (tenant) => webhooks.getSubscription(pool, tenant, numbered('3', 0)),
  listDeliveries: (tenant) =>
    webhooks.listDeliveries(pool, tenant, numbered('3', 0), {}, { ...first, firstDelayMs: 0 }),
  getDelivery: (tenant) => webhooks.getDelivery(pool, tenant, numbered('3', 0), numbered('7', 0), 0),
  getDueDelivery: (tenant) => webhooks.getDueDelivery(pool, tenant, numbered('3', 0), numbered('7', 0), 0),
  listUndelivered: (tenant) =>
    webhooks.listUndelivered(pool, tenant, numbered('3', 0), { since: at(0), until: at(60) }, 50),
}

describe('every query', () => {
  it('is in this test', async () => {
    const folder = new URL('../../read-api/', import.meta.url)
    const files = (await readdir(folder, { recursive: true })).filter(
      (file) => file.includes('/') && file.endsWith('.ts'),
    )
    const exported = (await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')))).flatMap((text) =>
      [...text.matchAll(/^export (?:async function|const) ((?:get|list|latest)\w+)/gm)].map(([, name = '']) => name),
    )
    expect(exported.toSorted()).toEqual(Object.keys(queries).toSorted())
  })

  it.each(Object.entries(queries))(
    '%s finds records of the organisation, and nothing for another organisation',
    async (name, query) => {
      const own = await query(org)
      const sizeOf = (found: unknown): number => {
        if (typeof found === 'object' && found !== null && 'rows' in found) return sizeOf(found.rows)
        return Array.isArray(found) ? found.length : found instanceof Map ? found.size : found === undefined ? 0 : 1
      }
      expect(sizeOf(own)).toBeGreaterThan(0)
      if (name.startsWith('get')) expect(await problemOf(query(otherOrg))).toBe('not-found')
      else expect(sizeOf(await query(otherOrg))).toBe(0)
    },
  )
})

it('finds the accounts that name a patient, also those without a membership', async () => {
  const found = await userQueries.idsOfPatient(pool, ids.patient)
  expect(found.toSorted()).toEqual([userIds.user, formerMember.userId].toSorted())
})

describe('one record', () => {
  it('of an assessment contains its images in order, and its result', async () => {
    const view = await assessmentRoutes.getAssessment(reads, org, ids.assessment.toUpperCase())
    const { aiProvider: ai_provider, outcome, completedAt: completed_at } = assessmentFact('AssessmentCompleted').data
    expect(view).toMatchObject({
      id: ids.assessment,
      status: 'completed',
      patientId: ids.patient,
      caseId: ids.case,
      externalReference: 'canary-reference',
      failureCode: null,
    })
    expect(view.result).toEqual({ ai_provider, outcome, completed_at })
    expect(view.images.map(({ imageId, captureType }) => [imageId, captureType])).toEqual([
      [ids.image, 'dermoscopic'],
      [ids.secondImage, 'other'],
    ])
  })

  it('of a patient and of a case contains the registered data and the revision', async () => {
    expect(await clinical.getPatient(reads, org, ids.patient)).toEqual({
      patientId: ids.patient,
      orgId: ids.org,
      person: patientFact('PatientCorrected').data.person,
      registeredAt: at(0),
      updatedAt: at(5),
      streamRevision: '1',
    })
    const opened = {
      caseId: ids.case,
      orgId: ids.org,
      patientId: ids.patient,
      productId: ids.product,
      externalReference: 'canary-reference',
      openedAt: at(0),
      status: 'open',
      workflowInstanceId: null,
      updatedAt: at(20),
    }
    expect(await clinical.getCase(reads, org, ids.case)).toEqual({ ...opened, streamRevision: '3' })
  })

  it('of an image contains the declared and the stored data, for images of assessments and single images', async () => {
    const { key: objectKey, sha256, bytes } = imageFact('ImageReceived').data.object
    const common = {
      orgId: ids.org,
      caseId: ids.case,
      patientId: ids.patient,
      isCollected: false,
      bodySiteId: ids.bodySite,
    }
    expect(await imageQueries.getImage(pool, org, ownImage.toUpperCase())).toEqual({
      ...common,
      imageId: ownImage,
      assessmentId: null,
      captureType: 'macroscopic',
      mimeType: 'image/jpeg',
      status: 'received',
      ownerId: ownImage,
      ordinal: 0,
      objectKey,
      sha256,
      bytes: String(bytes),
      width: 600,
      height: 400,
      createdAt: at(3),
      updatedAt: at(5),
      streamRevision: '1',
    })
    const second = assessmentFact('AssessmentSubmitted').data.images[1]
    expect(await imageQueries.getImage(pool, org, ids.secondImage)).toEqual({
      ...common,
      imageId: ids.secondImage,
      assessmentId: ids.assessment,
      captureType: 'other',
      mimeType: 'image/png',
      status: 'processed',
      ownerId: ids.assessment,
      ordinal: 1,
      objectKey: second?.object.key,
      sha256: second?.object.sha256,
      bytes: String(second?.object.bytes),
      width: null,
      height: null,
      createdAt: at(0),
      updatedAt: at(30),
      streamRevision: '2',
    })
    expect(await imageQueries.getImage(pool, org, numbered('b', 0))).toMatchObject({
      status: 'awaiting_upload',
      objectKey: null,
      caseId: null,
    })
  })

  it('of a finding and of a diagnosis contains every recorded member', async () => {
    const [finding] = (await clinical.listFindings(pool, org, ids.case, first)).rows.map(toFindingRecord)
    const [diagnosis] = (await clinical.listDiagnoses(reads, org, ids.case, first)).rows.map(toDiagnosisRecord)
    const { coordinates, bodySiteId } = caseFact('CaseFindingRecorded').data
    const { icd10, snomed, category } = caseFact('CaseDiagnosisRecorded').data
    const said = (record: unknown) => JSON.stringify(record)
    const asFinding = {
      id: ids.finding,
      case_id: ids.case,
      source: 'ai',
      ai_review_id: ids.review,
      lesion_number: 1,
      body_site_id: bodySiteId,
      coordinates,
      created_at: at(18),
    }
    expect(said(finding)).toBe(said(asFinding))
    expect(said(diagnosis)).toBe(
      said({
        id: ids.diagnosis,
        finding_id: ids.finding,
        source: 'ai',
        task_id: null,
        status: 'superseded',
        icd10,
        snomed,
        category,
        created_at: at(18),
      }),
    )
  })

  it('of a review contains images, result and lesions, with stable ids', async () => {
    const first = await reviews.getReview(pool, org, ids.review)
    expect(first).toEqual(await reviews.getReview(pool, org, ids.review))
    const { details } = first
    expect(details.images.map(({ clinicalImageId, imageQuality }) => [clinicalImageId, imageQuality])).toEqual([
      [ids.image, 'IMAGE_QUALITY_SUITABLE'],
      [ids.secondImage, null],
    ])
    expect(details.result).toMatchObject({
      aiReviewId: ids.review,
      lesionCount: 1,
      reportDate: at(17),
      createdAt: at(18),
    })
    expect(details.lesions).toEqual([
      expect.objectContaining({ lesionNumber: 1, category: 'Benign', createdAt: at(18) }),
    ])
    const pending = await reviews.getReview(pool, org, numbered('4', 0))
    expect(pending.details).toMatchObject({ status: 'pending', result: null, lesions: [] })
  })
})

interface List {
  readonly page: (after: CursorPlace | null, limit: number) => Promise<PageRows<object>>
  readonly placeOf: (row: object) => CursorPlace
}

function listOf<Row extends object>(
  page: (after: CursorPlace | null, limit: number) => Promise<PageRows<Row>>,
  placeOf: (row: Row) => CursorPlace,
): List {
  const places = new WeakMap<object, CursorPlace>()
  return {
    page: async (after, limit) => {
      const found = await page(after, limit)
      for (const row of found.rows) places.set(row, placeOf(row))
      return found
    },
    placeOf: (row) => places.get(row) ?? [],
  }
}

const lists: Readonly<Record<string, { readonly list: List; readonly size: number }>> = {
  'accesses to a patient': {
    list: listOf(
      (after, limit) => audit.listAccesses(reads, org, { patientId: ids.otherPatient, since }, { after, limit }),
      audit.placeOfAccess,
    ),
    size: count,
  },
  'accesses of a client': {
    list: listOf(
      (after, limit) => audit.listAccesses(reads, org, { clientId: 'client-0', since }, { after, limit }),
      audit.placeOfAccess,
    ),
    size: 4,
  },
  'accesses to an own record': {
    list: listOf(
      (after, limit) =>
        audit.listOwnAccesses(
          reads,
          org,
          { userId: userIds.user, patientId: ids.otherPatient, since },
          { after, limit },
        ),
      audit.placeOfAccess,
    ),
    size: count,
  },
  clients: {
    list: listOf((after, limit) => auth.listClients(pool, org, { after, limit }), auth.placeOfClient),
    size: count,
  },
  users: {
    list: listOf((after, limit) => userQueries.listUsers(reads, org, {}, { after, limit }), userQueries.placeOfUser),
    size: count + 1,
  },
  rules: {
    list: listOf(
      (after, limit) => settings.listNotificationSubscriptions(pool, org, { isOwnOnly: true }, { after, limit }),
      settings.placeOfRule,
    ),
    size: count + 1,
  },
  suppressions: {
    list: listOf(
      (after, limit) => settings.listSuppressions(reads, org, { isOwnOnly: false }, { after, limit }),
      settings.placeOfSuppression,
    ),
    size: count + 1,
  },
  templates: {
    list: listOf(
      (after, limit) => templates.listTemplates(pool, org, { isOwnOnly: false }, { after, limit }),
      templates.placeOfTemplate,
    ),
    size: count + 1,
  },
  roles: {
    list: listOf((after, limit) => userQueries.listRoles(pool, org, { after, limit }), userQueries.placeOfRole),
    size: count + 1,
  },
  cases: {
    list: listOf((after, limit) => clinical.listCases(reads, org, {}, { after, limit }), clinical.placeOfCase),
    size: count + 1,
  },
  'cases of a patient': {
    list: listOf(
      (after, limit) => clinical.listCases(reads, org, { patientId: ids.otherPatient }, { after, limit }),
      clinical.placeOfCase,
    ),
    size: count,
  },
  'cases of a status': {
    list: listOf(
      (after, limit) => clinical.listCases(reads, org, { status: 'open' }, { after, limit }),
      clinical.placeOfCase,
    ),
    size: count + 1,
  },
  images: {
    list: listOf((after, limit) => imageQueries.listImages(pool, org, {}, { after, limit }), imageQueries.placeOfImage),
    size: count + 3,
  },
  'images of a patient': {
    list: listOf(
      (after, limit) => imageQueries.listImages(pool, org, { patientId: ids.otherPatient }, { after, limit }),
      imageQueries.placeOfImage,
    ),
    size: count,
  },
  'images of an assessment': {
    list: listOf(
      (after, limit) => imageQueries.listImages(pool, org, { assessmentId: ids.assessment }, { after, limit }),
      imageQueries.placeOfImage,
    ),
    size: 2,
  },
  findings: {
    list: listOf(
      (after, limit) => clinical.listFindings(pool, org, numbered('8', 0), { after, limit }),
      clinical.placeOfFinding,
    ),
    size: count,
  },
  diagnoses: {
    list: listOf(
      (after, limit) => clinical.listDiagnoses(reads, org, numbered('8', 0), { after, limit }),
      clinical.placeOfDiagnosis,
    ),
    size: count,
  },
  'patients of an identifier': {
    list: listOf(
      (after, limit) => clinical.listPatients(reads, org, splitText, { after, limit }),
      clinical.placeOfPatient,
    ),
    size: count,
  },
  'consent types': {
    list: listOf((after, limit) => consent.listConsentTypes(pool, org, { after, limit }), consent.placeOfType),
    size: count + 1,
  },
  'text versions': {
    list: listOf(
      (after, limit) => consent.listTextVersions(pool, org, ids.consentType, { after, limit }),
      consent.placeOfTextVersion,
    ),
    size: count + 1,
  },
  decisions: {
    list: listOf(
      (after, limit) => consent.listDecisions(reads, org, ids.otherPatient, { page: { after, limit } }),
      consent.placeOfDecision,
    ),
    size: count,
  },
  subscriptions: {
    list: listOf(
      (after, limit) => webhooks.listSubscriptions(pool, org, { after, limit }),
      webhooks.placeOfSubscription,
    ),
    size: count,
  },
  deliveries: {
    list: listOf(
      (after, limit) => webhooks.listDeliveries(pool, org, numbered('3', 0), {}, { after, limit, firstDelayMs: 0 }),
      webhooks.placeOfDelivery,
    ),
    size: count,
  },
  'failed deliveries': {
    list: listOf(
      (after, limit) =>
        webhooks.listDeliveries(pool, org, numbered('3', 0), { status: 'failed' }, { after, limit, firstDelayMs: 0 }),
      webhooks.placeOfDelivery,
    ),
    size: count - 1,
  },
  notifications: {
    list: listOf(
      (after, limit) => notificationQueries.listNotifications(reads, org, {}, { after, limit }),
      notificationQueries.placeOfNotification,
    ),
    size: count + 1,
  },
  'failed notifications': {
    list: listOf(
      (after, limit) => notificationQueries.listFailures(pool, org, at(0), { after, limit }),
      notificationQueries.placeOfFailure,
    ),
    size: count,
  },
  'the event inbox': {
    list: listOf(
      (after, limit) => notificationQueries.listInboxEntries(pool, org, {}, { after, limit }),
      notificationQueries.placeOfInboxEntry,
    ),
    size: count + 1,
  },
  'workflow definitions': {
    list: listOf(
      (after, limit) => workflows.listWorkflowDefinitions(pool, org, { after, limit }),
      workflows.placeOfDefinition,
    ),
    size: count,
  },
  'workflow instances': {
    list: listOf(
      (after, limit) => workflows.listWorkflowInstances(pool, org, {}, { after, limit }),
      workflows.placeOfInstance,
    ),
    size: count,
  },
  'workflow instances of a case in a state': {
    list: listOf(
      (after, limit) =>
        workflows.listWorkflowInstances(pool, org, { caseId: numbered('5', 0), state: 'running' }, { after, limit }),
      workflows.placeOfInstance,
    ),
    size: 3,
  },
  'tasks of human review': {
    list: listOf(
      (after, limit) => humanReview.listTasks(reads, org, null, { now: new Date(at(60)) }, { after, limit }),
      humanReview.placeOfTask,
    ),
    size: count + 1,
  },
  'open tasks of products': {
    list: listOf(
      (after, limit) =>
        humanReview.listTasks(
          reads,
          org,
          [ids.product],
          { status: 'open', caseId: ids.case, now: new Date(at(60)) },
          { after, limit },
        ),
      humanReview.placeOfTask,
    ),
    size: count,
  },
  reviews: {
    list: listOf((after, limit) => reviews.listReviews(pool, org, {}, { after, limit }), reviews.placeOfReview),
    size: count + 1,
  },
  'reviews of a case': {
    list: listOf(
      (after, limit) => reviews.listReviews(pool, org, { caseId: numbered('5', 0) }, { after, limit }),
      reviews.placeOfReview,
    ),
    size: 4,
  },
}

describe.each(Object.entries(lists))('paging through %s', (name, { list, size }) => {
  const cursors = createCursors({ key: randomBytes(32) })
  const identity = { list: name, orgId: org, sort: 'test', filters: {} }

  it.each([1, 2, 3, 50])('by pages of %i shows every row once, in the order of the whole list', async (limit) => {
    const { rows: whole, hasMore: isCut } = await list.page(null, 200)
    expect(isCut).toBe(false)
    expect(whole).toHaveLength(size)
    const shown: object[] = []
    let cursor: string | undefined
    do {
      const request = pageRequest(cursors, identity, cursor === undefined ? { limit } : { limit, cursor })
      const { rows, hasMore } = await list.page(request.after, request.limit)
      expect(rows.length).toBeLessThanOrEqual(limit)
      shown.push(...rows)
      const last = hasMore ? rows.at(-1) : undefined
      cursor = last === undefined ? undefined : cursors.seal(identity, list.placeOf(last))
    } while (cursor !== undefined)
    expect(shown).toEqual(whole)
  })
})

describe('filters of the access log', () => {
  const found = async (filters: Partial<audit.AccessFilters>) =>
    (await audit.listAccesses(reads, org, { since, ...filters }, first)).rows.map(({ accessId }) => accessId)
  const recipientKey = 'f'.repeat(64)
  const access = (...numbers: readonly number[]) => numbers.map((number) => numbered('c', number))

  it('apply together, newest first', async () => {
    const patient = { patientId: ids.patient }
    expect(await found(patient)).toEqual(access(5, 3, 1))
    expect(await found({ ...patient, clientId: 'client-1' })).toEqual(access(5, 3, 1))
    expect(await found({ ...patient, clientId: 'client-0' })).toEqual([])
    expect(await found({ user: { id: accessLogIds.user, recipientKey }, category: 'images' })).toEqual(access(5, 3, 1))
    expect(await found({ user: { id: userIds.otherUser, recipientKey } })).toEqual([])
    expect(await found({ ...patient, from: paired(2), to: paired(4) })).toEqual(access(3))
    expect(await found({ ...patient, since: paired(4) })).toEqual(access(5))
    expect(await found({ user: { id: accessLogIds.user, recipientKey }, since: paired(6) })).toEqual(access(6))
  })

  it('take an instant with each offset of RFC 3339', async () => {
    const withOffset = (at: string, hours: number) =>
      new Date(Date.parse(at) + hours * 3_600_000)
        .toISOString()
        .replace('Z', `${hours < 0 ? '-' : '+'}${String(Math.abs(hours))}:00`)
    const period = { from: withOffset(paired(2), 23), to: withOffset(paired(4), -23) }
    expect(await found({ patientId: ids.patient, ...period })).toEqual(access(3))
  })

  it('of a user without a patient account find who saw the contact', async () => {
    const own = { userId: userIds.user, patientId: null, since }
    const { rows } = await audit.listOwnAccesses(reads, org, own, first)
    expect(rows.map(({ accessId }) => accessId)).toEqual(access(6))
  })
})

describe('filters of the images', () => {
  const idsOf = async (filters: Parameters<typeof imageQueries.listImages>[2]) =>
    (await imageQueries.listImages(pool, org, filters, first)).rows.map(({ imageId }) => imageId)

  it('apply together, newest first', async () => {
    expect(await idsOf({ caseId: ids.case })).toEqual([ownImage, ids.secondImage, ids.image])
    expect(await idsOf({ caseId: ids.case, patientId: ids.patient, assessmentId: ids.assessment })).toEqual([
      ids.secondImage,
      ids.image,
    ])
    expect(await idsOf({ patientId: ids.otherPatient })).toEqual(
      [6, 5, 4, 3, 2, 1, 0].map((number) => numbered('b', number)),
    )
    for (const nothing of [
      { assessmentId: ownImage },
      { caseId: ids.assessment },
      { caseId: ids.case, patientId: ids.otherPatient },
    ])
      expect(await idsOf(nothing)).toEqual([])
  })
})

describe('a workflow instance', () => {
  it('has the step that it waits at, from its definition, and the outputs of its steps', async () => {
    const [waiting, running] = [numbered('5', 0), numbered('5', 1)]
    expect(await workflows.getWorkflowInstance(reads, org, waiting)).toMatchObject({
      state: 'parked',
      parkedStepId: 'intake',
      parkedStepKind: 'collect-questions',
      parkedStepConfig: { questions: expect.any(Array) },
      outputs: { intake: instanceFact('WorkflowStepAdvanced').data.output },
    })
    expect(await workflows.getWorkflowInstance(reads, org, running)).toMatchObject({
      parkedStepKind: null,
      parkedStepConfig: null,
      outputs: {},
    })
  })
})

describe('an identifier', () => {
  const found = async (identifier: string) =>
    (await clinical.listPatients(reads, org, identifier, first)).rows.map(({ patientId }) => patientId)

  it('finds its present owner, for every split into scheme and value', async () => {
    expect(await found('mrn|canary-17')).toEqual([ids.patient])
    expect(await found(' mrn|canary-17 ')).toEqual([ids.patient])
    expect(await found(splitText)).toEqual(each((number) => numbered('7', number)))
    // The patient does not have the first one, but its claim is not released yet.
    for (const unknown of [
      'mrn|given-up',
      'mrn|canary-1',
      'MRN|canary-17',
      'ward|1',
      '6|7',
      'nhs|mrn',
      '%|%',
      'nobody',
    ])
      expect([unknown, await found(unknown)]).toEqual([unknown, []])
  })
})

describe('undelivered events', () => {
  const idsOf = async (since: number, until: number, limit = 50) =>
    (await webhooks.listUndelivered(pool, org, numbered('3', 0), { since: at(since), until: at(until) }, limit)).map(
      ({ deliveryId }) => deliveryId,
    )
  const failed = (...numbers: number[]) => numbers.map((number) => numbered('7', number))

  it('are listed by the instant of the event, oldest first', async () => {
    expect(await idsOf(0, 60)).toEqual(failed(1, 2, 3, 4, 5, 6))
    expect(await idsOf(0, 60, 2)).toEqual(failed(1, 2))
    expect(await idsOf(1, 3)).toEqual(failed(2, 3, 4, 5))
    expect(await webhooks.listUndelivered(pool, org, numbered('3', 1), { since: at(0), until: at(60) }, 50)).toEqual([])
  })
})

describe('filters of the reviews', () => {
  const idsOf = async (filters: Parameters<typeof reviews.listReviews>[2], tenant = org) =>
    (await reviews.listReviews(pool, tenant, filters, first)).rows.map((row) => row.aiReviewId)

  it('apply together, newest first', async () => {
    expect(await idsOf({ status: 'completed' })).toEqual([ids.review])
    expect(await idsOf({ caseId: numbered('5', 1) })).toEqual([5, 3, 1].map((number) => numbered('4', number)))
    expect(await idsOf({ caseId: numbered('5', 1), status: 'completed' })).toEqual([])
    expect(await idsOf({ productId: ids.product })).toHaveLength(count + 1)
    expect(await idsOf({ productId: ids.case })).toEqual([])
    expect(await idsOf({ caseId: ids.case }, otherOrg)).toEqual([])
  })
})
