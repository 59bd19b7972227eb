import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { created, requireMatch, written } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { PatientRecord, toPatientRecord } from '../../contracts/clinical/patients.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { birthErrors, CorrectPatientBody, RegisterPatientBody } from './bodies.ts'
import { correctWithIdentifiers } from './correct-with-identifiers.ts'
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
      config: { access: { scopes: ['patients:write'] }, hasEtag: true },
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

  app.patch(
    '/patients/:id',
    {
      schema: {
        operationId: 'correctPatient',
        summary: 'Correct who a patient is',
        description: 'Members that are left out stay as they are; `identifiers` replaces the list.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        body: CorrectPatientBody,
        response: answers({ 200: PatientRecord }, ['patient-identifier-conflict', 'subject-erased']),
      },
      config: { access: { scopes: ['patients:write'] }, takesIfMatch: true, hasEtag: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      const patient = { orgId: tenantOf(caller, namedOrg(query)), patientId: params.id.toLowerCase() }
      const { given_name: givenName, family_name: familyName, dob, identifiers } = body
      const at = now()
      const errors = dob === undefined ? [] : birthErrors(dob, '/dob', at)
      if (errors.length > 0) throw problem('validation-failed', { errors })
      const command = { givenName, familyName, dob, identifiers, now: at }
      const context = commandContext(request, { orgId: patient.orgId })
      const done = await correctWithIdentifiers(deps, patient, command, context, (revision) =>
        requireMatch(request, revision),
      )
      return written(reply, {
        body: toPatientRecord(done.state),
        position: done.reached,
        projectors: ['patients'],
        revision: done.revision,
      })
    },
  )
}
