import type { ReservationEvent } from '../../engine/commands/reservation/events.ts'
import { Person, type PatientEvent } from '../../streams/patient/events.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { defineProjector, defineTable, sealed } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, patchRows, removeRow, upsertRow } from '../../engine/projections/row-changes.ts'

export const patientsTable = defineTable({
  name: 'patients',
  columns: {
    patient_id: 'uuid',
    org_id: 'uuid',
    person: sealed(Person),
    registered_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['patient_id'],
})

/**
 * The claims of identifiers, by the HMAC that names their reservation. A claim may come before its patient, and may stay for a
 * moment after the patient gave the identifier up.
 */
export const identifierClaimsTable = defineTable({
  name: 'identifier_claims',
  columns: { org_id: 'uuid', identifier_key: 'text', patient_id: 'uuid' },
  primaryKey: ['org_id', 'identifier_key'],
})

const streamsOfPatients = `${patients.category}-`

export const patientsProjector = defineProjector<PatientEvent | ReservationEvent>()({
  name: 'patients',
  version: 4,
  tables: [patientsTable, identifierClaimsTable],
  handlers: {
    PatientRegistered: ({ data, revision }) => [
      insertRow(patientsTable, {
        ...data,
        orgId: data.organisationId,
        updatedAt: data.registeredAt,
        streamRevision: revision,
      }),
    ],
    PatientCorrected: ({ data, revision }) => [
      patchRow(patientsTable, { ...data, updatedAt: data.correctedAt, streamRevision: revision }),
    ],
    // The patient may not be registered yet.
    PatientIdentifierClaimExpired: ({ data: { patientId }, revision }) => [
      patchRows(patientsTable, { patientId }, { streamRevision: revision }),
    ],
    PatientRegistrationRevoked: ({ data: { patientId } }) => [removeRow(patientsTable, { patientId })],
    ReservationClaimed: ({ data: { ownerStream, ownerId: patientId }, stream }) =>
      ownerStream.startsWith(streamsOfPatients)
        ? [upsertRow(identifierClaimsTable, { ...claimOf(stream), patientId })]
        : [],
    ReservationReleased: ({ stream }) => [removeRow(identifierClaimsTable, claimOf(stream))],
  },
})

/** The id of a reservation is the HMAC of its key. */
function claimOf(stream: string) {
  const { orgId, id: identifierKey } = parseOwnedStream(stream)
  return { orgId, identifierKey }
}
