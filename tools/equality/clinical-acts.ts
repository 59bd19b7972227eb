import { cases } from '../../streams/case/aggregate.ts'
import { consentChannelStream } from '../../streams/channels/consent.ts'
import { consents } from '../../streams/consent/aggregate.ts'
import { consentTypeIdOf, consentTypes } from '../../streams/consent-type/aggregate.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import { reservations } from '../../engine/commands/reservation/aggregate.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import { consentPublicFact } from '../../test/streams/channel-facts.ts'
import {
  caseFact,
  consentFact,
  consentTypeFact,
  hash,
  ids,
  patientFact,
  reservationFact,
} from '../../test/streams/facts.ts'
import { readRawResponse, seeRecord } from './access-acts.ts'
import type { ConsentType, Story } from './story.ts'

/** Appends events if the story allows it now. `text` is a caller's free text. */
export type Act = (story: Story, random: SeededRandom, text: string) => void

export const registerPatient: Act = (story, random, text) => {
  const patient = story.newPatient(random)
  const registeredAt = story.instant(random)
  const person = {
    givenName: text,
    familyName: `family ${text}`,
    dob: '1970-02-28',
    identifiers: [{ scheme: text, value: 'canary' }],
  }
  const registered = {
    patientId: patient.id,
    organisationId: patient.orgId,
    registeredAt,
    person: patient.readsAsNull ? null : person,
  }
  const { stream } = patients.of(patient.orgId, patient.id)
  story.append(patient.orgId, stream, patientFact('PatientRegistered', registered))
}

export const correctPatient: Act = (story, random, text) => {
  const registered = story.patients.filter(({ isRevoked }) => !isRevoked)
  if (registered.length === 0) return
  const patient = random.pick(registered)
  const identifiers = [
    { scheme: text, value: 'canary' },
    { scheme: 'mrn', value: text },
    { scheme: 'nhs', value: patient.id },
  ].filter(() => random.oneIn(2))
  const person = { givenName: text, familyName: `family ${text}`, dob: '1970-03-01', identifiers }
  const corrected = {
    patientId: patient.id,
    correctedAt: story.instant(random),
    person: patient.readsAsNull ? null : person,
  }
  story.append(patient.orgId, patients.of(patient.orgId, patient.id).stream, patientFact('PatientCorrected', corrected))
}

export const revokeRegistration: Act = (story, random) => {
  const registered = story.patients.filter(({ isRevoked }) => !isRevoked)
  if (registered.length === 0) return
  const patient = random.pick(registered)
  patient.isRevoked = true
  const revoked = patientFact('PatientRegistrationRevoked', { patientId: patient.id, revokedAt: story.instant(random) })
  story.append(patient.orgId, patients.of(patient.orgId, patient.id).stream, revoked)
}

export const openCase: Act = (story, random, text) => {
  if (story.patients.length === 0) return
  const patient = random.pick(story.patients)
  const caseId = story.id(random)
  const phi = patient.readsAsNull
    ? { externalReference: null, clinicalContext: null }
    : { externalReference: text, clinicalContext: { [text]: text } }
  const opened = {
    caseId,
    organisationId: patient.orgId,
    patientId: patient.id,
    productId: random.oneIn(3) ? null : ids.product,
  }
  const fact = caseFact('CaseOpened', { ...opened, assessmentId: null, openedAt: story.instant(random), ...phi })
  story.append(patient.orgId, cases.of(patient.orgId, caseId).stream, fact)
}

export const createConsentType: Act = (story, random, text) => {
  const orgId = random.pick(story.organisations)
  const code = random.pick(['ai_analysis', 'research', 'teaching'])
  if (story.consentTypes.some((type) => type.orgId === orgId && type.code === code)) return
  const id = consentTypeIdOf(orgId, code)
  const named = { displayName: text, description: random.oneIn(2) ? null : text, required: random.oneIn(2) }
  const created = consentTypeFact('ConsentTypeCreated', {
    consentTypeId: id,
    organisationId: orgId,
    code,
    ...named,
    createdAt: story.instant(random),
  })
  story.append(orgId, consentTypes.of(orgId, id).stream, created)
  story.consentTypes.push({ id, orgId, code, status: 'unused' })
}

export const publishText: Act = (story, random, text) => {
  const types = undeletedTypes(story)
  if (types.length === 0) return
  const { id, orgId } = random.pick(types)
  const at = story.instant(random)
  const version = consentTypeFact('ConsentTextVersionPublished', {
    consentTypeId: id,
    textVersionId: story.id(random),
    text,
    effectiveFrom: at,
    createdAt: at,
  })
  story.append(orgId, consentTypes.of(orgId, id).stream, version)
}

export const changeConsentType: Act = (story, random, text) => {
  const types = undeletedTypes(story)
  if (types.length === 0) return
  const { id, orgId } = random.pick(types)
  const changed = {
    displayName: text,
    description: random.oneIn(2) ? null : text,
    required: random.oneIn(2),
    updatedAt: story.instant(random),
  }
  story.append(
    orgId,
    consentTypes.of(orgId, id).stream,
    consentTypeFact('ConsentTypeUpdated', { consentTypeId: id, ...changed }),
  )
}

export const deleteConsentType: Act = (story, random) => {
  const unused = story.consentTypes.filter(({ status }) => status === 'unused')
  if (unused.length === 0) return
  const type = random.pick(unused)
  type.status = 'deleted'
  const deleted = consentTypeFact('ConsentTypeDeleted', { consentTypeId: type.id, deletedAt: story.instant(random) })
  story.append(type.orgId, consentTypes.of(type.orgId, type.id).stream, deleted)
}

function undeletedTypes(story: Story): ConsentType[] {
  return story.consentTypes.filter(({ status }) => status !== 'deleted')
}

export const recordConsent: Act = (story, random, text) => {
  if (story.patients.length === 0) return
  const patient = random.pick(story.patients)
  const { id: patientId, orgId } = patient
  const type = undeletedTypes(story).find((known) => known.orgId === orgId)
  if (type === undefined) return
  type.status = 'used'
  const at = story.instant(random)
  const decision = random.pick(['granted', 'denied', 'withdrawn'] as const)
  const said = {
    consentId: story.id(random),
    consentTypeId: type.id,
    consentTypeCode: type.code,
    recordedBy: patient.readsAsNull ? null : text,
    decision,
  }
  const recorded = consentFact('ConsentRecorded', {
    ...said,
    organisationId: orgId,
    patientId,
    recordedAt: at,
    createdAt: at,
  })
  story.append(orgId, consents.of(orgId, patientId).stream, recorded)
  story.append(
    orgId,
    consentTypes.of(orgId, type.id).stream,
    consentTypeFact('ConsentTypeUsed', { consentTypeId: type.id, usedAt: at }),
  )
}

/** The channel publishes a decision, in most cases about the consent that an analysis needs. */
export const publishDecision: Act = (story, random) => {
  const known = story.patients.filter(({ id }) => story.reviews.some((review) => review.patient?.id === id))
  if (story.patients.length === 0) return
  const patient = random.pick(known.length > 0 ? known : story.patients)
  const at = story.instant(random)
  const type = random.pick(['consent.granted', 'consent.denied', 'consent.withdrawn', 'consent.withdrawn'] as const)
  const consent_type_code = random.oneIn(5) ? 'research' : 'ai_analysis'
  const data = { patient_id: patient.id, org_id: patient.orgId, consent_type_code, timestamp: at, occurred_at: at }
  story.append(patient.orgId, consentChannelStream.name, {
    ...consentPublicFact(type),
    data: { ...consentPublicFact(type).data, ...data },
  })
  if (type !== 'consent.granted') story.refusals.push({ patientId: patient.id, at })
}

/** Appends an event that no read model subscribes to. */
export const claimReservation: Act = (story, random, text) => {
  const orgId = random.pick(story.organisations)
  const claimed = {
    claimId: story.id(random),
    ownerStream: 'patient-x',
    ownerId: story.id(random),
    fingerprint: null,
    claimedAt: story.instant(random),
  }
  const { stream } = reservations.of(orgId, hash('e'))
  const { claimId } = claimed
  story.append(orgId, stream, { type: 'ReservationClaimed', data: claimed })
  const end = random.below(3)
  if (end === 1)
    story.append(
      orgId,
      stream,
      reservationFact('ReservationConfirmed', { claimId, confirmedAt: story.instant(random) }),
    )
  if (end === 2) {
    const releasedAt = story.instant(random)
    // Of a registration that never came, and of a patient.
    const registered = story.patients.findLast(({ isRevoked }) => !isRevoked)
    for (const owner of [{ orgId, id: claimed.ownerId }, ...(registered === undefined ? [] : [registered])]) {
      const expired = { patientId: owner.id, claimId, expiredAt: releasedAt }
      const { stream: ofPatient } = patients.of(owner.orgId, owner.id)
      story.append(owner.orgId, ofPatient, patientFact('PatientIdentifierClaimExpired', expired))
    }
    story.append(orgId, stream, reservationFact('ReservationReleased', { claimId, releasedAt }))
  }
  readRawResponse(story, random)
  seeRecord(story, random, text)
}
