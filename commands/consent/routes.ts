import { createHash } from 'node:crypto'
import { v5 } from 'uuid'
import {
  ConsentDecisionRecord,
  ConsentTextVersionRecord,
  ConsentTypeRecord,
  toConsentDecisionRecord,
} from '../../contracts/consent/record.ts'
import { toRecord } from '../../engine/reads/records.ts'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { consentRecordsProjector } from '../../projections/consent/consent-records.projector.ts'
import { consentTypesProjector } from '../../projections/consent/consent-types.projector.ts'
import {
  consentTypeIdOf,
  consentTypes,
  isDefined,
  existingType,
  type ConsentTypeState,
} from '../../streams/consent-type/aggregate.ts'
import { consents, keyedDecision } from '../../streams/consent/aggregate.ts'
import { changed, created, deleted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute } from '../../engine/commands/execute.ts'
import { onceByKey } from '../../engine/commands/once-by-key.ts'
import { CreateConsentTypeBody, PublishTextVersionBody, RecordConsentBody, UpdateConsentTypeBody } from './bodies.ts'
import {
  createConsentType,
  deleteConsentType,
  publishTextVersion,
  updateConsentType,
  useConsentType,
} from './consent-types.ts'
import { recordConsent } from './record-consent.ts'

const ofTypes = { access: { admin: 'consents:admin' }, casing: 'camel', readBy: [consentTypesProjector] } as const

/** The consent types of an organisation and their texts, and the decisions of patients (specification 4.4 and 3.5). */
export function consentWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store } = deps

  commandRoute(app, deps, {
    ...ofTypes,
    method: 'POST',
    path: '/admin/consent-types',
    operationId: 'createConsentType',
    summary: 'Create a consent type',
    body: CreateConsentTypeBody,
    hasEtag: true,
    reply: created(ConsentTypeRecord, ({ id }) => `/admin/consent-types/${id}`),
    problems: ['consent-type-code-in-use'],
    handle: async ({ tenant, body, keyed, now, context, run }) => {
      const consentTypeId = consentTypeIdOf(tenant, body.code)
      const target = consentTypes.of(tenant, consentTypeId)
      const ids = { consentTypeId, organisationId: tenant, fingerprint: keyed.identity }
      const command = { ...body, ...ids, description: body.description ?? null, now }
      const hasHappened = async () => (await store.readLast(target.stream)) !== undefined
      const owner = { orgId: tenant, ownerId: consentTypeId, ownerStream: target.stream, hasHappened }
      const done = await onceByKey(deps, keyed, owner, context, () =>
        run(target, (state) => createConsentType(command, state)),
      )
      return { ...done, record: typeRecord(done.state) }
    },
  })

  commandRoute(app, deps, {
    ...ofTypes,
    method: 'PATCH',
    path: '/admin/consent-types/:id',
    operationId: 'updateConsentType',
    summary: 'Change the description of a consent type',
    description: 'Omitted members stay unchanged. Code and legal basis never change.',
    body: UpdateConsentTypeBody,
    hasEtag: true,
    ifMatch: 'stream',
    reply: changed(ConsentTypeRecord),
    handle: async ({ tenant, params, body, now, run }) => {
      const target = consentTypes.of(tenant, params.id)
      const done = await run(target, (state) => updateConsentType({ ...body, now }, state))
      return { ...done, record: typeRecord(done.state) }
    },
  })

  commandRoute(app, deps, {
    ...ofTypes,
    method: 'DELETE',
    path: '/admin/consent-types/:id',
    operationId: 'deleteConsentType',
    summary: 'Delete a consent type without decisions',
    description: 'Its code stays taken. A type with decisions is never deleted.',
    ifMatch: 'stream',
    reply: deleted,
    problems: ['consent-type-in-use'],
    handle: async ({ tenant, params, now, run }) => {
      const done = await run(consentTypes.of(tenant, params.id), (state) => deleteConsentType({ now }, state))
      return { ...done, record: null }
    },
  })

  commandRoute(app, deps, {
    ...ofTypes,
    method: 'POST',
    path: '/admin/consent-types/:typeId/text-versions',
    operationId: 'publishConsentTextVersion',
    summary: 'Publish a text version of a consent type',
    body: PublishTextVersionBody,
    reply: created(
      ConsentTextVersionRecord,
      ({ consentTypeId }) => `/admin/consent-types/${consentTypeId}/text-versions`,
    ),
    problems: ['text-version-exists', 'text-version-limit'],
    handle: async ({ tenant, params, body, keyed, now, run }) => {
      const ids = { consentTypeId: params.typeId, textVersionId: keyed.id, fingerprint: keyed.fingerprint }
      const contentHash = createHash('sha256').update(body.text, 'utf8').digest('hex')
      const effectiveFrom = body.effectiveFrom === undefined ? null : new Date(body.effectiveFrom)
      const command = { ...ids, ...body, locale: canonicalLocale(body.locale), contentHash, effectiveFrom, now }
      const done = await run(consentTypes.of(tenant, params.typeId), (state) => publishTextVersion(command, state))
      const version = existingType(done.state).textVersions.find(
        ({ textVersionId }) => textVersionId === ids.textVersionId,
      )
      if (version === undefined) throw problem('internal-error')
      const record = { ...version, id: version.textVersionId, consentTypeId: params.typeId }
      return { ...done, record: toRecord(ConsentTextVersionRecord, record) }
    },
  })

  commandRoute(app, deps, {
    method: 'POST',
    path: '/patients/:patientId/consents',
    operationId: 'recordConsentDecision',
    summary: "Record a patient's decision",
    description:
      'The decision `granted` needs a text that was in effect at `recorded_at`; `denied` and `withdrawn` need none. A `recorded_at` that is at most 60 seconds ahead of the server counts as now, because clocks differ. A later one is refused.',
    access: { consentScope: 'consents:write' },
    body: RecordConsentBody,
    casing: 'snake',
    reply: created(ConsentDecisionRecord, ({ patient_id, id }) => `/patients/${patient_id}/consents/${id}`),
    readBy: [consentRecordsProjector],
    refusals: {
      'consent-type-not-found': {
        code: 'consent-type-not-found',
        member: 'consent_type_id',
        detail: 'is not a consent type of the organisation',
        rule: 'unknown-consent-type',
      },
      'text-of-other-type': {
        code: 'consent-text-mismatch',
        member: 'text_version_id',
        detail: 'is not a text version of this consent type',
      },
      'text-not-in-effect': {
        code: 'text-version-not-effective',
        member: 'text_version_id',
        detail: 'was not in effect yet at `recorded_at`',
      },
      'recorded-in-future': {
        code: 'validation-failed',
        member: 'recorded_at',
        detail: 'must not be more than 60 seconds in the future',
        rule: 'in-the-future',
      },
    },
    handle: async ({ tenant, caller, params, body, keyed, now, context, run, answering }) => {
      const typeTarget = consentTypes.of(tenant, body.consent_type_id)
      const consentType = await loadConsentType(tenant, body)
      const ids = { consentId: keyed.id, patientId: params.patientId, textVersionId: body.text_version_id }
      const recordedBy = body.recorded_by ?? caller.actor?.userId ?? caller.clientId
      const recordedAt = body.recorded_at === undefined ? null : new Date(body.recorded_at)
      const { fingerprint } = keyed
      const command = { ...ids, consentType, decision: body.decision, recordedBy, recordedAt, now, fingerprint }
      const markAsUsed = async () => {
        // A used type cannot be deleted, so its use need not be recorded again.
        if (isDefined(consentType) && consentType.isUsed) return
        const mark = { ...context, commandId: v5('use-consent-type', context.commandId) }
        await execute(store, typeTarget, (state) => answering(useConsentType({ now }, state)), mark)
      }
      const target = consents.of(tenant, params.patientId)
      const done = await run(target, (state) => recordConsent(command, state), markAsUsed)
      const recorded = done.events[0]?.data ?? keyedDecision(done.state, keyed.id)
      if (recorded === undefined) throw problem('internal-error')
      return { ...done, record: toConsentDecisionRecord(recorded) }
    },
  })

  /** Uses cached state, because texts never change. Reads again if the text version is missing. */
  async function loadConsentType(tenant: TenantId, body: RecordConsentBody): Promise<ConsentTypeState> {
    const target = consentTypes.of(tenant, body.consent_type_id)
    const { state: cached } = await store.loadCached(target)
    const isKnown =
      isDefined(cached) && cached.textVersions.some(({ textVersionId }) => textVersionId === body.text_version_id)
    return isKnown ? cached : (await store.load(target)).state
  }
}

/** The locale in its canonical spelling. */
function canonicalLocale(locale: string): string {
  try {
    return Intl.getCanonicalLocales(locale)[0] ?? locale
  } catch {
    throw invalidMember('/locale', 'must be a BCP 47 language tag', 'locale')
  }
}

function typeRecord(state: ConsentTypeState): ConsentTypeRecord {
  const type = existingType(state)
  return toRecord(ConsentTypeRecord, { ...type, id: type.consentTypeId })
}
