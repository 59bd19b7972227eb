import { Type } from 'typebox'
import { v5 } from 'uuid'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { created } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { ConsentDecisionRecord, toConsentDecisionRecord } from '../../contracts/consent/record.ts'
import { consents, keyedDecision } from '../../streams/consent/aggregate.ts'
import { consentTypes, isDefined, type DefinedConsentType } from '../../streams/consent-type/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { readsBothCasings, RecordConsentBody } from './bodies.ts'
import { recordConsent } from './record-consent.ts'
import { unknownConsentType, useConsentType } from './use-consent-type.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** A patient's decision, kept for good: the one recorded latest in their time decides (specification 4.4 and 3.5). */
export function decisionRoute(app: ServiceApp, { store, vault, now }: CommandDependencies): void {
  app.post(
    '/patients/:patientId/consents',
    {
      preValidation: readsBothCasings('snake'),
      schema: {
        operationId: 'recordConsentDecision',
        summary: "Record a patient's decision",
        params: Type.Object({ patientId: Uuid }),
        querystring: OrgQuery,
        body: RecordConsentBody,
        response: answers({ 201: ConsentDecisionRecord }, [
          'consent-type-not-found',
          'consent-text-mismatch',
          'text-version-not-effective',
          ...keyProblems,
        ]),
      },
      config: { access: { consentScope: 'consents:write' } },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const patientId = request.params.patientId.toLowerCase()
      const keyed = keyedRequest(request, orgId, vault, body)
      const consentType = await loadConsentType(
        orgId,
        body.consent_type_id.toLowerCase(),
        body.text_version_id.toLowerCase(),
      )
      const at = now()
      const command = {
        consentId: keyed.id,
        patientId,
        consentType,
        textVersionId: body.text_version_id.toLowerCase(),
        decision: body.decision,
        recordedBy: body.recorded_by ?? caller.actor?.userId ?? caller.clientId,
        recordedAt: body.recorded_at === undefined ? null : new Date(body.recorded_at),
        now: at,
        fingerprint: keyed.fingerprint,
      }
      const context = commandContext(request, { orgId })
      const target = consents.of(orgId, patientId)
      const markAsUsed = async () => {
        // Whether it may go was decided once and for all.
        if (consentType.isUsed) return
        const type = consentTypes.of(orgId, consentType.consentTypeId)
        const mark = { ...context, commandId: v5('use-consent-type', context.commandId) }
        await execute(store, type, (state) => useConsentType({ now: at }, state), mark)
      }
      const done = await execute(store, target, (state) => recordConsent(command, state), context, markAsUsed)
      const recorded = done.events[0]?.data ?? keyedDecision(done.state, keyed.id)
      if (recorded === undefined) throw problem('internal-error')
      return created(reply, {
        body: toConsentDecisionRecord(recorded),
        location: `/patients/${patientId}/consents/${recorded.consentId}`,
        position: done.reached,
        projectors: ['consent_records'],
        isReplayed: done.events.length === 0,
      })
    },
  )

  /** The type as it stands; read again when the cached state lacks the text version that is asked for. */
  async function loadConsentType(
    orgId: TenantId,
    consentTypeId: string,
    textVersionId: string,
  ): Promise<DefinedConsentType> {
    const target = consentTypes.of(orgId, consentTypeId)
    const { state: cached } = await store.loadCached(target)
    if (isDefined(cached) && cached.textVersions.some((one) => one.textVersionId === textVersionId)) return cached
    const { state } = await store.load(target)
    if (!isDefined(state)) throw problem('consent-type-not-found', unknownConsentType)
    return state
  }
}
