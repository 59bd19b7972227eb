import { describe, expect, it } from 'vitest'
import { consentRecordsProjector } from '../../../projections/consent/consent-records.projector.ts'
import { consentTypesProjector } from '../../../projections/consent/consent-types.projector.ts'
import { consentTypes } from '../../../streams/consent-type/aggregate.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { at, consentFact, consentTypeFact, hash, ids } from '../../streams/facts.ts'

describe('the consent types read model', () => {
  const stream = consentTypes.of(ids.org, ids.consentType).stream
  const created = { ...consentTypeFact('ConsentTypeCreated'), stream }
  const published = { ...consentTypeFact('ConsentTextVersionPublished'), stream }
  const type = {
    consent_type_id: ids.consentType,
    org_id: ids.org,
    code: 'ai_analysis',
    display_name: 'Analysis by AI',
    description: null,
    legal_basis: 'consent',
    required: true,
    created_at: at(0),
    updated_at: at(0),
    stream_revision: '0',
  }

  it('has a row for each type and for each text version, in the organisation of its stream', async () => {
    const second = {
      ...consentTypeFact('ConsentTextVersionPublished', {
        textVersionId: ids.event,
        locale: 'fr-FR',
        text: "J'accepte.",
        contentHash: hash('c'),
        createdAt: at(2),
      }),
      stream,
    }
    const { consent_types: types, text_versions: versions } = await rowsAfter(
      consentTypesProjector,
      recorded([created, published, second]),
    )
    expect(types).toEqual([{ ...type, stream_revision: '2' }])
    const version = {
      text_version_id: ids.textVersion,
      org_id: ids.org,
      consent_type_id: ids.consentType,
      locale: 'en-GB',
      text: 'I agree.',
      content_hash: hash('b'),
      effective_from: at(1),
      created_at: at(1),
    }
    expect(versions).toEqual([
      version,
      {
        ...version,
        text_version_id: ids.event,
        locale: 'fr-FR',
        text: "J'accepte.",
        content_hash: hash('c'),
        created_at: at(2),
      },
    ])
  })

  it('has the revision of the stream after the first use of the type', async () => {
    const { consent_types: types } = await rowsAfter(
      consentTypesProjector,
      recorded([created, { ...consentTypeFact('ConsentTypeUsed'), stream }]),
    )
    expect(types).toEqual([{ ...type, stream_revision: '1' }])
  })

  it('contains the present description of a type, and no row of a deleted one', async () => {
    const updated = { ...consentTypeFact('ConsentTypeUpdated'), stream }
    const { consent_types: types } = await rowsAfter(consentTypesProjector, recorded([created, published, updated]))
    const { displayName, description, required, updatedAt } = updated.data
    expect(types).toEqual([
      { ...type, display_name: displayName, description, required, updated_at: updatedAt, stream_revision: '2' },
    ])
    const deleted = { ...consentTypeFact('ConsentTypeDeleted'), stream }
    expect(await rowsAfter(consentTypesProjector, recorded([created, published, updated, deleted]))).toEqual({
      consent_types: [],
      text_versions: [],
    })
  })

  it('accepts a code once per organisation', async () => {
    const other = {
      ...consentTypeFact('ConsentTypeCreated', { consentTypeId: ids.event, organisationId: ids.otherOrg }),
      stream: consentTypes.of(ids.otherOrg, ids.event).stream,
    }
    const { consent_types: types } = await rowsAfter(consentTypesProjector, recorded([created, other]))
    expect(types).toHaveLength(2)
    const doubled = {
      ...consentTypeFact('ConsentTypeCreated', { consentTypeId: ids.event }),
      stream: consentTypes.of(ids.org, ids.event).stream,
    }
    await expect(rowsAfter(consentTypesProjector, recorded([created, doubled]))).rejects.toThrow('duplicate key')
  })

  it('stops at a text version of an unknown type', async () => {
    await expect(rowsAfter(consentTypesProjector, recorded([published]))).rejects.toThrow('patch of a missing row')
  })
})

describe('the consent records read model', () => {
  it('contains every decision, with the revision that orders decisions of one instant', async () => {
    const granted = consentFact('ConsentRecorded')
    const withdrawn = consentFact('ConsentRecorded', {
      consentId: ids.event,
      decision: 'withdrawn',
      recordedBy: null,
      createdAt: at(9),
    })
    const { consent_records: rows } = await rowsAfter(consentRecordsProjector, recorded([granted, withdrawn]))
    const row = {
      consent_id: ids.consent,
      org_id: ids.org,
      patient_id: ids.patient,
      consent_type_id: ids.consentType,
      consent_type_code: 'ai_analysis',
      text_version_id: ids.textVersion,
      text_sha256: hash('b'),
      decision: 'granted',
      recorded_at: at(0),
      recorded_by: 'Dr Canary',
      created_at: at(0),
      stream_revision: '0',
    }
    expect(rows).toEqual([
      row,
      {
        ...row,
        consent_id: ids.event,
        decision: 'withdrawn',
        recorded_by: null,
        created_at: at(9),
        stream_revision: '1',
      },
    ])
  })
})
