import type { EventStore } from '../store/event-store.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { ReservationEvent } from './reservation/events.ts'
import { reservations as reservationStreams, type ReservationState } from './reservation/aggregate.ts'
import { v5 } from 'uuid'
import type { Decision } from './decision.ts'
import type { CommandDependencies } from './dependencies.ts'
import { execute } from './execute.ts'

/** Time that an unconfirmed claim stays while its owner does not exist, or exists without the key. */
const graceMs = 30_000

/**
 * `lacking`: the owner exists without the key. It gave up a confirmed claim, or may soon use an unconfirmed one.
 * `revoked`: the owner has ended for ever. None of its claims counts, confirmed or not.
 */
export type OwnerState = 'absent' | 'present' | 'lacking' | 'revoked'

export interface Reservations {
  readonly store: EventStore
  /** HMAC with the vault's pepper, hex. */
  readonly hash: (key: string) => string
  readonly now: () => Date
  /** The owner's current state, also if another process wrote it. @param key the claimed key, in the clear */
  readonly ownerOf: (ownerStream: string, key: string) => Promise<OwnerState>
  /**
   * Comes before the release of a claim whose owner does not have the key. From then on the owner's stream refuses the
   * event that needs this claim, however late it comes. Resolves to the owner's state after that.
   */
  readonly expire?: ((claim: ExpiringClaim, context: CommandContext) => Promise<OwnerState>) | undefined
}

export interface ExpiringClaim {
  readonly claimId: string
  readonly ownerStream: string
  /** In the clear. */
  readonly key: string
}

type ReservationDependencies = Pick<CommandDependencies, 'store' | 'now'> & {
  readonly vault: Pick<CommandDependencies['vault'], 'fingerprint'>
}

/**
 * @param ownerOf for owners that can be revoked or lose their keys. Without it an owner is present if its stream exists
 * @param expire for owners that may still append their event after their claim has gone to another owner
 */
export function reservationsOf(
  { store, vault, now }: ReservationDependencies,
  ownerOf?: Reservations['ownerOf'],
  expire?: Reservations['expire'],
): Reservations {
  const byStream = async (stream: string): Promise<OwnerState> =>
    (await store.readLast(stream)) === undefined ? 'absent' : 'present'
  return { store, now, hash: (key) => vault.fingerprint(key), ownerOf: ownerOf ?? byStream, expire }
}

export interface ReservationRequest {
  readonly orgId: TenantId
  /** The key that must be unique, in the clear. Only its HMAC leaves this process. */
  readonly key: string
  readonly ownerId: string
  readonly ownerStream: string
  readonly fingerprint: string | null
  /**
   * Replaces an existing claim of the same owner by one with a new id. An owner that gave up the key needs this:
   * another request may be about to end the old claim, and must not end the new one.
   */
  readonly isRenewing?: boolean
}

export type ReservationResult =
  | {
      readonly kind: 'reserved'
      /**
       * True if this call made the claim. False if the owner had claimed the key before and did not renew the claim.
       */
      readonly isNew: boolean
      /** The claim of the same owner that this call renewed. Whoever made that one may be about to use it. */
      readonly renewedId: string | null
      readonly claimId: string
      readonly fingerprint: string | null
      readonly release: () => Promise<void>
      /** False if the claim was lost meanwhile, or renewed by the same owner. */
      readonly confirm: () => Promise<boolean>
    }
  | {
      readonly kind: 'held'
      readonly ownerId: string
      readonly fingerprint: string | null
      readonly isConfirmed: boolean
    }

/** The current owner of a key, or null. An unconfirmed claim of an existing owner counts as held. */
export async function holderOf(reservations: Reservations, orgId: TenantId, key: string): Promise<string | null> {
  const { state } = await reservations.store.load(reservationStreams.of(orgId, reservations.hash(key)))
  if (state.status === 'free') return null
  const owner = await reservations.ownerOf(state.reservation.ownerStream, key)
  const isHeld = owner === 'present' || (owner === 'absent' && state.status === 'confirmed')
  return isHeld ? state.reservation.ownerId : null
}

/**
 * Claims a key before its owner's append (architecture section 4). If another owner has claimed the key, reads that
 * owner. If it exists, confirms its claim. If it is absent after 30 s, releases the claim by an append, so that a late
 * confirmation fails visibly. A second claim for the same owner succeeds.
 */
export async function reserve(
  reservations: Reservations,
  request: ReservationRequest,
  context: CommandContext,
): Promise<ReservationResult> {
  const { store, now } = reservations
  const { target, step, claimId } = keyed(reservations, request, context)
  const { state } = await store.load(target)
  if (state.status !== 'free' && state.reservation.ownerId !== request.ownerId)
    await judge(reservations, request, state, context)

  const claim = reserveFor(request, claimId, now())
  let before: ReservationState = target.fold.initialState
  const decide = (current: ReservationState) => {
    before = current
    return claim(current)
  }
  const { state: held, events } = await execute(store, target, decide, step('claim'))
  if (held.status === 'free') throw new Error('a claim left its reservation free')
  if (held.reservation.ownerId !== request.ownerId) {
    const { ownerId, fingerprint } = held.reservation
    return { kind: 'held', ownerId, fingerprint, isConfirmed: held.status === 'confirmed' }
  }
  const ours = held.reservation.claimId
  return {
    kind: 'reserved',
    isNew: events.length > 0,
    renewedId: events.length > 0 ? claimIdOf(before) : null,
    claimId: ours,
    fingerprint: held.reservation.fingerprint,
    release: async () => {
      await execute(store, target, releaseReservation(ours, now()), step('release'))
    },
    confirm: async () => {
      const { state: after } = await execute(store, target, confirmReservation(ours, now()), step('confirm'))
      return after.status === 'confirmed' && after.reservation.claimId === ours
    },
  }
}

/** Ends the claim of a key that its owner has given up. A claim that is in use, or may be soon, stays. */
export async function vacate(reservations: Reservations, request: KeyOf, context: CommandContext): Promise<void> {
  const { target } = keyed(reservations, request, context)
  const { state } = await reservations.store.load(target)
  if (state.status !== 'free') await judge(reservations, request, state, context)
}

type KeyOf = Pick<ReservationRequest, 'orgId' | 'key'>

function keyed(reservations: Reservations, { orgId, key }: KeyOf, context: CommandContext) {
  const keyHash = reservations.hash(key)
  return {
    target: reservationStreams.of(orgId, keyHash),
    step: (name: string) => ({ ...context, commandId: v5(`${keyHash}/${name}`, context.commandId) }),
    claimId: v5(`${keyHash}/claim`, context.commandId),
  }
}

/**
 * Confirms a claim, ends it or keeps it. The state of the owner decides, and is read after the claim. The owner may
 * take the key after that read. It has then renewed the claim under another id, or confirmed it. The append here
 * changes nothing in either case. An owner that is about to take the key under the old claim is refused by `expire`.
 */
async function judge(
  reservations: Reservations,
  request: KeyOf,
  { status, reservation: { claimId, ownerStream, claimedAt } }: Exclude<ReservationState, { status: 'free' }>,
  context: CommandContext,
): Promise<void> {
  const { store, now, ownerOf, expire } = reservations
  const { target, step } = keyed(reservations, request, context)
  // A claim from the future came from a clock that was ahead. It would hold the key until then.
  const isOver = Math.abs(now().getTime() - Date.parse(claimedAt)) >= graceMs
  let owner = await ownerOf(ownerStream, request.key)
  if (expire !== undefined && status === 'reserved' && isOver && (owner === 'absent' || owner === 'lacking'))
    owner = await expire({ claimId, ownerStream, key: request.key }, step('expire-other'))
  if (owner === 'present') {
    await execute(store, target, confirmReservation(claimId, now()), step('confirm-other'))
  } else if (owner === 'revoked' || (owner === 'lacking' && status === 'confirmed')) {
    await execute(store, target, revokeReservation(claimId, now()), step('revoke-other'))
  } else if (isOver) {
    await execute(store, target, releaseReservation(claimId, now()), step('release-other'))
  }
}

function claimIdOf(state: ReservationState): string | null {
  return state.status === 'free' ? null : state.reservation.claimId
}

type Decide = (state: ReservationState) => Decision<ReservationEvent>

function reserveFor(request: ReservationRequest, claimId: string, now: Date): Decide {
  const { ownerStream, ownerId, fingerprint, isRenewing = false } = request
  const data = { claimId, ownerStream, ownerId, fingerprint, claimedAt: now.toISOString() }
  const isOpen = (state: ReservationState) =>
    state.status === 'free' ||
    (isRenewing && state.reservation.ownerId === ownerId && state.reservation.claimId !== claimId)
  return (state) => (isOpen(state) ? [{ type: 'ReservationClaimed', data }] : [])
}

function confirmReservation(claimId: string, now: Date): Decide {
  const data = { claimId, confirmedAt: now.toISOString() }
  return (state) =>
    state.status === 'reserved' && state.reservation.claimId === claimId ? [{ type: 'ReservationConfirmed', data }] : []
}

/** Does not release a claim that was confirmed meanwhile. */
function releaseReservation(claimId: string, now: Date): Decide {
  const revoke = revokeReservation(claimId, now)
  return (state) => (state.status === 'reserved' ? revoke(state) : [])
}

function revokeReservation(claimId: string, now: Date): Decide {
  const data = { claimId, releasedAt: now.toISOString() }
  return (state) =>
    state.status !== 'free' && state.reservation.claimId === claimId ? [{ type: 'ReservationReleased', data }] : []
}
