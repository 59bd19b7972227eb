import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { listQuery, page, pageMembers, pageRequest } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, orgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { DiagnosisRecord, FindingRecord } from '../../contracts/clinical/findings.ts'
import type { ReadDependencies } from '../read-route.ts'
import { getCase } from './case-queries.ts'
import {
  listDiagnoses,
  listFindings,
  placeOfDiagnosis,
  placeOfFinding,
  toDiagnosisRecord,
  toFindingRecord,
} from './finding-queries.ts'

const FindingPage = Type.Object({ data: Type.Array(FindingRecord), ...pageMembers() }, { $id: 'FindingPage' })
const DiagnosisPage = Type.Object({ data: Type.Array(DiagnosisRecord), ...pageMembers() }, { $id: 'DiagnosisPage' })

const params = Type.Object({ id: Uuid })
const querystring = Type.Object({ ...orgQuery, ...listQuery }, { additionalProperties: false })
const config = { access: { scopes: ['cases:read'] }, servedBy: ['cases'] } as const

/** What the AI reviews of a case led to. */
export function findingRoutes(app: ServiceApp, { pool, cursors }: ReadDependencies): void {
  app.get(
    '/cases/:id/findings',
    {
      schema: {
        operationId: 'listFindings',
        summary: 'The findings of a case, oldest first: one for each lesion of each completed AI review',
        params,
        querystring,
        response: answers({ 200: FindingPage }, ['invalid-cursor', 'expired-cursor']),
      },
      config,
    },
    async (request, reply) => {
      const { caller, query } = request
      const org = tenantOf(caller, namedOrg(query))
      const { caseId } = await getCase(pool, org, request.params.id)
      const list = { list: 'findings', orgId: org, sort: 'created_at', filters: { caseId } }
      const asked = pageRequest(cursors, list, query)
      const rows = await listFindings(pool, org, { caseId, after: asked.after, limit: asked.fetch })
      return page(reply, { cursors, list, request: asked, rows, placeOf: placeOfFinding, toItem: toFindingRecord })
    },
  )

  app.get(
    '/cases/:id/diagnoses',
    {
      schema: {
        operationId: 'listDiagnoses',
        summary: 'The diagnoses of a case, oldest first: one for each finding',
        description: 'Those of an AI review whose place another has taken are `superseded`; its findings stand.',
        params,
        querystring,
        response: answers({ 200: DiagnosisPage }, ['invalid-cursor', 'expired-cursor']),
      },
      config,
    },
    async (request, reply) => {
      const { caller, query } = request
      const org = tenantOf(caller, namedOrg(query))
      const { caseId } = await getCase(pool, org, request.params.id)
      const list = { list: 'diagnoses', orgId: org, sort: 'created_at', filters: { caseId } }
      const asked = pageRequest(cursors, list, query)
      const rows = await listDiagnoses(pool, org, { caseId, after: asked.after, limit: asked.fetch })
      return page(reply, { cursors, list, request: asked, rows, placeOf: placeOfDiagnosis, toItem: toDiagnosisRecord })
    },
  )
}
