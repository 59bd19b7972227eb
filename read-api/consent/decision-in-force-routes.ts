import { Type } from 'typebox'
import { ConsentDecisionRecord } from '../../contracts/consent/record.ts'
import { toRecord } from '../../engine/reads/records.ts'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import { invalidMember } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { consentRecordsProjector } from '../../projections/consent/consent-records.projector.ts'
import { consentTypesProjector } from '../../projections/consent/consent-types.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { access } from './decision-routes.ts'
import {
  getConsentTypeByCode,
  latestDecisions,
  listDecisionsInForce,
  placeOfDecisionInForce,
  type DecisionInForce,
} from './queries.ts'

const { decision } = ConsentDecisionRecord.properties

const ConsentStatusReply = Type.Object(
  {
    granted: Type.Boolean(),
    decision: Nullable(decision, personal('consent')),
    recorded_at: Nullable(Instant),
    text_version_id: Nullable(Uuid),
    text_version_current: Nullable(Type.Boolean({ description: 'Whether the text is the current one of its locale' })),
    reconsent_required: Nullable(Type.Boolean({ description: 'Granted on a text that is no longer current' })),
  },
  { $id: 'ConsentStatusReply' },
)

const PatientConsent = Type.Object(
  {
    consent_type_id: Uuid,
    consent_type_code: Type.String(),
    decision,
    granted: Type.Boolean(),
    recorded_at: Instant,
    text_version_id: Uuid,
    text_version_current: Type.Boolean(),
    reconsent_required: Type.Boolean(),
  },
  personal('consent'),
)
const ConsentCheckReply = Type.Object(
  { consents: Type.Record(Type.String(), Type.Boolean(), personal('consent')) },
  { $id: 'ConsentCheckReply' },
)

const mostCodes = 50
const asOfQuery = {
  as_of: Type.Optional(
    Type.String({ format: 'date-time', description: 'Answers as of this instant, which must not be in the future' }),
  ),
}
const shared = { access, servedBy: [consentRecordsProjector, consentTypesProjector] }

/** The decisions in force of a patient: on all types, on one, or whether several are granted. Now, or at a past instant. */
export function decisionInForceRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool, now } = deps

  listRoute(app, deps, {
    ...shared,
    path: '/patients/:patientId/consents',
    operationId: 'listConsents',
    summary: "A patient's latest decision on each consent type, by code",
    description: 'The organisation must be named, by `org_id` (or `orgId`).',
    params: { patientId: Uuid },
    query: asOfQuery,
    orgMustBeNamed: true,
    list: 'consents',
    sort: 'consent_type_code',
    pageName: 'PatientConsentsReply',
    item: PatientConsent,
    rows: ({ tenant, params, query }, page) =>
      listDecisionsInForce(pool, tenant, params.patientId, instantsOf(query.as_of, now()), page),
    placeOf: (row) => placeOfDecisionInForce(row),
    toItem: (row) => toRecord(PatientConsent, { ...row, ...stateOfConsent(row) }),
    shows: (_, { params: { patientId } }) => ({ patientId }),
  })

  readRoute(app, {
    ...shared,
    path: '/patients/:patientId/consents/:typeCode/status',
    operationId: 'getConsentStatus',
    summary: "A patient's current decision on one consent type",
    params: { patientId: Uuid, typeCode: Type.String() },
    query: asOfQuery,
    reply: ConsentStatusReply,
    shows: (_, { params: { patientId } }) => ({ patientId }),
    handle: async ({ tenant, params, query }) => {
      const at = instantsOf(query.as_of, now())
      const { code } = await getConsentTypeByCode(pool, tenant, params.typeCode)
      const one = { after: null, limit: 1 }
      const { rows } = await listDecisionsInForce(pool, tenant, params.patientId, { code, ...at }, one)
      const [inForce] = rows
      return inForce === undefined
        ? undecided
        : toRecord(ConsentStatusReply, { ...inForce, ...stateOfConsent(inForce) })
    },
  })

  readRoute(app, {
    ...shared,
    path: '/patients/:patientId/consents/check',
    operationId: 'checkConsents',
    summary: 'Whether a patient has granted each of several consent types',
    description: 'The answer has every code of the request. A code that the organisation does not have is not granted.',
    params: { patientId: Uuid },
    query: {
      ...asOfQuery,
      types: Type.String({
        maxLength: 4096,
        description: 'Type codes, separated by commas, at most 50',
        documented: { pattern: '[^\\s,]' },
      }),
    },
    reply: ConsentCheckReply,
    shows: (_, { params: { patientId } }) => ({ patientId }),
    handle: async ({ tenant, params, query }) => {
      const { asOf } = instantsOf(query.as_of, now())
      const codes = codesOf(query.types)
      const latest = await latestDecisions(pool, tenant, params.patientId, codes, asOf)
      return { consents: Object.fromEntries(codes.map((code) => [code, latest.get(code)?.decision === 'granted'])) }
    },
  })
}

const undecided = {
  granted: false,
  decision: null,
  recorded_at: null,
  text_version_id: null,
  text_version_current: null,
  reconsent_required: null,
}

function stateOfConsent({ decision: latest, isTextCurrent }: DecisionInForce) {
  const granted = latest === 'granted'
  return { granted, textVersionCurrent: isTextCurrent, reconsentRequired: granted && !isTextCurrent }
}

/** Refuses an instant in the future. */
function instantsOf(asOf: string | undefined, now: Date): { readonly asOf: Date | null; readonly now: Date } {
  if (asOf === undefined) return { asOf: null, now }
  const instant = new Date(asOf)
  if (instant.getTime() <= now.getTime()) return { asOf: instant, now }
  throw invalidMember('/as_of', 'must not be in the future', 'in-the-future')
}

function codesOf(types: string): readonly string[] {
  const codes = [...new Set(types.split(',').map((code) => code.trim()))].filter((code) => code !== '')
  if (codes.length > 0 && codes.length <= mostCodes) return codes
  throw invalidMember('/types', 'must name 1 to 50 consent type codes', 'count')
}
