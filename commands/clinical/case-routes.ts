import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { created } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { CaseRecord, toCaseRecord } from '../../contracts/clinical/cases.ts'
import { cases } from '../../streams/case/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { freeFormErrors, OpenCaseBody } from './bodies.ts'
import { openCase } from './open-case.ts'
import { requirePatient } from './require-patient.ts'

export function caseWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault, now } = deps

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
      config: { access: { scopes: ['cases:write'] }, hasEtag: true },
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
      const target = { ...cases.of(orgId, keyed.id), isNew: true }
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
