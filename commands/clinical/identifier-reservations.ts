import { v5 } from 'uuid'
import { problem, type Problem } from '../../platform/http/problems.ts'
import { identifierKeyOf } from '../../contracts/clinical/identifier-key.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { PatientIdentifier } from '../../streams/patient/events.ts'
import { patients, type PatientState } from '../../streams/patient/aggregate.ts'
import { expireClaim } from './expire-claim.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute } from '../../engine/commands/execute.ts'
import {
  reserve,
  holderOf,
  reservationsOf,
  vacate,
  type ReservationRequest,
  type ReservationResult,
  type OwnerState,
  type Reservations,
} from '../../engine/commands/reservations.ts'

export interface ReservingPatient {
  readonly orgId: TenantId
  readonly patientId: string
  /** Fingerprint of the keyed request that claims. Null without a key. */
  readonly fingerprint: string | null
  /** All identifiers as the request lists them, so that a refusal can point at one. */
  readonly listed: readonly PatientIdentifier[]
}

/** The identifiers that one command claims for a patient. Each (organisation, scheme, value) belongs to one patient. */
export interface IdentifierReservations {
  /**
   * Claims the identifiers in a fixed order, so that two requests never each hold a key that the other needs.
   *
   * @throws Problem `patient-identifier-conflict` if one belongs to another patient
   */
  readonly take: (identifiers: readonly PatientIdentifier[], options?: TakeOptions) => Promise<void>
  /**
   * To be called after the append to the patient. Confirms the claims, and returns the identifiers lost to another
   * patient.
   */
  readonly keep: () => Promise<readonly PatientIdentifier[]>
  /**
   * To be called after a refusal. Ends the claims made here, except those of identifiers that the patient has, and those
   * that another request of the patient had made before.
   */
  readonly giveBack: () => Promise<void>
}

interface TakeOptions {
  /**
   * Number of the attempt. It renews earlier claims of the patient (`ReservationRequest.isRenewing`), which may have
   * expired before the revision on which the attempt decides.
   */
  readonly turn: number
}

type Reserved = Extract<ReservationResult, { kind: 'reserved' }>

interface Taken {
  readonly identifier: PatientIdentifier
  readonly reserved: Reserved
  /** No other request of the patient may use the claim. */
  readonly isOwn: boolean
}

/** Enough for as many commands as may correct one patient at once. */
const attempts = 40

export function identifierReservations(
  deps: CommandDependencies,
  patient: ReservingPatient,
  context: CommandContext,
): IdentifierReservations {
  const reservations = reservationsOfIdentifiers(deps)
  const target = patients.of(patient.orgId, patient.patientId)
  const taken = new Map<string, Taken>()
  const named = (name: string) => ({ ...context, commandId: v5(name, context.commandId) })
  const requestOf = (key: string, isRenewing: boolean): ReservationRequest => {
    const { orgId, patientId, fingerprint } = patient
    return { orgId, key, ownerId: patientId, ownerStream: target.stream, fingerprint, isRenewing }
  }

  /** Until the claim is confirmed under our own id, another request that read an older claim may still end it. */
  const isKept = async (key: string, reserved: Reserved): Promise<boolean> => {
    if (await reserved.confirm()) return true
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const owner = await reservations.ownerOf(target.stream, key)
      if (owner !== 'present') return owner === 'lacking'
      const again = await reserve(reservations, requestOf(key, true), named(`keep-${attempt}`))
      if (again.kind === 'held') return false
      if (await again.confirm()) return true
    }
    throw problem('conflict')
  }

  return {
    take: async (identifiers, options) => {
      for (const identifier of uniqueIdentifiers(identifiers)) {
        const key = identifierKeyOf(identifier)
        const reserving = options === undefined ? context : named(`turn-${options.turn}`)
        const result = await reserve(reservations, requestOf(key, options !== undefined), reserving)
        if (result.kind === 'held') throw identifierConflict(patient.listed, [identifier])
        taken.set(key, { identifier, reserved: result, isOwn: isMadeHere(result, taken.get(key)) })
      }
    },
    keep: async () => {
      const lost: PatientIdentifier[] = []
      for (const [key, { identifier, reserved }] of taken) if (!(await isKept(key, reserved))) lost.push(identifier)
      return lost
    },
    giveBack: async () => {
      if (taken.size === 0) return
      const { state } = await deps.store.load(target)
      for (const [key, { reserved, isOwn }] of taken)
        if (isOwn && ownerStateOf(state, key) !== 'present') await reserved.release()
    },
  }
}

/** The claim was free before this command made it. */
function isMadeHere({ isNew, renewedId, claimId }: Reserved, before: Taken | undefined): boolean {
  if (isNew && renewedId === null) return true
  return before?.isOwn === true && before.reserved.claimId === (renewedId ?? claimId)
}

/**
 * The problem points at the taken identifiers, or at the list if they are unknown. It never names the other patient.
 */
export function identifierConflict(listed: readonly PatientIdentifier[], taken: readonly PatientIdentifier[]): Problem {
  const keys = new Set(taken.map(identifierKeyOf))
  const places = listed.flatMap((identifier, place) =>
    keys.has(identifierKeyOf(identifier)) ? [`/identifiers/${place}`] : [],
  )
  const pointers = places.length === 0 ? ['/identifiers'] : places
  return problem('patient-identifier-conflict', {
    errors: pointers.map((pointer) => ({ pointer, detail: 'belongs to another patient', code: 'other-patient' })),
  })
}

/** The patients of the organisation that have any of the identifiers, each with those it has. */
export async function patientsHolding(
  deps: CommandDependencies,
  orgId: TenantId,
  identifiers: readonly PatientIdentifier[],
): Promise<ReadonlyMap<string, readonly PatientIdentifier[]>> {
  const holders = new Map<string, PatientIdentifier[]>()
  for (const identifier of uniqueIdentifiers(identifiers)) {
    const holder = await holderOf(reservationsOfIdentifiers(deps), orgId, identifierKeyOf(identifier))
    if (holder !== null) holders.set(holder, [...(holders.get(holder) ?? []), identifier])
  }
  return holders
}

/**
 * Frees identifiers that a patient no longer has. If this does not run, the next request for one finds that it is free.
 */
export async function vacateIdentifiers(
  deps: CommandDependencies,
  orgId: TenantId,
  identifiers: readonly PatientIdentifier[],
  context: CommandContext,
): Promise<void> {
  for (const identifier of uniqueIdentifiers(identifiers)) {
    await vacate(
      reservationsOfIdentifiers(deps),
      { orgId, key: identifierKeyOf(identifier) },
      { ...context, commandId: v5('vacate', context.commandId) },
    )
  }
}

/** The identifiers of the first list that are not in the second. */
export function without(
  identifiers: readonly PatientIdentifier[],
  others: readonly PatientIdentifier[],
): PatientIdentifier[] {
  const keys = new Set(others.map(identifierKeyOf))
  return identifiers.filter((identifier) => !keys.has(identifierKeyOf(identifier)))
}

function reservationsOfIdentifiers(deps: CommandDependencies): Reservations {
  const { store, vault, now } = deps
  return reservationsOf(
    deps,
    async (ownerStream, key) => {
      const { orgId, id } = parseOwnedStream(ownerStream)
      // An erased patient has none, also before the erasure released them.
      if (vault.isClosed(orgId, id)) return 'revoked'
      const { state } = await store.load(patients.at(ownerStream))
      return ownerStateOf(state, key)
    },
    async ({ claimId, ownerStream, key }, context) => {
      const command = { patientId: parseOwnedStream(ownerStream).id, claimId, now: now() }
      const expire = (state: PatientState) =>
        ownerStateOf(state, key) === 'present' ? [] : expireClaim(command, state)
      const { state } = await execute(store, patients.at(ownerStream), expire, context)
      return ownerStateOf(state, key)
    },
  )
}

/** A revoked registration holds no identifier, not even one that it had confirmed. */
function ownerStateOf(state: PatientState, key: string): OwnerState {
  if (state.status !== 'registered') return state.status
  // Null after an erasure. The identifiers of an erased patient stay taken.
  const holds =
    state.person === null || state.person.identifiers.some((identifier) => identifierKeyOf(identifier) === key)
  return holds ? 'present' : 'lacking'
}

/** Sorted, so that two registrations with common identifiers compete for the same one first. */
function uniqueIdentifiers(identifiers: readonly PatientIdentifier[]): PatientIdentifier[] {
  return [...new Map(identifiers.map((each) => [identifierKeyOf(each), each])).entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, each]) => each)
}
