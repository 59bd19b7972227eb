import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Nullable, Uuid } from '../../platform/http/members.ts'
import { namedOrg, orgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { ConsentDecisionRecord } from '../../contracts/consent/record.ts'
import { requireCurrent } from '../current.ts'
import type { ReadDependencies } from '../dependencies.ts'
import { latestDecisions } from './decision-queries.ts'

/** T1. */
export const ConsentRecordsReply = Type.Object(
  {
    status: Type.Enum(['granted', 'denied', 'withdrawn', 'none']),
    granted: Type.Boolean(),
    patientId: Uuid,
    consentTypeCode: Type.String(),
    record: Nullable(ConsentDecisionRecord),
    data: Type.Array(ConsentDecisionRecord),
  },
  { $id: 'ConsentRecordsReply' },
)

/** What others decide on: certain to be current, or no answer at all (T24). */
export function currentRecordRoute(app: ServiceApp, deps: ReadDependencies): void {
  const { pool } = deps

  app.get(
    '/consent-records',
    {
      schema: {
        operationId: 'getConsentRecords',
        summary: "A patient's current decision, certain to be up to date",
        description: 'Answers only when the read model contains everything recorded before the request; else 503.',
        querystring: Type.Object(
          { ...orgQuery, patientId: Uuid, consentTypeCode: Type.String({ minLength: 1, maxLength: 64 }) },
          { additionalProperties: false },
        ),
        response: answers({ 200: ConsentRecordsReply }, ['read-model-behind', 'event-store-unavailable']),
      },
      config: { access: { consentScope: 'consents:read' } },
    },
    async (request) => {
      const { caller, query } = request
      const org = tenantOf(caller, namedOrg(query))
      await requireCurrent(deps, 'consent_records')
      const { patientId, consentTypeCode } = query
      const record = (await latestDecisions(pool, org, patientId, [consentTypeCode])).get(consentTypeCode)
      return {
        status: record?.decision ?? ('none' as const),
        granted: record?.decision === 'granted',
        patientId: patientId.toLowerCase(),
        consentTypeCode,
        record: record ?? null,
        data: record === undefined ? [] : [record],
      }
    },
  )
}
