import { CaseRecord, toCaseRecord } from '../../contracts/clinical/cases.ts'
import { PatientRecord, toPatientRecord } from '../../contracts/clinical/patients.ts'
import { requireValid } from '../../platform/http/problems.ts'
import { requireMatch } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { casesProjector } from '../../projections/clinical/cases.projector.ts'
import { patientsProjector } from '../../projections/clinical/patients.projector.ts'
import { cases, type ExistingCase } from '../../streams/case/aggregate.ts'
import { changed, created } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { requireDefinition } from './require-definition.ts'
import {
  birthErrors,
  CorrectPatientBody,
  freeFormErrors,
  OpenCaseBody,
  personOf,
  RegisterPatientBody,
} from './bodies.ts'
import { closeCase } from './close-case.ts'
import { correctWithIdentifiers } from './correct-with-identifiers.ts'
import { openCase } from './open-case.ts'
import { registerWithIdentifiers } from './register-with-identifiers.ts'
import { requireLivingPatient, requirePatient } from './require-patient.ts'

const patientAccess = { scopes: ['patients:write'] } as const
const caseAccess = { scopes: ['cases:write'] } as const

export function clinicalWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  commandRoute(app, deps, {
    method: 'POST',
    path: '/patients',
    operationId: 'registerPatient',
    summary: 'Register a patient',
    access: patientAccess,
    body: RegisterPatientBody,
    hasEtag: true,
    reply: created(PatientRecord, ({ id }) => `/patients/${id}`),
    readBy: [patientsProjector],
    problems: ['patient-identifier-conflict', 'subject-erased'],
    handle: async ({ tenant, body, keyed, now, context }) => {
      requireValid(birthErrors(body.dob, '/dob', now))
      const command = {
        patientId: keyed.id,
        organisationId: tenant,
        person: personOf(body),
        now,
        fingerprint: keyed.fingerprint,
      }
      const done = await registerWithIdentifiers(deps, tenant, command, context)
      return { ...done, record: toPatientRecord(done.state), patientId: done.state.patientId }
    },
  })

  commandRoute(app, deps, {
    method: 'PATCH',
    path: '/patients/:id',
    operationId: 'correctPatient',
    summary: 'Correct the data of a patient',
    description: 'Omitted members stay unchanged. `identifiers` replaces the list.',
    access: patientAccess,
    body: CorrectPatientBody,
    hasEtag: true,
    ifMatch: 'record',
    reply: changed(PatientRecord),
    shows: ({ id: patientId }) => ({ patientId }),
    readBy: [patientsProjector],
    problems: ['patient-identifier-conflict', 'subject-erased'],
    handle: async ({ tenant, params, body, now, context, request }) => {
      const { given_name: givenName, family_name: familyName, dob, identifiers } = body
      if (dob !== undefined) requireValid(birthErrors(dob, '/dob', now))
      const command = { givenName, familyName, dob, identifiers, now }
      const patient = { orgId: tenant, patientId: params.id }
      const done = await correctWithIdentifiers(deps, patient, command, context, (revision) =>
        requireMatch(request, revision),
      )
      return { ...done, record: toPatientRecord(done.state) }
    },
  })

  commandRoute(app, deps, {
    method: 'POST',
    path: '/cases',
    operationId: 'openCase',
    summary: 'Open a case',
    description: 'With `workflow_definition_id`, a workflow instance starts within a second after the answer.',
    access: caseAccess,
    body: OpenCaseBody,
    hasEtag: true,
    reply: created(CaseRecord, ({ id }) => `/cases/${id}`),
    readBy: [casesProjector],
    problems: ['patient-not-found', 'workflow-definition-not-found'],
    handle: async ({ tenant, caller, body, keyed, now, run }) => {
      requireValid(freeFormErrors(body))
      const { workflow_definition_id: workflowDefinitionId } = body
      const workflow =
        workflowDefinitionId === undefined
          ? null
          : {
              workflowInstanceId: keyed.idOf('workflow-instance'),
              workflowDefinitionId,
              definitionVersion: await requireDefinition(deps, tenant, workflowDefinitionId),
            }
      const command = {
        caseId: keyed.id,
        organisationId: tenant,
        patientId: await requirePatient(deps, tenant, body.patient_id),
        productId: body.product_id ?? caller.productId,
        assessmentId: null,
        externalReference: body.external_reference ?? null,
        clinicalContext: body.clinical_context ?? null,
        customFields: body.custom_fields ?? null,
        workflow,
        now,
        fingerprint: keyed.fingerprint,
      }
      const done = await run({ ...cases.of(tenant, keyed.id), isNew: true }, (state) => openCase(command, state))
      return { ...done, record: recordOf(done.state) }
    },
  })

  commandRoute(app, deps, {
    method: 'POST',
    path: '/cases/:id/close',
    operationId: 'closeCase',
    summary: 'Close a case',
    description:
      'Its running workflow instances are cancelled. Afterwards the case takes no images, reviews and workflow instances. An assessment or a review that has begun goes on. A repeat changes nothing. While a task of human review is open or claimed the case is `in_review` and stays so.',
    access: caseAccess,
    hasEtag: true,
    ifMatch: 'stream',
    reply: changed(CaseRecord),
    shows: ({ patient_id: patientId }) => ({ patientId }),
    readBy: [casesProjector],
    problems: ['case-in-review'],
    handle: async ({ tenant, params, now, run }) => {
      const target = cases.of(tenant, params.id)
      const { state: known } = await deps.store.loadCached(target)
      if (known.status !== 'absent') await requireLivingPatient(deps, tenant, known.patientId)
      const done = await run(target, (state) => closeCase({ now }, state))
      return { ...done, record: recordOf(done.state), isReplayed: false }
    },
  })
}

function recordOf(state: ExistingCase): CaseRecord {
  return toCaseRecord({ ...state, workflowInstanceId: state.workflow?.workflowInstanceId ?? null })
}
