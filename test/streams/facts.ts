import { tenantOfFact } from '../../platform/kit/tenants.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import type { ConsentTypeEvent } from '../../streams/consent-type/events.ts'
import type { ConsentEvent } from '../../streams/consent/events.ts'
import type { OauthClientEvent } from '../../streams/oauth-client/events.ts'
import type { OauthScopeEvent } from '../../streams/oauth-scope/events.ts'
import type { OperationsEvent } from '../../streams/operations/events.ts'
import type { PatientEvent } from '../../streams/patient/events.ts'
import type { ProjectionEvent } from '../../streams/projection/events.ts'
import type { MintedIdEvent } from '../../engine/commands/minted-id/events.ts'
import type { ReservationEvent } from '../../engine/commands/reservation/events.ts'
import type { BackupEvent } from '../../streams/backups/events.ts'
import type { LogSealEvent } from '../../streams/log-seals/events.ts'
import type { EventKeyEvent } from '../../streams/event-key/events.ts'
import type { TokenKeyEvent } from '../../streams/token-key/events.ts'
import type { WriteProbeEvent } from '../../streams/write-probe/events.ts'

type Fact = { readonly type: string; readonly data: object }
type DataOf<Event extends Fact, Type extends Event['type']> = Extract<Event, { type: Type }>['data']

/** Events of one aggregate for tests: a complete one by its type, with the relevant members changed. */
export function factsOf<Event extends Fact>(usual: { readonly [Type in Event['type']]: DataOf<Event, Type> }) {
  const fact = <Type extends Event['type']>(type: Type, changes: Partial<DataOf<Event, Type>> = {}) => {
    const data: DataOf<Event, Type> = { ...usual[type], ...changes }
    return { type, data }
  }
  return Object.assign(fact, { usual })
}

const id = (digits: string) => `00000000-0000-4000-8000-${digits.padStart(12, '0')}`

/** One story: a patient of an organisation, one assessment with two images, its case and its review. */
export const ids = {
  org: tenantOfFact(id('a1')),
  otherOrg: tenantOfFact(id('a2')),
  product: id('b1'),
  patient: id('c1'),
  otherPatient: id('c2'),
  assessment: id('d1'),
  case: id('e1'),
  image: id('f1'),
  secondImage: id('f2'),
  review: id('11'),
  newReview: id('14'),
  attempt: id('12'),
  requestEvent: id('13'),
  consentType: id('21'),
  textVersion: id('22'),
  consent: id('23'),
  subscription: id('31'),
  delivery: id('32'),
  event: id('33'),
  claim: id('41'),
  client: id('51'),
  clientSecret: id('52'),
  secondClientSecret: id('53'),
  bodySite: id('61'),
  workflowDefinition: id('71'),
  workflowInstance: id('72'),
  /** The review's first lesion; its ids derive from the review. */
  finding: '197558c0-ae04-5538-8d90-be547a02c73d',
  diagnosis: '2ba4274b-3a55-5027-9e39-34360aff7ad9',
  /** The review's task of human review, and the clinician's diagnosis of the lesion; their ids derive, too. */
  task: 'e4fad984-5eee-5b7d-85f9-937346391b7f',
  clinicianDiagnosis: 'd6765bee-5e8a-5fa1-b052-28c67ee48c6a',
} as const

/** `at(5)` is five seconds after the start of the story. */
export function at(seconds: number): string {
  return new Date(Date.parse('2026-03-01T10:00:00.000Z') + seconds * 1000).toISOString()
}

export const hash = (letter: string) => letter.repeat(64)

const object = (imageId: string) => ({
  key: `images/2026-03-01/${ids.org}/${ids.assessment}/${imageId}/0a1b2c`,
  sha256: hash('a'),
  bytes: 2048,
})

export const assessmentFact = factsOf<AssessmentEvent>({
  AssessmentRequested: {
    assessmentId: ids.assessment,
    organisationId: ids.org,
    patientId: ids.patient,
    productId: ids.product,
    mode: 'inline',
    finding: { findingType: 'lesion', bodySiteId: ids.bodySite },
    images: [
      { imageId: ids.image, captureType: 'dermoscopic', mimeType: 'image/jpeg' },
      { imageId: ids.secondImage, captureType: 'other', mimeType: 'image/png' },
    ],
    externalReference: 'canary-reference',
    clinicalContext: { note: 'canary-context' },
    customFields: { ward: 'canary-field' },
    requestedAt: at(0),
    fingerprint: hash('f'),
  },
  AssessmentUploadsAwaited: { assessmentId: ids.assessment, closesAt: at(86_400) },
  AssessmentSubmitted: {
    assessmentId: ids.assessment,
    caseId: ids.case,
    images: [
      { imageId: ids.image, object: object(ids.image), width: 600, height: 400 },
      { imageId: ids.secondImage, object: object(ids.secondImage), width: null, height: null },
    ],
    submittedAt: at(0),
    deadlineAt: at(3600),
    request: null,
  },
  AssessmentReviewRequested: {
    assessmentId: ids.assessment,
    caseId: ids.case,
    patientId: ids.patient,
    productId: ids.product,
    images: [
      { imageId: ids.image, imageType: 'DERMOSCOPIC', objectKey: object(ids.image).key },
      { imageId: ids.secondImage, imageType: 'MACROSCOPIC', objectKey: object(ids.secondImage).key },
    ],
    isCaseOpen: true,
    requestedAt: at(1),
  },
  AssessmentReviewRenewed: { assessmentId: ids.assessment, aiReviewId: ids.review, renewedAt: at(20) },
  AssessmentCompleted: {
    assessmentId: ids.assessment,
    aiReviewId: ids.review,
    aiProvider: 'inference-provider',
    outcome: {
      malignancy_score: 0.1,
      recommendation: 'no_action',
      score_basis: 'benign',
      scoring_version: '1',
      lesions: [
        {
          lesion_number: 1,
          category: 'Benign',
          classification: 'NV',
          priority: 5,
          icd10: { code: 'D22.9', term: 'Melanocytic naevi, unspecified' },
          snomed: { code: null, term: null },
          referral_flag: 'NO_REFERRAL',
          referral_recommendation: 'No referral',
          interpretation_guidance: null,
        },
      ],
      image_quality: [{ image_id: ids.image, quality: 'IMAGE_QUALITY_SUITABLE' }],
    },
    completedAt: at(30),
  },
  AssessmentFailed: { assessmentId: ids.assessment, aiReviewId: ids.review, code: 'ANALYSIS_FAILED', failedAt: at(30) },
  AssessmentHumanReviewOpened: {
    assessmentId: ids.assessment,
    taskId: ids.task,
    isNewest: true,
    reviewOrdinal: 4,
    openedAt: at(60),
  },
  AssessmentHumanReviewDecided: {
    assessmentId: ids.assessment,
    taskId: ids.task,
    isNewest: true,
    aiReviewId: ids.review,
    agreesWithAi: false,
    decidedAt: at(90),
  },
  AssessmentHumanReviewCancelled: {
    assessmentId: ids.assessment,
    taskId: ids.task,
    isNewest: true,
    cancelledAt: at(100),
  },
})

export const caseFact = factsOf<CaseEvent>({
  CaseOpened: {
    caseId: ids.case,
    organisationId: ids.org,
    patientId: ids.patient,
    productId: ids.product,
    assessmentId: ids.assessment,
    externalReference: 'canary-reference',
    clinicalContext: { note: 'canary-context' },
    customFields: null,
    workflow: null,
    fingerprint: null,
    openedAt: at(0),
  },
  CaseAssessmentAssigned: {
    caseId: ids.case,
    assessmentId: ids.assessment,
    workflowInstanceId: ids.workflowInstance,
    productId: ids.product,
    findingType: 'lesion',
    imageIds: [ids.image],
    assignedAt: at(2),
  },
  CaseClosed: { caseId: ids.case, patientId: ids.patient, closedAt: at(40) },
  CaseFindingRecorded: {
    caseId: ids.case,
    findingId: ids.finding,
    source: 'ai',
    aiReviewId: ids.review,
    lesionNumber: 1,
    bodySiteId: ids.bodySite,
    coordinates: { x1: 40, y1: 41, x2: 100, y2: 101.5 },
    ordinal: 1,
    lesionCount: 1,
    recordedAt: at(18),
  },
  CaseDiagnosisRecorded: {
    caseId: ids.case,
    diagnosisId: ids.diagnosis,
    findingId: ids.finding,
    source: 'ai',
    taskId: null,
    aiReviewId: ids.review,
    lesionNumber: 1,
    icd10: { code: 'D22.9', term: 'Melanocytic naevi, unspecified' },
    snomed: { code: '400010006', term: 'Melanocytic naevus of skin' },
    category: 'Benign',
    patientId: null,
    correction: null,
    recordedAt: at(18),
  },
  CaseDiagnosisSuperseded: {
    caseId: ids.case,
    diagnosisId: ids.diagnosis,
    findingId: ids.finding,
    aiReviewId: ids.review,
    lesionNumber: 1,
    supersededById: ids.newReview,
    taskId: null,
    ordinal: 1,
    diagnosisCount: 1,
    supersededAt: at(20),
  },
  CaseHumanReviewStarted: {
    caseId: ids.case,
    taskId: ids.task,
    aiReviewId: ids.review,
    productId: ids.product,
    assessmentId: ids.assessment,
    caseStatus: 'in_review',
    startedAt: at(60),
  },
  CaseHumanReviewEnded: {
    caseId: ids.case,
    taskId: ids.task,
    aiReviewId: ids.review,
    caseStatus: 'open',
    endedAt: at(90),
  },
})

export const patientFact = factsOf<PatientEvent>({
  PatientRegistered: {
    patientId: ids.patient,
    organisationId: ids.org,
    person: {
      givenName: 'Canary',
      familyName: 'Müller-canary',
      dob: '1970-02-28',
      identifiers: [{ scheme: 'nhs', value: 'canary-9434765919' }],
    },
    fingerprint: null,
    registeredAt: at(0),
  },
  PatientCorrected: {
    patientId: ids.patient,
    person: {
      givenName: 'Canary-corrected',
      familyName: 'Müller-canary',
      dob: '1970-03-01',
      identifiers: [
        { scheme: 'nhs', value: 'canary-9434765919' },
        { scheme: 'mrn', value: 'canary-17' },
      ],
    },
    correctedAt: at(5),
  },
  PatientIdentifierClaimExpired: { patientId: ids.patient, claimId: ids.claim, expiredAt: at(6) },
  PatientRegistrationRevoked: { patientId: ids.patient, reason: 'identifier_conflict', revokedAt: at(1) },
})

export const consentFact = factsOf<ConsentEvent>({
  ConsentRecorded: {
    consentId: ids.consent,
    organisationId: ids.org,
    patientId: ids.patient,
    consentTypeId: ids.consentType,
    consentTypeCode: 'ai_analysis',
    textVersionId: ids.textVersion,
    textSha256: hash('b'),
    decision: 'granted',
    recordedAt: at(0),
    recordedBy: 'Dr Canary',
    createdAt: at(0),
    fingerprint: null,
  },
})

export const consentTypeFact = factsOf<ConsentTypeEvent>({
  ConsentTypeCreated: {
    consentTypeId: ids.consentType,
    organisationId: ids.org,
    code: 'ai_analysis',
    displayName: 'Analysis by AI',
    description: null,
    legalBasis: 'consent',
    required: true,
    createdAt: at(0),
    fingerprint: null,
  },
  ConsentTextVersionPublished: {
    consentTypeId: ids.consentType,
    textVersionId: ids.textVersion,
    locale: 'en-GB',
    text: 'I agree.',
    contentHash: hash('b'),
    effectiveFrom: at(1),
    createdAt: at(1),
    fingerprint: null,
  },
  ConsentTypeUsed: { consentTypeId: ids.consentType, usedAt: at(2) },
  ConsentTypeUpdated: {
    consentTypeId: ids.consentType,
    displayName: 'Analysis of photographs',
    description: 'By software',
    required: false,
    updatedAt: at(3),
  },
  ConsentTypeDeleted: { consentTypeId: ids.consentType, deletedAt: at(4) },
})

export const clientFact = factsOf<OauthClientEvent>({
  OauthClientRegistered: {
    clientId: ids.client,
    orgId: ids.org,
    authMethod: 'client_secret',
    name: 'Demo clinic',
    productId: ids.product,
    trustedActorContext: true,
    scopes: ['assessments:read', 'assessments:write'],
    jwks: null,
    jwksUri: null,
    secret: { secretId: ids.clientSecret, hash: hash('c'), expiresAt: null },
    fingerprint: null,
    registeredAt: at(0),
  },
  OauthClientChanged: {
    clientId: ids.client,
    name: 'Demo clinic',
    productId: ids.product,
    trustedActorContext: true,
    scopes: ['assessments:read', 'assessments:write', 'webhooks:write'],
    jwks: null,
    jwksUri: null,
    changedAt: at(5),
  },
  OauthClientNarrowed: { clientId: ids.client, narrowedAt: at(6) },
  OauthClientSecretAdded: {
    clientId: ids.client,
    secretId: ids.secondClientSecret,
    hash: hash('d'),
    expiresAt: at(600),
    addedAt: at(7),
    fingerprint: hash('f'),
  },
  OauthClientSecretRemoved: { clientId: ids.client, secretId: ids.clientSecret, removedAt: at(8) },
  OauthClientSecretUsed: { clientId: ids.client, secretId: ids.clientSecret, usedAt: at(9) },
  OauthClientDisabled: { clientId: ids.client, disabledAt: at(10) },
  OauthClientEnabled: { clientId: ids.client, enabledAt: at(11) },
  OauthClientDeleted: { clientId: ids.client, deletedAt: at(12) },
  OauthTokenRevoked: {
    clientId: ids.client,
    jti: '019510a0-0000-7000-8000-000000000001',
    expiresAt: at(3600),
    revokedAt: at(13),
  },
})

export const scopeFact = factsOf<OauthScopeEvent>({
  OauthScopesRegistered: {
    serviceId: 'recall-service',
    scopes: [{ scope: 'recalls:read', description: 'Read recalls' }],
    registeredAt: at(0),
  },
})

export const writeProbeFact = factsOf<WriteProbeEvent>({ WriteProbed: { probedAt: at(0) } })

export const tokenKeyFact = factsOf<TokenKeyEvent>({
  TokenKeyEnded: { kid: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs', endedBy: 'operator', endedAt: at(0) },
})

export const eventKeyFact = factsOf<EventKeyEvent>({
  EventKeyRotated: { key: 'x1Zk-9_Q', rotatedBy: 'operator', rotatedAt: at(0) },
})

export const backupFact = factsOf<BackupEvent>({
  BackupVerified: {
    backupId: ids.review,
    position: '48213907/48213907',
    events: 70_000,
    bytes: 48_300_000,
    createdAt: at(0),
    verifiedAt: at(1),
  },
  BackupRestored: {
    backupId: ids.review,
    position: '48213907/48213907',
    factsUntil: at(0),
    restoredAt: at(1),
    by: 'operator',
  },
  OutsideCallsReleased: { backupId: ids.review, releasedAt: at(1), by: 'operator' },
})

export const operationsFact = factsOf<OperationsEvent>({
  OperatorActionRecorded: {
    actionId: ids.claim,
    action: 'group.retry',
    actor: { kind: 'user', id: ids.client },
    subject: { kind: 'group', id: ids.event },
    reason: 'the provider is back',
    count: 3,
    retried: {
      failure: {
        kind: 'step',
        process: 'ai_review',
        step: 'advance',
        errorClass: 'EgressError',
        errorCode: 'ECONNREFUSED',
        errorHost: 'provider.test',
      },
      orgId: null,
    },
    projection: null,
    at: at(0),
  },
})

export const logSealFact = factsOf<LogSealEvent>({
  SealKeyRotated: {
    vkey: 'log.example/one+00000000+AQ==',
    note: 'clinical-assessment-platform seal key\nlog.example/one\nlog.example/one+00000000+AQ==\n\n— log.example/one AAAAAAA=\n',
    by: 'operator',
  },
  SealKeysEnded: { vkeys: ['log.example/one+00000000+AQ=='], by: 'operator' },
  LogSealed: {
    size: 70_000,
    root: '2gUy/3su5W9AZxEPyWTp8ntZWflSe//z+lAap1hN6vM=',
    position: '48213907/48213907',
    checkpoint: 'log.example/one\n70000\n2gUy/3su5W9AZxEPyWTp8ntZWflSe//z+lAap1hN6vM=\n\n— log.example/one AAAAAAA=\n',
  },
  LogCosigned: {
    size: 70_000,
    checkpoint:
      'log.example/one\n70000\n2gUy/3su5W9AZxEPyWTp8ntZWflSe//z+lAap1hN6vM=\n\n— log.example/one AAAAAAA=\n— w.example AAAAAAA=\n',
  },
  OlderLogAccepted: {
    reason: 'restored after a broken disk',
    by: 'operator',
    size: 70_000,
    root: '2gUy/3su5W9AZxEPyWTp8ntZWflSe//z+lAap1hN6vM=',
  },
})

export const mintedIdFact = factsOf<MintedIdEvent>({
  IdMinted: { id: ids.review, mintedAt: at(0) },
})

export const reservationFact = factsOf<ReservationEvent>({
  ReservationClaimed: {
    claimId: ids.claim,
    ownerStream: `patient-${ids.org}-${ids.patient}`,
    ownerId: ids.patient,
    fingerprint: null,
    claimedAt: at(0),
  },
  ReservationConfirmed: { claimId: ids.claim, confirmedAt: at(1) },
  ReservationReleased: { claimId: ids.claim, releasedAt: at(1) },
})

export const projectionFact = factsOf<ProjectionEvent>({
  ProjectionEventSkipped: {
    projector: 'patients',
    commitPosition: '18446744073709551615',
    preparePosition: '0',
    eventId: ids.event,
    eventType: 'PatientRegistered',
    reason: 'written twice by the import of 2026-03-01',
    skippedBy: 'operator',
    skippedAt: at(0),
  },
})
