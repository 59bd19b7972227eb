import { Type } from 'typebox'
import {
  ErasureRecord,
  LegalHoldRecord,
  toErasureRecord,
  toLegalHoldRecord,
} from '../../contracts/clinical/erasures.ts'
import { accepted, changed, deleted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import type { Executed } from '../../engine/commands/execute.ts'
import { changedByOf, tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Instant, Text, Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { nameShown } from '../../platform/http/shown-content.ts'
import type { PersonalCategory } from '../../platform/kit/personal-content.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { isErasing, patientErasures, type PatientErasureState } from '../../streams/patient-erasure/aggregate.ts'
import { ErasureReason, type PatientErasureEvent } from '../../streams/patient-erasure/events.ts'
import { approveErasure, cancelErasure, isHeld, placeHold, releaseHold, requestErasure } from './erase-patient.ts'
import type { KnownPatients } from './require-patient.ts'

const EraseBody = Type.Object(
  {
    reason: ErasureReason,
    reference: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9._/-]{1,64}$',
        description: 'Of the caller, for example a number of a letter. Stays readable, as the reason does',
      }),
    ),
  },
  { $id: 'ErasePatientBody', additionalProperties: false },
)

const HoldBody = Type.Object(
  {
    reason: Text(500),
    until: Type.Optional(
      Type.String({ ...Instant, description: 'The hold ends then. Without it: when it is released' }),
    ),
  },
  { $id: 'LegalHoldBody', additionalProperties: false },
)

const access = { scopes: ['patients:erase'], alsoOfActor: true } as const
const shownHold = new Set<PersonalCategory>(['record'])

/** Erasure of a patient, and the legal hold that prevents it. */
export function erasureRoutes(app: ServiceApp, deps: CommandDependencies & KnownPatients): void {
  const { store, vault, configuration, isKnownPatient } = deps
  const { erasureApprovals, backupRetentionDays } = configuration

  const answerOf = ({ state, ...done }: Executed<PatientErasureState, PatientErasureEvent>) => {
    if (state.erasure === undefined) throw problem('not-found')
    // Other processes follow the event, and this one does not wait for it.
    if (isErasing(state)) vault.closeSubject(state.erasure.organisationId, state.erasure.patientId)
    return { ...done, record: toErasureRecord(state.erasure, backupRetentionDays) }
  }
  const usual = {
    method: 'POST',
    access,
    reply: accepted(ErasureRecord, ({ patient_id: id }: ErasureRecord) => `/patients/${id}/erasure`),
    readBy: [],
    showsErased: true,
  } as const

  async function requireKnown(tenant: TenantId, patientId: string): Promise<void> {
    const { revision } = await store.loadCached(patientErasures.of(tenant, patientId))
    if (revision === 'no_stream' && !(await isKnownPatient(tenant, patientId))) throw problem('not-found')
  }

  commandRoute(app, deps, {
    ...usual,
    path: '/patients/:id/erase',
    operationId: 'erasePatient',
    summary: 'Erase everything about a patient',
    description:
      'From the answer on, nothing new about the patient is recorded. With `ERASURE_APPROVALS=2` it begins when another user approves. `GET …/erasure` shows how far it is.',
    body: EraseBody,
    problems: ['legal-hold', 'actor-context-missing', 'read-model-behind'],
    handle: async ({ tenant, caller, params, body, keyed, now, run }) => {
      await requireKnown(tenant, params.id)
      const command = {
        patientId: params.id,
        organisationId: tenant,
        reason: body.reason,
        reference: body.reference ?? null,
        approvals: erasureApprovals,
        actor: caller.actor?.auditId ?? null,
        requestedBy: changedByOf(caller),
        request: keyed.causing,
        now,
      }
      return answerOf(await run(patientErasures.of(tenant, params.id), (state) => requestErasure(command, state)))
    },
  })

  commandRoute(app, deps, {
    ...usual,
    path: '/patients/:id/erasure/approve',
    operationId: 'approveErasure',
    summary: 'Agree to an erasure as the second person',
    problems: ['second-person-required', 'erasure-not-waiting', 'legal-hold', 'actor-context-missing'],
    handle: async ({ tenant, caller, params, keyed, now, run }) => {
      const actor = caller.actor?.auditId ?? null
      const command = { patientId: params.id, organisationId: tenant, actor, request: keyed.causing, now }
      return answerOf(await run(patientErasures.of(tenant, params.id), (state) => approveErasure(command, state)))
    },
  })

  commandRoute(app, deps, {
    ...usual,
    path: '/patients/:id/erasure/cancel',
    operationId: 'cancelErasure',
    summary: 'Withdraw an erasure that waits for approval',
    problems: ['erasure-not-waiting', 'actor-context-missing'],
    handle: async ({ tenant, caller, params, keyed, now, run }) => {
      const actor = caller.actor?.auditId ?? null
      const command = { patientId: params.id, organisationId: tenant, actor, request: keyed.causing, now }
      return answerOf(await run(patientErasures.of(tenant, params.id), (state) => cancelErasure(command, state)))
    },
  })

  app.get(
    '/patients/:id/erasure',
    {
      schema: {
        operationId: 'getErasure',
        summary: 'How far the erasure of a patient is',
        description: 'The latest erasure, also one that was cancelled.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery(),
        response: answers({ 200: ErasureRecord }),
      },
      config: { access },
    },
    async (request) => {
      const tenant = tenantOf(request.caller, namedOrg(request.query))
      const { state } = await store.load(patientErasures.of(tenant, request.params.id.toLowerCase()))
      if (state.erasure === undefined) throw problem('not-found')
      return toErasureRecord(state.erasure, backupRetentionDays)
    },
  )

  commandRoute(app, deps, {
    method: 'PUT',
    path: '/patients/:id/legal-hold',
    operationId: 'placeLegalHold',
    summary: 'Forbid the erasure of a patient',
    description: 'Replaces the hold, if there is one.',
    access,
    body: HoldBody,
    reply: changed(LegalHoldRecord),
    shows: (_, { params: { id: patientId } }) => ({ patientId }),
    readBy: [],
    problems: ['subject-erased', 'read-model-behind'],
    handle: async ({ tenant, caller, params, body, now, run }) => {
      const until = body.until === undefined ? null : new Date(body.until)
      if (until !== null && until <= now) throw invalidMember('/until', 'is not in the future', 'future')
      await requireKnown(tenant, params.id)
      const command = {
        patientId: params.id,
        organisationId: tenant,
        reason: body.reason,
        until: until?.toISOString() ?? null,
        placedBy: changedByOf(caller),
        now,
      }
      const done = await run(patientErasures.of(tenant, params.id), (state) => placeHold(command, state))
      const { hold } = done.state
      if (hold === undefined) throw problem('internal-error')
      return { ...done, record: toLegalHoldRecord(hold) }
    },
  })

  commandRoute(app, deps, {
    method: 'DELETE',
    path: '/patients/:id/legal-hold',
    operationId: 'releaseLegalHold',
    summary: 'Permit the erasure of a patient again',
    description: 'Without a hold nothing changes.',
    access,
    reply: deleted,
    readBy: [],
    problems: ['subject-erased', 'read-model-behind'],
    handle: async ({ tenant, caller, params, now, run }) => {
      await requireKnown(tenant, params.id)
      const command = { patientId: params.id, releasedBy: changedByOf(caller), now }
      const done = await run(patientErasures.of(tenant, params.id), (state) => releaseHold(command, state))
      return { ...done, record: null }
    },
  })

  app.get(
    '/patients/:id/legal-hold',
    {
      schema: {
        operationId: 'getLegalHold',
        summary: 'The legal hold on a patient',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery(),
        response: answers({ 200: LegalHoldRecord }, ['subject-erased']),
      },
      config: { access, showsPersonal: true },
    },
    async (request) => {
      const tenant = tenantOf(request.caller, namedOrg(request.query))
      const patientId = request.params.id.toLowerCase()
      const { state } = await store.load(patientErasures.of(tenant, patientId))
      if (isErasing(state)) throw problem('subject-erased')
      if (state.hold === undefined || !isHeld(state, deps.now())) throw problem('not-found')
      nameShown(request, tenant, [{ content: shownHold, persons: { patientId } }])
      return toLegalHoldRecord(state.hold)
    },
  )
}
