import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { listQuery, page, pageMembers, pageRequest } from '../../platform/http/cursors.ts'
import { Uuid, schemeAndValuePattern } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery, orgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { PatientRecord, toPatientRecord } from '../../contracts/clinical/patients.ts'
import type { ReadDependencies } from '../read-route.ts'
import { getPatient, listPatients } from './patient-queries.ts'

const PatientPage = Type.Object({ data: Type.Array(PatientRecord), ...pageMembers() }, { $id: 'PatientPage' })

/** Scheme and value have 1 to 255 characters each. */
const identifier = Type.String({
  pattern: schemeAndValuePattern,
  maxLength: 511,
  description: '`scheme|value`, both exactly as registered',
})

export function patientReadRoutes(app: ServiceApp, { pool, cursors }: ReadDependencies): void {
  app.get(
    '/patients',
    {
      schema: {
        operationId: 'listPatients',
        summary: 'The patients who have an identifier',
        description: 'Patients are found by what the caller knows of them, and never listed as a whole.',
        querystring: Type.Object({ ...orgQuery, ...listQuery, identifier }, { additionalProperties: false }),
        response: answers({ 200: PatientPage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access: { scopes: ['patients:read'] }, servedBy: ['patients'] },
    },
    async (request, reply) => {
      const { caller, query } = request
      const org = tenantOf(caller, namedOrg(query))
      const list = { list: 'patients', orgId: org, sort: 'registered_at', filters: { identifier: query.identifier } }
      const asked = pageRequest(cursors, list, query)
      return page(reply, {
        cursors,
        list,
        request: asked,
        rows: await listPatients(pool, org, query.identifier, asked.after, asked.fetch),
        placeOf: ({ registeredAt, patientId }) => [registeredAt, patientId],
        toItem: toPatientRecord,
      })
    },
  )

  app.get(
    '/patients/:id',
    {
      schema: {
        operationId: 'getPatient',
        summary: 'A patient',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: PatientRecord }),
      },
      config: { access: { scopes: ['patients:read'] }, servedBy: ['patients'], hasEtag: true },
    },
    async ({ caller, params, query }, reply) => {
      const patient = await getPatient(pool, tenantOf(caller, namedOrg(query)), params.id)
      return found(reply, { body: toPatientRecord(patient), revision: patient.revision })
    },
  )
}
