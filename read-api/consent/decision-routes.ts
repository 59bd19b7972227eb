import { Type } from 'typebox'
import { signReceipt } from '../../contracts/consent/receipt.ts'
import { ConsentDecisionRecord, toConsentDecisionRecord } from '../../contracts/consent/record.ts'
import { Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { consentRecordsProjector } from '../../projections/consent/consent-records.projector.ts'
import { consentTypesProjector } from '../../projections/consent/consent-types.projector.ts'
import { openedView } from '../../engine/reads/opened.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { atRevision, readRoute, requireCurrent, type ReadDependencies } from '../../engine/reads/read-route.ts'
import {
  getDecision,
  getDecisionWithLocale,
  latestDecisions,
  listDecisions,
  placeOfDecision,
  type DecisionView,
} from './queries.ts'

export const access = { consentScope: 'consents:read' } as const
const code = Type.String({ minLength: 1, maxLength: 64 })

const ConsentReceiptReply = Type.Object(
  { receipt: Type.String({ description: 'Compact JWS; its keys are in /v1/auth/.well-known/jwks.json' }) },
  { $id: 'ConsentReceiptReply', ...personal('consent') },
)

const ConsentRecordsReply = Type.Object(
  {
    status: Type.Enum([...ConsentDecisionRecord.properties.decision.enum, 'none']),
    granted: Type.Boolean(),
    patientId: Uuid,
    consentTypeCode: Type.String(),
    record: Nullable(ConsentDecisionRecord),
    data: Type.Array(ConsentDecisionRecord),
  },
  { $id: 'ConsentRecordsReply' },
)

export function toDecisionRecord(view: DecisionView): ConsentDecisionRecord {
  return toConsentDecisionRecord({ ...view, organisationId: view.orgId })
}

/** The decisions of a patient: all, one, its receipt, and the current one. */
export function decisionReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool, configuration, vault, now } = deps

  listRoute(app, deps, {
    path: '/patients/:patientId/consents/history',
    operationId: 'listConsentHistory',
    summary: "All of a patient's decisions, newest first",
    params: { patientId: Uuid },
    query: { type: Type.Optional(Type.String({ ...code, description: 'Code of a consent type' })) },
    access,
    servedBy: [consentRecordsProjector],
    list: 'consent-history',
    sort: '-recorded_at',
    pageName: 'ConsentHistoryPage',
    item: ConsentDecisionRecord,
    rows: ({ tenant, params, query: { type } }, page) => listDecisions(deps, tenant, params.patientId, { type, page }),
    placeOf: placeOfDecision,
    toItem: toDecisionRecord,
    shows: ({ patientId }) => ({ patientId }),
  })

  readRoute(app, {
    path: '/patients/:patientId/consents/:id',
    operationId: 'getConsentDecision',
    summary: 'One decision of a patient',
    description: 'The same record that the POST returned. A decision never changes.',
    params: { patientId: Uuid, id: Uuid },
    reply: ConsentDecisionRecord,
    shows: ({ patient_id: patientId }) => ({ patientId }),
    access,
    servedBy: [consentRecordsProjector],
    find: async ({ tenant, params }) =>
      atRevision(await getDecision(deps, tenant, params.patientId, params.id), toDecisionRecord),
  })

  readRoute(app, {
    path: '/patients/:patientId/consents/:id/receipt',
    operationId: 'getConsentReceipt',
    summary: 'A signed receipt of one decision',
    description:
      'States the record, the hash and locale of its text, and when it was issued. `npm run platform -- verify receipt` verifies it offline.',
    params: { patientId: Uuid, id: Uuid },
    reply: ConsentReceiptReply,
    shows: (_, { params: { patientId } }) => ({ patientId }),
    access,
    servedBy: [consentRecordsProjector, consentTypesProjector],
    handle: async ({ tenant, params }) => {
      const decision = await getDecisionWithLocale(deps, tenant, params.patientId, params.id)
      const issuer = `${configuration.baseUrl}/v1/consent`
      const facts = { issuer, record: toDecisionRecord(decision), locale: decision.locale, now: now() }
      return { receipt: await signReceipt(vault, facts) }
    },
  })

  // Other services decide on this answer. So it is current, or there is none.
  readRoute(app, {
    path: '/consent-records',
    operationId: 'getConsentRecords',
    summary: "A patient's current decision, always up to date",
    description: 'Answers 503 unless the read model contains everything recorded before the request.',
    query: { patientId: Uuid, consentTypeCode: code },
    reply: ConsentRecordsReply,
    shows: ({ patientId }) => ({ patientId }),
    access,
    servedBy: [],
    problems: ['read-model-behind', 'event-store-unavailable'],
    handle: async ({ tenant, query: { patientId, consentTypeCode } }) => {
      await requireCurrent(deps, consentRecordsProjector)
      const latest = (await latestDecisions(pool, tenant, patientId, [consentTypeCode])).get(consentTypeCode)
      const record = latest === undefined ? null : toDecisionRecord(await openedView(vault, latest))
      return {
        status: record?.decision ?? ('none' as const),
        granted: record?.decision === 'granted',
        patientId,
        consentTypeCode,
        record,
        data: record === null ? [] : [record],
      }
    },
  })
}
