import { at } from '../../../app/demo/members.ts'
import { placeOf, text, type Checked, type Fact, type Finding } from '../facts.ts'

/** A membership as its organisation's stream has it. */
interface Assignment {
  readonly stream: string
  readonly userId: string
  roleId: string
  isConfirmed: boolean
  readonly holds: Set<string>
}

/** A user as its own stream has it. */
interface User {
  readonly createdAt: string
  /** The hold of a user who is not active. */
  holdId: string | null
  readonly memberships: Set<string>
}

/** Users and memberships according to the log, from a second definition that is independent of the aggregates. */
class Members {
  readonly assignments = new Map<string, Assignment>()
  readonly users = new Map<string, User>()
  /** Memberships with which users were created and which nobody revoked. */
  readonly #first = new Set<string>()
  readonly #underWay = new Set<string>()
  readonly #administering = new Set<string>()

  follow(fact: Fact): void {
    const [membershipId, holdId, userId] = [text(fact, 'membershipId'), text(fact, 'holdId'), text(fact, 'userId')]
    const [assignment, user] = [this.assignments.get(membershipId), this.users.get(userId)]
    switch (fact.type) {
      case 'RoleCreated':
      case 'RoleChanged':
        return this.#followRole(fact)
      case 'MembershipRoleAssigned': {
        const begun = { stream: fact.stream, userId, roleId: text(fact, 'roleId'), isConfirmed: false }
        return void this.assignments.set(membershipId, { ...begun, holds: new Set() })
      }
      case 'MembershipConfirmed':
        if (assignment !== undefined) assignment.isConfirmed = true
        return holdId === '' ? undefined : void assignment?.holds.add(holdId)
      case 'MembershipRoleChanged':
        if (assignment !== undefined) assignment.roleId = text(fact, 'roleId')
        return undefined
      case 'MembershipRevoked':
        // The process revokes what was never assigned, or not assigned again. Nobody wanted that.
        if (assignment !== undefined) this.#first.delete(membershipId)
        return void this.assignments.delete(membershipId)
      case 'MembershipReleased':
        return void this.assignments.delete(membershipId)
      case 'MembershipHeld':
        return void assignment?.holds.add(holdId)
      case 'MembershipHoldEnded':
        return void assignment?.holds.delete(holdId)
      case 'UserRegistrationStarted':
      case 'UserRegistrationAbandoned':
        return void this.#underWay.add(userId)
      case 'UserRegistrationCleared':
        return void this.#underWay.delete(userId)
      case 'UserCreated':
        this.#underWay.delete(userId)
        return void this.users.set(userId, {
          createdAt: text(fact, 'createdAt'),
          holdId: null,
          memberships: new Set(),
        })
      case 'UserMembershipAdded':
        if (text(fact, 'addedAt') === user?.createdAt) this.#first.add(membershipId)
        return void user?.memberships.add(membershipId)
      case 'UserMembershipRemoved':
        return void user?.memberships.delete(membershipId)
      case 'UserSuspended':
      case 'UserDeactivated':
        if (user !== undefined) user.holdId = holdId
        return undefined
      case 'UserReactivated':
        if (user !== undefined) user.holdId = null
        return undefined
      default:
        return undefined
    }
  }

  administratorsOf(stream: string): number {
    return [...this.assignments.values()].filter(
      (one) => one.stream === stream && one.isConfirmed && one.holds.size === 0 && this.#administering.has(one.roleId),
    ).length
  }

  /** Whether the event takes a user the membership that it was created with, and nobody revoked that. */
  takesFirst(fact: Fact): boolean {
    return fact.type === 'UserMembershipRemoved' && this.#first.has(text(fact, 'membershipId'))
  }

  /** What the streams of users and of organisations disagree about, or have not finished. */
  unfinished(): readonly Finding[] {
    const findings = [...this.#underWay].map((where): Finding => ({ what: 'a registration without an end', where }))
    for (const [where, { userId, isConfirmed, holds }] of this.assignments) {
      const user = this.users.get(userId)
      if (user === undefined || !user.memberships.has(where))
        findings.push({ what: "a membership that the user's stream lacks", where })
      if (!isConfirmed) findings.push({ what: 'a membership that is never confirmed', where })
      for (const hold of holds)
        if (hold !== user?.holdId) findings.push({ what: 'a hold of a user who does not need it', where })
      const needed = user?.holdId ?? null
      if (needed !== null && !holds.has(needed)) findings.push({ what: 'an inactive user without a hold', where })
    }
    for (const { memberships } of this.users.values())
      for (const where of memberships)
        if (!this.assignments.has(where))
          findings.push({ what: "a membership that the organisation's stream lacks", where })
    return findings
  }

  #followRole(fact: Fact): void {
    const permissions = at(fact.data, 'permissions')
    const isAdministering = Array.isArray(permissions) && permissions.includes('users:admin')
    if (isAdministering) this.#administering.add(text(fact, 'roleId'))
    else this.#administering.delete(text(fact, 'roleId'))
  }
}

/** Work on users that is not finished at the end of the log. */
export function usersUnderWay(log: readonly Fact[]): readonly string[] {
  const members = new Members()
  for (const fact of log) members.follow(fact)
  return members.unfinished().map(({ what, where }) => `${what}: ${where}`)
}

/**
 * Both streams of a membership have it or neither, a user keeps the membership that it was created with until somebody
 * revokes it, an organisation keeps an active administrator once it has one, and holds are on the memberships of inactive
 * users only.
 */
export function checkUsers(log: readonly Fact[]): Checked {
  const members = new Members()
  const findings: Finding[] = []
  for (const fact of log) {
    const before = members.administratorsOf(fact.stream)
    members.follow(fact)
    if (before > 0 && members.administratorsOf(fact.stream) === 0)
      findings.push({ what: 'an organisation without an active administrator', where: placeOf(fact) })
    if (members.takesFirst(fact))
      findings.push({ what: 'a new user who lost a membership that nobody revoked', where: placeOf(fact) })
  }
  findings.push(...members.unfinished())
  const examined = members.users.size
  return { check: 'memberships whole, an active administrator, holds of inactive users only', examined, findings }
}
