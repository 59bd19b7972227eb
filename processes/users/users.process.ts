import { defineTable, type RowChange } from '../../engine/projections/projector.ts'
import { removeRows, upsertRow } from '../../engine/projections/row-changes.ts'
import type { OrganisationRolesEvent } from '../../streams/organisation-roles/events.ts'
import { concernsAccount } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { defineProcess, Nothing, step } from '../../engine/processes/define-process.ts'
import type { TodoList } from '../../engine/processes/todo-list.ts'
import { align, deleteAccount, destroyKey, rewriteVault } from './account.steps.ts'
import {
  completeRemoval,
  endHoldOf,
  HoldPayload,
  MembershipPayload,
  resolve,
  expireHoldOf,
} from './membership.steps.ts'
import { resetPassword, ResetPayload } from './password.steps.ts'
import { abandon, clear } from './registration.steps.ts'

/** Each hold on a membership, until it ends. */
const holdsTable = defineTable({
  name: 'membership_holds',
  columns: { membership_id: 'text', hold_id: 'text', org_id: 'text', user_id: 'text' },
  primaryKey: ['membership_id', 'hold_id'],
  indexes: [{ columns: ['user_id', 'hold_id'] }],
})

/** Holds of users who are active again. A membership may still be confirmed with such a hold. */
const endedHoldsTable = defineTable({
  name: 'ended_holds',
  columns: { hold_id: 'text', user_id: 'text', org_id: 'text' },
  primaryKey: ['hold_id'],
})

/** A route that is alive completes its work long before, in milliseconds. */
const graceMs = 30_000
/** How long a call that was given up may still create an account at the provider, in milliseconds. */
const lateAccountMs = 30_000

function after(instant: string, ms: number): string {
  return new Date(Date.parse(instant) + ms).toISOString()
}

interface Membership {
  readonly membershipId: string
  readonly userId: string
  readonly organisationId: string
}

function membershipPayload({ userId, organisationId, changedBy }: Membership & { readonly changedBy: string }) {
  return { userId, organisationId, changedBy }
}

type StatusData = Extract<UserEvent, { type: 'UserSuspended' }>['data']

interface Hold extends Membership {
  readonly holdId: string
}

function holdKey({ membershipId, holdId }: Pick<Hold, 'membershipId' | 'holdId'>): string {
  return `${membershipId}/${holdId}`
}

function holdPayload({ userId, membershipId, organisationId, holdId }: Hold) {
  return { userId, membershipId, organisationId, holdId }
}

function heldRow({ membershipId, holdId, organisationId, userId }: Hold) {
  return upsertRow(holdsTable, { membershipId, holdId, orgId: organisationId, userId })
}

const steps = {
  'abandon-registration': step(Nothing, abandon),
  'clear-registration': step(Nothing, clear),
  'resolve-membership': step(MembershipPayload, resolve),
  'confirm-membership': step(MembershipPayload, resolve),
  'complete-removal': step(MembershipPayload, completeRemoval),
  'expire-hold': step(HoldPayload, expireHoldOf),
  'end-hold': step(HoldPayload, endHoldOf),
  'align-account': step(Nothing, align),
  'delete-account': step(Nothing, deleteAccount),
  'destroy-key': step(Nothing, destroyKey),
  'rewrite-vault': step(Nothing, rewriteVault),
  'reset-password': step(ResetPayload, resetPassword),
}
type Todos = TodoList<typeof steps>

/** Both streams of the membership agree. */
function resolvedRows({ membershipId }: Pick<Membership, 'membershipId'>, todo: Todos): RowChange[] {
  return [todo.clear(membershipId, 'resolve-membership'), todo.clear(membershipId, 'confirm-membership')]
}

/** A membership that ended has no holds any more. */
function withoutHolds({ membershipId }: Membership, todo: Todos): RowChange[] {
  return [
    removeRows(holdsTable, { membershipId }),
    todo.clearWhere('expire-hold', { payload: { membershipId } }),
    todo.clearWhere('end-hold', { payload: { membershipId } }),
  ]
}

/** The status has changed, so the hold that came first is in use. */
function withStatus({ userId, holdId, changedAt }: StatusData, todo: Todos): RowChange[] {
  return [
    todo.schedule('align-account', userId, { at: changedAt, existing: 'replace' }),
    todo.clearWhere('expire-hold', { payload: { userId, holdId } }),
  ]
}

/**
 * Completes what a route of users began: a change of two streams that was cut off, and the account at the identity
 * provider. `docs/decisions/0022-which-stream-decides-about-users.md` lists what each crash leaves.
 */
export const usersProcess = defineProcess<UserEvent | OrganisationRolesEvent, ProcessDependencies>()({
  name: 'users',
  version: 3,
  lookups: [holdsTable, endedHoldsTable],
  steps,
  on: {
    UserRegistrationStarted: ({ data }, todo) => [
      // The new attempt takes over the account of an abandoned one.
      todo.clear(data.userId, 'clear-registration'),
      todo.schedule('abandon-registration', data.userId, { at: data.leaseUntil }),
    ],
    UserRegistrationAbandoned: ({ data }, todo) => [
      todo.clear(data.userId, 'abandon-registration'),
      todo.schedule('clear-registration', data.userId, { at: after(data.abandonedAt, lateAccountMs) }),
    ],
    UserRegistrationCleared: ({ data }, todo) => [todo.clear(data.userId, 'clear-registration')],
    UserCreated: ({ data }, todo) => [todo.clear(data.userId, 'abandon-registration')],

    MembershipRoleAssigned: ({ data }, todo) => [
      todo.schedule('resolve-membership', data.membershipId, {
        at: after(data.assignedAt, graceMs),
        payload: membershipPayload(data),
        existing: 'replace',
      }),
    ],
    UserMembershipAdded: ({ data }, todo) => [
      // It took the place of a membership of the same organisation that had ended there, if there was one.
      ...(['complete-removal', 'confirm-membership'] as const).map((ended) =>
        todo.clearWhere(ended, {
          orgId: todo.orgId,
          payload: { userId: data.userId, organisationId: data.organisationId },
        }),
      ),
      todo.clear(data.membershipId, 'resolve-membership'),
      // Not the row of the claim: a release of the claim would remove it, and the user has the membership.
      todo.schedule('confirm-membership', data.membershipId, {
        at: after(data.addedAt, graceMs),
        payload: membershipPayload(data),
      }),
    ],
    MembershipConfirmed: ({ data }, todo) => {
      const resolved = resolvedRows(data, todo)
      const { holdId } = data
      if (holdId === null) return resolved
      const hold = { ...data, holdId }
      return [
        ...resolved,
        heldRow(hold),
        todo.scheduleForEach('end-hold', endedHoldsTable, { holdId }, () => ({
          key: holdKey(hold),
          at: data.confirmedAt,
          payload: holdPayload(hold),
        })),
      ]
    },
    MembershipReleased: ({ data }, todo) => [
      todo.clear(data.membershipId, 'resolve-membership'),
      ...withoutHolds(data, todo),
    ],
    MembershipRevoked: ({ data }, todo) => [
      ...resolvedRows(data, todo),
      ...withoutHolds(data, todo),
      todo.schedule('complete-removal', data.membershipId, {
        at: after(data.revokedAt, graceMs),
        payload: membershipPayload(data),
      }),
    ],
    UserMembershipRemoved: ({ data }, todo) => [
      todo.clear(data.membershipId, 'complete-removal'),
      ...resolvedRows(data, todo),
    ],

    MembershipHeld: ({ data }, todo) => [
      heldRow(data),
      todo.schedule('expire-hold', holdKey(data), {
        at: after(data.heldAt, graceMs),
        payload: holdPayload(data),
      }),
    ],
    MembershipHoldEnded: ({ data }, todo) => [
      removeRows(holdsTable, { membershipId: data.membershipId, holdId: data.holdId }),
      todo.clear(holdKey(data)),
    ],
    UserChanged: ({ data }, todo) =>
      concernsAccount(data.members)
        ? [todo.schedule('align-account', data.userId, { at: data.changedAt, existing: 'replace' })]
        : [],
    UserSuspended: ({ data }, todo) => withStatus(data, todo),
    UserDeactivated: ({ data }, todo) => withStatus(data, todo),
    UserReactivated: ({ data }, todo) => [
      ...withStatus(data, todo),
      upsertRow(endedHoldsTable, { holdId: data.holdId, userId: data.userId, orgId: todo.orgId }),
      todo.scheduleForEach('end-hold', holdsTable, { userId: data.userId, holdId: data.holdId }, (hold) => ({
        key: [hold('membershipId'), '/', hold('holdId')],
        at: data.changedAt,
        payload: {
          userId: data.userId,
          membershipId: hold('membershipId'),
          organisationId: hold('orgId'),
          holdId: data.holdId,
        },
      })),
    ],
    // Memberships and the account end before the key, and the key before the last event.
    UserErasureStarted: ({ data }, todo) => [
      todo.clear(data.userId, 'align-account'),
      todo.schedule('delete-account', data.userId, { at: data.changedAt }),
    ],
    UserAccountAligned: ({ data }, todo) => [
      todo.clear(data.userId, 'align-account'),
      todo.clear(data.userId, 'delete-account'),
      ...(data.account === 'deleted' ? [todo.schedule('destroy-key', data.userId, { at: data.alignedAt })] : []),
    ],
    UserKeyDestroyed: ({ data }, todo) => [
      todo.clear(data.userId, 'destroy-key'),
      todo.schedule('rewrite-vault', data.userId, { at: data.destroyedAt }),
    ],
    UserErased: ({ data }, todo) => [todo.clear(data.userId, 'rewrite-vault')],

    UserPasswordResetRequested: ({ data }, todo) => [
      todo.schedule('reset-password', data.userId, {
        at: data.requestedAt,
        payload: { requestId: data.requestId },
      }),
    ],
    UserPasswordResetPostponed: ({ data }, todo) => [todo.move('reset-password', data.userId, data.nextAttemptAt)],
    UserPasswordResetEnded: ({ data }, todo) => [todo.clear(data.userId, 'reset-password')],
  },
})
