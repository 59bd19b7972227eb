import type { PatientEvent, PatientIdentifier } from '../../streams/patient/events.ts'
import { parseOwnedStream } from '../../streams/aggregate.ts'
import { defineProjector, insert, patch, remove, removeWhere } from '../runtime/projector.ts'
import { storableText } from '../runtime/storable-json.ts'
import { patientIdentifiers, patients } from './patients.table.ts'

export const patientsProjector = defineProjector<PatientEvent>()({
  name: 'patients',
  version: 2,
  tables: [patients, patientIdentifiers],
  handlers: {
    PatientRegistered: ({ data, revision }) => [
      insert(patients, {
        patient_id: data.patientId,
        org_id: data.organisationId,
        given_name: data.givenName,
        family_name: data.familyName,
        dob: data.dob,
        identifiers: data.identifiers,
        registered_at: data.registeredAt,
        updated_at: data.registeredAt,
        stream_revision: revision,
      }),
      ...identifierRows(data.patientId, data.organisationId, data.identifiers),
    ],
    PatientCorrected: ({ data, revision, stream }) => [
      patch(
        patients,
        { patient_id: data.patientId },
        {
          given_name: data.givenName,
          family_name: data.familyName,
          dob: data.dob,
          identifiers: data.identifiers,
          updated_at: data.correctedAt,
          stream_revision: revision,
        },
      ),
      removeWhere(patientIdentifiers, { patient_id: data.patientId }),
      ...identifierRows(data.patientId, parseOwnedStream(stream).orgId, data.identifiers),
    ],
    PatientRegistrationRevoked: ({ data }) => [
      removeWhere(patientIdentifiers, { patient_id: data.patientId }),
      remove(patients, { patient_id: data.patientId }),
    ],
  },
})

/** None after the erasure of the patient. One that is listed twice is one, as are two that Postgres cannot tell apart. */
function identifierRows(patientId: string, orgId: string, identifiers: readonly PatientIdentifier[] | null) {
  const once = new Map(
    (identifiers ?? []).map((each) => [JSON.stringify([storableText(each.scheme), storableText(each.value)]), each]),
  )
  return [...once.values()].map(({ scheme, value }) =>
    insert(patientIdentifiers, { patient_id: patientId, scheme, value, org_id: orgId }),
  )
}
