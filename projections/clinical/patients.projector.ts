import type { PatientEvent } from '../../streams/patient/events.ts'
import { defineProjector, insert, remove } from '../runtime/projector.ts'
import { patients } from './patients.table.ts'

export const patientsProjector = defineProjector<PatientEvent>()({
  name: 'patients',
  version: 1,
  tables: [patients],
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
        stream_revision: revision,
      }),
    ],
    PatientRegistrationRevoked: ({ data }) => [remove(patients, { patient_id: data.patientId })],
  },
})
