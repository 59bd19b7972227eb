import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { commandContext } from '../../platform/http/request-context.ts'
import { Problem, problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { identifierConflict, patientsHolding } from '../clinical/identifier-reservations.ts'
import { registerWithIdentifiers } from '../clinical/register-with-identifiers.ts'
import { personOf } from '../clinical/bodies.ts'
import { requirePatient } from '../clinical/require-patient.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import type { KeyedRequest } from '../../engine/commands/keyed-request.ts'
import type { CreateAssessmentBody } from './bodies.ts'

const conflictAttempts = 8
const conflictPauseMs = 20

/**
 * The patient that the body names or describes. If an identifier matches one patient, that patient is used again.
 *
 * @throws Problem `patient-not-found`, `patient-identifier-conflict`
 */
export async function patientOfRequest(
  deps: CommandDependencies,
  request: FastifyRequest,
  orgId: TenantId,
  body: CreateAssessmentBody,
  keyed: KeyedRequest,
): Promise<string> {
  if (body.patient_id !== undefined) return requirePatient(deps, orgId, body.patient_id)
  if (body.patient === undefined) throw problem('internal-error')
  const person = personOf(body.patient)
  const { identifiers } = person
  const command = {
    patientId: keyed.idOf('patient'),
    organisationId: orgId,
    person,
    now: deps.now(),
    fingerprint: keyed.fingerprint,
  }
  for (let attempt = 1; ; attempt++) {
    const holders = await patientsHolding(deps, orgId, identifiers)
    if (holders.size > 1) throw inPatient(identifierConflict(identifiers, [...holders.values()].flat()))
    const [holder] = holders.keys()
    if (holder !== undefined && holder !== command.patientId) return holder
    try {
      await registerWithIdentifiers(deps, orgId, command, commandContext(request, { orgId }))
      return command.patientId
    } catch (error) {
      // Another request is registering the same patient. Once it is registered, it is the one match and is used.
      if (!isIdentifierConflict(error)) throw error
      if (attempt === conflictAttempts) throw inPatient(error)
      await sleep(conflictPauseMs * attempt)
    }
  }
}

/** Moves the pointers below the member `patient`, which contains the identifiers. */
function inPatient({ code, errors = [], cause }: Problem): Problem {
  return problem(code, { errors: errors.map((error) => ({ ...error, pointer: `/patient${error.pointer}` })), cause })
}

function isIdentifierConflict(error: unknown): error is Problem {
  return error instanceof Problem && error.code === 'patient-identifier-conflict'
}
