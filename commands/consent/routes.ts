import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { v5 } from 'uuid'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { created } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/problems.ts'
import {
  ConsentDecisionRecord,
  ConsentTextVersionRecord,
  ConsentTypeRecord,
  toConsentDecisionRecord,
} from '../../platform/records/consent.ts'
import { consentFold } from '../../streams/consent/state.ts'
import { consentStream } from '../../streams/consent/stream.ts'
import { consentTypeFold, type DefinedConsentType, type TextVersion } from '../../streams/consent-type/state.ts'
import { consentTypeIdOf, consentTypeStream } from '../../streams/consent-type/stream.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { onceByKey } from '../handling/once-by-key.ts'
import {
  canonicalLocale,
  CreateConsentTypeBody,
  PublishTextVersionBody,
  readsBothCasings,
  RecordConsentBody,
} from './bodies.ts'
import { createConsentType } from './create-consent-type.ts'
import { publishTextVersion } from './publish-text-version.ts'
import { recordConsent } from './record-consent.ts'
import { useConsentType } from './use-consent-type.ts'

const adminAccess = { admin: 'consents:admin' } as const

export function consentWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault, now } = deps

  app.post(
    '/admin/consent-types',
    {
      preValidation: readsBothCasings('camel'),
      schema: {
        operationId: 'createConsentType',
        summary: 'Create a consent type',
        querystring: OrgQuery,
        body: CreateConsentTypeBody,
        response: answers({ 201: ConsentTypeRecord }, ['consent-type-code-in-use', ...keyProblems]),
      },
      config: { access: adminAccess },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, body.organisationId ?? namedOrg(query))
      const consentTypeId = consentTypeIdOf(orgId, body.code)
      const keyed = keyedRequest(request, orgId, vault, body)
      const context = commandContext(request, { orgId })
      const target = { fold: consentTypeFold, stream: consentTypeStream(orgId, consentTypeId) }
      const command = {
        consentTypeId,
        organisationId: orgId,
        code: body.code,
        displayName: body.displayName,
        description: body.description ?? null,
        legalBasis: body.legalBasis,
        required: body.required,
        now: now(),
        fingerprint: keyed.identity,
      }
      const hasHappened = async () => (await store.readLast(target.stream)) !== undefined
      const owner = { orgId, ownerId: consentTypeId, ownerStream: target.stream, hasHappened }
      const { state, revision, reached, events } = await onceByKey(deps, keyed, owner, context, () =>
        execute(store, target, (current) => createConsentType(command, current), context),
      )
      return created(reply, {
        body: typeRecord(defined(state)),
        location: `/admin/consent-types/${consentTypeId}`,
        position: reached,
        projectors: ['consent_types'],
        revision,
        isReplayed: events.length === 0,
      })
    },
  )

  app.post(
    '/admin/consent-types/:typeId/text-versions',
    {
      preValidation: readsBothCasings('camel'),
      schema: {
        operationId: 'publishConsentTextVersion',
        summary: 'Publish a text version of a consent type',
        params: Type.Object({ typeId: Uuid }),
        querystring: OrgQuery,
        body: PublishTextVersionBody,
        response: answers({ 201: ConsentTextVersionRecord }, ['text-version-exists', ...keyProblems]),
      },
      config: { access: adminAccess },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const consentTypeId = request.params.typeId.toLowerCase()
      const keyed = keyedRequest(request, orgId, vault, body)
      const command = {
        consentTypeId,
        textVersionId: keyed.id,
        locale: canonicalLocale(body.locale),
        text: body.text,
        contentHash: createHash('sha256').update(body.text, 'utf8').digest('hex'),
        effectiveFrom: body.effectiveFrom === undefined ? null : new Date(body.effectiveFrom),
        now: now(),
        fingerprint: keyed.fingerprint,
      }
      const target = { fold: consentTypeFold, stream: consentTypeStream(orgId, consentTypeId) }
      const context = commandContext(request, { orgId })
      const done = await execute(store, target, (state) => publishTextVersion(command, state), context)
      const version = defined(done.state).textVersions.find((one) => one.textVersionId === keyed.id)
      if (version === undefined) throw problem('internal-error')
      return created(reply, {
        body: textVersionRecord(consentTypeId, version),
        location: `/admin/consent-types/${consentTypeId}/text-versions`,
        position: done.reached,
        projectors: ['consent_types'],
        isReplayed: done.events.length === 0,
      })
    },
  )

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
      config: { access: 'token' },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const patientId = request.params.patientId.toLowerCase()
      const keyed = keyedRequest(request, orgId, vault, body)
      const consentType = await loadConsentType(orgId, body.consent_type_id.toLowerCase(), body.text_version_id.toLowerCase())
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
      const target = { fold: consentFold, stream: consentStream(orgId, patientId) }
      const done = await execute(store, target, (state) => recordConsent(command, state), context, async () => {
        const type = { fold: consentTypeFold, stream: consentTypeStream(orgId, consentType.consentTypeId) }
        const mark = { ...context, commandId: v5('use-consent-type', context.commandId) }
        await execute(store, type, (state) => useConsentType({ now: at }, state), mark)
      })
      const recorded = done.events[0]?.data ?? done.state.keyed.get(keyed.id)
      if (recorded === undefined) throw problem('internal-error')
      return created(reply, {
        body: toConsentDecisionRecord(recorded),
        location: `/patients/${patientId}/consents/${recorded.consentTypeCode}/status`,
        position: done.reached,
        projectors: ['consent_records'],
        isReplayed: done.events.length === 0,
      })
    },
  )

  /** The type as it stands; read again when the cached state lacks the text version that is asked for. */
  async function loadConsentType(orgId: string, consentTypeId: string, textVersionId: string): Promise<DefinedConsentType> {
    const stream = consentTypeStream(orgId, consentTypeId)
    for (const fresh of [false, true]) {
      const { state } = await store.load(consentTypeFold, stream, { fresh })
      const isEnough = state.status === 'defined' && state.textVersions.some((one) => one.textVersionId === textVersionId)
      if (state.status === 'defined' && (isEnough || fresh)) return state
    }
    throw problem('consent-type-not-found')
  }
}

function defined(state: { readonly status: 'absent' } | DefinedConsentType): DefinedConsentType {
  if (state.status === 'absent') throw problem('not-found')
  return state
}

function typeRecord(state: DefinedConsentType): ConsentTypeRecord {
  return {
    id: state.consentTypeId,
    organisationId: state.organisationId,
    code: state.code,
    displayName: state.displayName,
    description: state.description,
    legalBasis: state.legalBasis,
    required: state.required,
    createdAt: state.createdAt,
    updatedAt: state.createdAt,
  }
}

function textVersionRecord(consentTypeId: string, version: TextVersion): ConsentTextVersionRecord {
  return {
    id: version.textVersionId,
    consentTypeId,
    locale: version.locale,
    text: version.text,
    contentHash: version.contentHash,
    effectiveFrom: version.effectiveFrom,
    createdAt: version.createdAt,
  }
}
