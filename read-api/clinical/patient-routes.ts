import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { PatientRecord, toPatientRecord } from '../../platform/records/patients.ts'
import type { ReadDependencies } from '../dependencies.ts'
import { getPatient } from './patient-queries.ts'

export function patientReadRoutes(app: ServiceApp, { pool }: ReadDependencies): void {
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
