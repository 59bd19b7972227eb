import { describe, expect, it } from 'vitest'
import { casesProjector } from '../../../projections/clinical/cases.projector.ts'
import { patientsProjector } from '../../../projections/clinical/patients.projector.ts'
import { webhookSubscriptionsProjector } from '../../../projections/webhooks/webhook-subscriptions.projector.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { at, caseFact, ids, patientFact } from '../../streams/facts.ts'
import { subscriptionFact } from '../../streams/webhook-facts.ts'

describe('the patients read model', () => {
  const registered = patientFact('PatientRegistered')
  const row = {
    patient_id: ids.patient,
    org_id: ids.org,
    given_name: 'Canary',
    family_name: 'Müller-canary',
    dob: '1970-02-28',
    identifiers: [{ scheme: 'nhs', value: 'canary-9434765919' }],
    registered_at: at(0),
    stream_revision: '0',
  }

  it('has a row for each registered patient', async () => {
    const other = patientFact('PatientRegistered', { patientId: ids.otherPatient, organisationId: ids.otherOrg, identifiers: [] })
    const { patients } = await rowsAfter(patientsProjector, recorded([registered, { ...other, stream: 'other' }]))
    expect(patients).toEqual([row, { ...row, patient_id: ids.otherPatient, org_id: ids.otherOrg, identifiers: [] }])
  })

  it('has none for a registration that was revoked', async () => {
    const { patients } = await rowsAfter(patientsProjector, recorded([registered, patientFact('PatientRegistrationRevoked')]))
    expect(patients).toEqual([])
  })

  it('reads as nothing but ids and instants after the subject was erased', async () => {
    const erased = patientFact('PatientRegistered', { givenName: null, familyName: null, dob: null, identifiers: null })
    const { patients } = await rowsAfter(patientsProjector, recorded([erased]))
    expect(patients).toEqual([{ ...row, given_name: null, family_name: null, dob: null, identifiers: null }])
  })
})

describe('the cases read model', () => {
  it('has a row for each case, without what was said of it freely', async () => {
    const opened = caseFact('CaseOpened')
    const own = caseFact('CaseOpened', { caseId: ids.event, productId: null, assessmentId: null, externalReference: null })
    const { cases } = await rowsAfter(casesProjector, recorded([opened, { ...own, stream: 'other' }]))
    const row = { case_id: ids.case, org_id: ids.org, patient_id: ids.patient, product_id: ids.product, external_reference: 'canary-reference', opened_at: at(0), stream_revision: '0' }
    expect(cases).toEqual([{ ...row, case_id: ids.event, product_id: null, external_reference: null }, row])
  })
})

describe('the webhook subscriptions read model', () => {
  it('has a row for each subscription, with its place in the organisation stream', async () => {
    const first = subscriptionFact('WebhookSubscribed')
    const second = subscriptionFact('WebhookSubscribed', { subscriptionId: ids.event, eventTypes: ['assessment.failed'], description: null, payloadMode: 'thin' })
    const { webhook_subscriptions: rows } = await rowsAfter(webhookSubscriptionsProjector, recorded([first, second]))
    const row = {
      subscription_id: ids.subscription,
      org_id: ids.org,
      url: 'https://receiver.example/hooks',
      event_types: ['assessment.completed', 'assessment.failed'],
      description: 'All results',
      payload_mode: 'full',
      created_at: at(0),
      stream_revision: '0',
    }
    const thin = { ...row, subscription_id: ids.event, event_types: ['assessment.failed'], description: null, payload_mode: 'thin', stream_revision: '1' }
    expect(rows).toEqual([row, thin])
  })
})
