import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { created } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/problems.ts'
import { PatientRecord, toPatientRecord } from '../../platform/records/patients.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { birthErrors, RegisterPatientBody } from './bodies.ts'
import { registerWithIdentifiers } from './register-with-identifiers.ts'

export function patientWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { vault, now } = deps

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
}
