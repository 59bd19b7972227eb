import { Type } from 'typebox'
import { comparedName } from '../../platform/kit/compared-name.ts'
import { PatientIdentifier, type PatientEvent } from '../../streams/patient/events.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { defineProjector, defineTable } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow, removeRows } from '../../engine/projections/row-changes.ts'
import { storableText } from '../../engine/projections/storable-json.ts'

export const patientsTable = defineTable({
  name: 'patients',
  columns: {
    patient_id: 'uuid',
    org_id: 'uuid',
    given_name: { type: 'text', nullable: true },
    family_name: { type: 'text', nullable: true },
    dob: { type: 'text', nullable: true },
    identifiers: { type: 'jsonb', schema: Type.Array(PatientIdentifier), nullable: true },
    registered_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['patient_id'],
})

/** The patients by their identifiers, in the form in which these are compared. */
export const patientIdentifiersTable = defineTable({
  name: 'patient_identifiers',
  columns: {
    patient_id: 'uuid',
    scheme: 'text',
    value: 'text',
    org_id: 'uuid',
  },
  primaryKey: ['patient_id', 'scheme', 'value'],
  indexes: [{ columns: ['org_id', 'scheme', 'value'] }],
})

export const patientsProjector = defineProjector<PatientEvent>()({
  name: 'patients',
  version: 2,
  tables: [patientsTable, patientIdentifiersTable],
  handlers: {
    PatientRegistered: ({ data, revision }) => [
      insertRow(patientsTable, {
        ...data,
        orgId: data.organisationId,
        updatedAt: data.registeredAt,
        streamRevision: revision,
      }),
      ...identifierRows(data.patientId, data.organisationId, data.identifiers),
    ],
    PatientCorrected: ({ data, revision, stream }) => [
      patchRow(patientsTable, { ...data, updatedAt: data.correctedAt, streamRevision: revision }),
      removeRows(patientIdentifiersTable, { patientId: data.patientId }),
      ...identifierRows(data.patientId, parseOwnedStream(stream).orgId, data.identifiers),
    ],
    PatientRegistrationRevoked: ({ data: { patientId } }) => [
      removeRows(patientIdentifiersTable, { patientId }),
      removeRow(patientsTable, { patientId }),
    ],
  },
})

/** No rows after the patient's erasure. An identifier that is listed twice, also by Postgres' comparison, has one row. */
function identifierRows(patientId: string, orgId: string, identifiers: readonly PatientIdentifier[] | null) {
  const once = new Map(
    (identifiers ?? []).map((given) => {
      const each = { scheme: comparedName(given.scheme), value: comparedName(given.value) }
      return [JSON.stringify([storableText(each.scheme), storableText(each.value)]), each]
    }),
  )
  return [...once.values()].map((identifier) => insertRow(patientIdentifiersTable, { ...identifier, patientId, orgId }))
}
