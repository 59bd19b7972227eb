import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { namedOrg, orgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ReadDependencies } from '../dependencies.ts'
import { latestDecisions, listStandingDecisions, type StandingDecision } from './decision-queries.ts'
import { getConsentTypeByCode } from './type-queries.ts'

const decision = Type.Enum(['granted', 'denied', 'withdrawn'])

export const ConsentStatusReply = Type.Object(
  {
    granted: Type.Boolean(),
    decision: Nullable(decision),
    recorded_at: Nullable(Instant),
    text_version_id: Nullable(Uuid),
    text_version_current: Nullable(Type.Boolean({ description: 'Whether the text is the current one of its locale' })),
    reconsent_required: Nullable(Type.Boolean({ description: 'Granted, on a text that is no longer the current one' })),
  },
  { $id: 'ConsentStatusReply' },
)

export const PatientConsentsReply = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        consent_type_id: Uuid,
        consent_type_code: Type.String(),
        decision,
        granted: Type.Boolean(),
        recorded_at: Instant,
        text_version_id: Uuid,
        text_version_current: Type.Boolean(),
        reconsent_required: Type.Boolean(),
      }),
    ),
  },
  { $id: 'PatientConsentsReply' },
)

export const ConsentCheckReply = Type.Object(
  { consents: Type.Record(Type.String(), Type.Boolean()) },
  { $id: 'ConsentCheckReply' },
)

const access = { consentScope: 'consents:read' } as const
const mostCodes = 50
const tables = ['consent_records', 'consent_types']
const asOfQuery = {
  ...orgQuery,
  as_of: Type.Optional(
    Type.String({ format: 'date-time', description: 'What was true at this instant, which must have come' }),
  ),
}

/** Where a patient's decisions stand: all of them, one, or whether several are granted; now, or at an instant of the past. */
export function standingRoutes(app: ServiceApp, { pool, now }: ReadDependencies): void {
  app.get(
    '/patients/:patientId/consents',
    {
      schema: {
        operationId: 'listConsents',
        summary: "A patient's latest decision on each consent type",
        description: 'The organisation must be named, by `org_id` (or `orgId`).',
        params: Type.Object({ patientId: Uuid }),
        querystring: Type.Object(asOfQuery, { additionalProperties: false }),
        response: answers({ 200: PatientConsentsReply }),
      },
      config: { access, servedBy: tables },
    },
    async ({ caller, params, query }) => {
      const named = namedOrg(query)
      if (named === undefined) throw problem('org-required')
      const at = instantsOf(query.as_of, now())
      const standing = await listStandingDecisions(pool, tenantOf(caller, named), params.patientId, at)
      return {
        data: standing.map((one) => {
          const { consent_type_id, consent_type_code, text_version_id, recorded_at } = one.record
          return { consent_type_id, consent_type_code, ...standingOf(one), recorded_at, text_version_id }
        }),
      }
    },
  )

  app.get(
    '/patients/:patientId/consents/:typeCode/status',
    {
      schema: {
        operationId: 'getConsentStatus',
        summary: "A patient's current decision on one consent type",
        params: Type.Object({ patientId: Uuid, typeCode: Type.String() }),
        querystring: Type.Object(asOfQuery, { additionalProperties: false }),
        response: answers({ 200: ConsentStatusReply }),
      },
      config: { access, servedBy: tables },
    },
    async ({ caller, params, query }) => {
      const org = tenantOf(caller, namedOrg(query))
      const at = instantsOf(query.as_of, now())
      const { code } = await getConsentTypeByCode(pool, org, params.typeCode)
      const [standing] = await listStandingDecisions(pool, org, params.patientId, { code, ...at })
      if (standing === undefined) return undecided
      const { recorded_at, text_version_id } = standing.record
      return { ...standingOf(standing), recorded_at, text_version_id }
    },
  )

  app.get(
    '/patients/:patientId/consents/check',
    {
      schema: {
        operationId: 'checkConsents',
        summary: 'Whether a patient has granted each of several consent types',
        description:
          'Every code that is asked for is answered: one that the organisation does not have is not granted.',
        params: Type.Object({ patientId: Uuid }),
        querystring: Type.Object(
          {
            ...asOfQuery,
            types: Type.String({ maxLength: 4096, description: 'Type codes, separated by commas, at most 50' }),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: ConsentCheckReply }),
      },
      config: { access, servedBy: tables },
    },
    async ({ caller, params, query }) => {
      const org = tenantOf(caller, namedOrg(query))
      const { asOf } = instantsOf(query.as_of, now())
      const codes = codesOf(query.types)
      const latest = await latestDecisions(pool, org, params.patientId, codes, asOf)
      return { consents: Object.fromEntries(codes.map((code) => [code, latest.get(code)?.decision === 'granted'])) }
    },
  )
}

const undecided = {
  granted: false,
  decision: null,
  recorded_at: null,
  text_version_id: null,
  text_version_current: null,
  reconsent_required: null,
} as const

function standingOf({ record, isTextCurrent }: StandingDecision) {
  const granted = record.decision === 'granted'
  return {
    decision: record.decision,
    granted,
    text_version_current: isTextCurrent,
    reconsent_required: granted && !isTextCurrent,
  }
}

/** Nobody knows what will be: an instant that has not come is refused. */
function instantsOf(asOf: string | undefined, now: Date): { readonly asOf: Date | null; readonly now: Date } {
  if (asOf === undefined) return { asOf: null, now }
  const instant = new Date(asOf)
  if (instant.getTime() <= now.getTime()) return { asOf: instant, now }
  throw problem('validation-failed', {
    errors: [{ pointer: '/as_of', detail: 'must not be in the future', code: 'in-the-future' }],
  })
}

function codesOf(types: string): readonly string[] {
  const codes = [
    ...new Set(
      types
        .split(',')
        .map((code) => code.trim())
        .filter((code) => code !== ''),
    ),
  ]
  if (codes.length > 0 && codes.length <= mostCodes) return codes
  throw problem('validation-failed', {
    errors: [{ pointer: '/types', detail: 'must name 1 to 50 consent type codes', code: 'count' }],
  })
}
