import { v5 } from 'uuid'
import { problem } from '../../platform/problems.ts'
import { AppendOutcomeUnknownError } from '../../streams/store/errors.ts'
import type { CommandContext } from '../../streams/store/events.ts'
import type { PatientEvent, PatientIdentifier } from '../../streams/patient/events.ts'
import { patientFold, type RegisteredPatient } from '../../streams/patient/state.ts'
import { patientStream } from '../../streams/patient/stream.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute, type Executed } from '../handling/execute.ts'
import { claim, holderOf, reservationsOf, type Reservations } from '../handling/reservations.ts'
import { registerPatient, revokeRegistration, type RegisterPatient } from './register-patient.ts'

type Registered = Omit<Executed<RegisteredPatient, PatientEvent>, 'state'> & { readonly state: RegisteredPatient }

/**
 * Registers a patient; each (organisation, scheme, value) belongs to one patient by reservation: claimed before the
 * registration, confirmed after it, released when it is refused.
 *
 * @throws Problem `patient-identifier-conflict`, `idempotency-key-reused`
 */
export async function registerWithIdentifiers(
  deps: CommandDependencies,
  orgId: string,
  command: RegisterPatient,
  context: CommandContext,
): Promise<Registered> {
  const target = { fold: patientFold, stream: patientStream(orgId, command.patientId), isNew: true }
  // Whoever was registered before claims nothing again; without identifiers there is nothing to claim.
  const isClaiming = command.identifiers.length > 0 && (await deps.store.load(target.fold, target.stream)).state.status === 'absent'
  const claims = isClaiming ? await claimAll(deps, orgId, command, target.stream, context) : []
  try {
    const done = await execute(deps.store, target, (state) => registerPatient(command, state), context)
    if (done.state.status !== 'registered') throw problem('patient-identifier-conflict')
    for (const each of claims) {
      if (await each.confirm()) continue
      const revoke = { ...context, commandId: v5('revoke', context.commandId) }
      await execute(deps.store, target, (state) => revokeRegistration(command, state), revoke)
      throw problem('patient-identifier-conflict')
    }
    return { ...done, state: done.state }
  } catch (error) {
    // The registration may have happened: the claims stay, and whoever meets them looks for the patient.
    if (error instanceof AppendOutcomeUnknownError) throw error
    if ((await deps.store.load(target.fold, target.stream, { fresh: true })).state.status !== 'registered') {
      await releaseAll(claims)
    }
    throw error
  }
}

type Claimed = Extract<Awaited<ReturnType<typeof claim>>, { kind: 'claimed' }>

async function claimAll(
  deps: CommandDependencies,
  orgId: string,
  command: RegisterPatient,
  ownerStream: string,
  context: CommandContext,
): Promise<Claimed[]> {
  const claims: Claimed[] = []
  for (const identifier of uniqueIdentifiers(command.identifiers)) {
    const request = { orgId, key: keyOf(identifier), ownerId: command.patientId, ownerStream, fingerprint: command.fingerprint }
    const result = await claim(identifiersOf(deps), request, context)
    if (result.kind === 'claimed') {
      claims.push(result)
      continue
    }
    await releaseAll(claims)
    throw problem('patient-identifier-conflict')
  }
  return claims
}

async function releaseAll(claims: readonly Claimed[]): Promise<void> {
  for (const each of claims) if (each.isNew) await each.release()
}

/** The patients of the organisation that hold any of the identifiers. */
export async function patientsHolding(
  deps: CommandDependencies,
  orgId: string,
  identifiers: readonly PatientIdentifier[],
): Promise<readonly string[]> {
  const holders = new Set<string>()
  for (const identifier of uniqueIdentifiers(identifiers)) {
    const holder = await holderOf(identifiersOf(deps), orgId, keyOf(identifier))
    if (holder !== null) holders.add(holder)
  }
  return [...holders]
}

/**
 * A revoked registration holds none of the identifiers that it had confirmed before it met the one that it lost; nor does
 * a registered patient hold one that was claimed for it by a request which a crash cut off.
 */
function identifiersOf(deps: CommandDependencies): Reservations {
  return reservationsOf(deps, async (ownerStream, key) => {
    const { state } = await deps.store.load(patientFold, ownerStream, { fresh: true })
    if (state.status !== 'registered') return state.status
    // Null after an erasure: what the patient held is not free for others.
    const holds = state.identifiers === null || state.identifiers.some((identifier) => keyOf(identifier) === key)
    return holds ? 'present' : 'revoked'
  })
}

/** Sorted, so that two registrations that share identifiers meet at the first one and not crosswise. */
function uniqueIdentifiers(identifiers: readonly PatientIdentifier[]): PatientIdentifier[] {
  return [...new Map(identifiers.map((each) => [keyOf(each), each])).entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, each]) => each)
}

function keyOf({ scheme, value }: PatientIdentifier): string {
  return `identifier\0${JSON.stringify([scheme, value])}`
}
