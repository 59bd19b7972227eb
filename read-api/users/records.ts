import { toRecord } from '../../engine/reads/records.ts'
import { MembershipRecord, toUserDetailRecord, type UserDetailRecord } from '../../contracts/users/record.ts'
import type { MembershipView, UserView } from './queries.ts'

export function toDetail(user: UserView): UserDetailRecord {
  const memberships = user.memberships.map((one) =>
    toRecord(MembershipRecord, {
      ...one,
      id: one.membershipId,
      userId: user.userId,
      role: roleOf(one),
    }),
  )
  return toUserDetailRecord(user, memberships)
}

export function roleOf({ roleId, roleName }: MembershipView) {
  return { id: roleId, name: roleName }
}

/** A user with the names of its roles. They change without the user's stream, so the ETag contains their revisions, too. */
export function versioned<Body>(user: UserView, body: Body) {
  const variant = user.memberships.reduce((sum, { rolesRevision }) => sum + rolesRevision + 1, 0)
  return { body, revision: BigInt(user.streamRevision), variant }
}
