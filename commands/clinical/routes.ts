import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { created } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/problems.ts'
import { CaseRecord, PatientRecord, toCaseRecord, toPatientRecord } from '../../platform/records/clinical.ts'
import { caseFold } from '../../streams/case/state.ts'
import { caseStream } from '../../streams/case/stream.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { birthErrors, freeFormErrors, OpenCaseBody, RegisterPatientBody } from './bodies.ts'
import { openCase } from './open-case.ts'
import { requirePatient } from './require-patient.ts'
import { registerWithIdentifiers } from './register-with-identifiers.ts'

export function clinicalWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault, now } = deps

  app.post(
    '/patients',
    {
      schema: {
        operationId: 'registerPatient',
        summary: 'Register a patient',
        querystring: OrgQuery,
        body: RegisterPatientBody,
        response: answers({ 201: PatientRecord }, ['patient-identifier-conflict', ...keyProblems]),
      },
      config: { access: { scopes: ['patients:write'] } },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const keyed = keyedRequest(request, orgId, vault, body)
      const at = now()
      const errors = birthErrors(body.dob, '/dob', at)
      if (errors.length > 0) throw problem('validation-failed', { errors })
      const command = {
        patientId: keyed.id,
        organisationId: orgId,
        givenName: body.given_name,
        familyName: body.family_name,
        dob: body.dob,
        identifiers: body.identifiers ?? [],
        now: at,
        fingerprint: keyed.fingerprint,
      }
      const done = await registerWithIdentifiers(deps, orgId, command, commandContext(request, { orgId }))
      return created(reply, {
        body: toPatientRecord(done.state),
        location: `/patients/${keyed.id}`,
        position: done.reached,
        projectors: ['patients'],
        revision: done.revision,
        isReplayed: done.events.length === 0,
      })
    },
  )

  app.post(
    '/cases',
    {
      schema: {
        operationId: 'openCase',
        summary: 'Open a case',
        querystring: OrgQuery,
        body: OpenCaseBody,
        response: answers({ 201: CaseRecord }, ['patient-not-found', ...keyProblems]),
      },
      config: { access: { scopes: ['cases:write'] } },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const keyed = keyedRequest(request, orgId, vault, body)
      const errors = freeFormErrors(body)
      if (errors.length > 0) throw problem('validation-failed', { errors })
      const patientId = await requirePatient(deps, orgId, body.patient_id)
      const command = {
        caseId: keyed.id,
        organisationId: orgId,
        patientId,
        productId: body.product_id?.toLowerCase() ?? caller.productId,
        assessmentId: null,
        externalReference: body.external_reference ?? null,
        clinicalContext: body.clinical_context ?? null,
        customFields: body.custom_fields ?? null,
        now: now(),
        fingerprint: keyed.fingerprint,
      }
      const target = { fold: caseFold, stream: caseStream(orgId, keyed.id), isNew: true }
      const done = await execute(store, target, (state) => openCase(command, state), commandContext(request, { orgId }))
      if (done.state.status !== 'open') throw problem('internal-error')
      return created(reply, {
        body: toCaseRecord(done.state),
        location: `/cases/${keyed.id}`,
        position: done.reached,
        projectors: ['cases'],
        revision: done.revision,
        isReplayed: done.events.length === 0,
      })
    },
  )
}
