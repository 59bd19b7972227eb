import type { Mutant } from './mutant.ts'

const roles = 'test/commands/users/roles.unit.test.ts'
const users = 'test/commands/users/users.unit.test.ts'
const endedTokens = 'test/commands/auth/ended-tokens.int.test.ts'
const clientDecisions = 'test/commands/auth/client-decisions.unit.test.ts'

/** Rules of users and roles, and what ends tokens. */
export const userMutants: readonly Mutant[] = [
  {
    name: 'released-claim-stays',
    fault: 'a new user loses its membership if a failed request of the same key released the claim',
    file: 'commands/users/organisation-membership.ts',
    at: 'lostWith / ||',
    becomes: 'true',
    caughtBy: {
      'test/processes/users/users-steps.int.test.ts': 'answers a repeat of its key with the membership',
    },
  },
  {
    name: 'revoked-claim-comes-back',
    fault: 'a membership that was revoked is assigned again when its creation is repeated',
    file: 'commands/users/role-assignments.ts',
    at: 'confirmMembership / has() 1',
    becomes: 'false',
    caughtBy: { [roles]: 'is none after a revocation' },
  },
  {
    name: 'late-membership-displaces',
    fault: 'a membership whose claim ended takes the place of another one in the stream of its user',
    file: 'commands/users/organisation-membership.ts',
    at: 'requireAssigned / has()',
    becomes: 'true',
    caughtBy: {
      'test/processes/users/users-steps.int.test.ts':
        'too late leaves the membership that another request added meanwhile',
    },
  },
  {
    name: 'late-address-taken',
    fault: 'two users have one address if the claim of the first one ended before its event',
    file: 'commands/users/change-user.ts',
    at: 'mayBeOfAnother / >',
    becomes: 'false',
    caughtBy: {
      'test/processes/users/users-steps.int.test.ts':
        'that took too long is refused, so that no two users have the address',
    },
  },
  {
    name: 'claim-administers',
    fault: 'a member who is not confirmed yet counts as an administrator, and a crash leaves none',
    file: 'commands/users/administrators.ts',
    at: 'administratorsOf / && 2',
    becomes: 'holds.size === 0',
    caughtBy: { [roles]: 'is the last one if the other is not confirmed or has a hold' },
  },
  {
    name: 'last-administrator-revoked',
    fault: 'the last administrator of an organisation is removed',
    file: 'commands/users/role-assignments.ts',
    at: 'revokeMembership / isLastAdministrator()',
    becomes: 'false',
    caughtBy: { [roles]: 'keeps its role, its membership and its status' },
  },
  {
    name: 'last-permission-removed',
    fault: 'the role of the last administrator loses its permission',
    file: 'commands/users/roles.ts',
    at: 'changeRole / every()',
    becomes: 'false',
    caughtBy: { [roles]: 'keeps `users:admin` in its role' },
  },
  {
    name: 'second-membership',
    fault: 'a user has two memberships in an organisation',
    file: 'commands/users/role-assignments.ts',
    at: 'assignRole / assignmentOf()',
    becomes: 'undefined',
    caughtBy: { [roles]: 'a user has one membership in an organisation, also before it is confirmed' },
  },
  {
    name: 'restricted-role-assigned',
    fault: 'an administrator of users assigns a role that registers clients',
    file: 'commands/users/role-assignments.ts',
    at: 'assignRole / refusedToGrant()',
    becomes: 'null',
    caughtBy: { [roles]: 'is assigned and taken away by its holders only, also where it is the default role' },
  },
  {
    name: 'restricted-default-role',
    fault: 'an administrator of users makes everybody assign a role that registers clients',
    file: 'commands/users/roles.ts',
    at: 'changeRole / refusedToGrant()',
    becomes: 'null',
    caughtBy: { [roles]: 'is made by platform callers only, and changed by a holder as long as it gets no auth:admin' },
  },
  {
    name: 'operators-of-organisations',
    fault: 'an administrator of an organisation who registers clients makes operators of the installation',
    file: 'commands/users/restricted-permission.ts',
    at: 'refusedToGrant / &&',
    becomes: '$left',
    caughtBy: {
      'test/commands/users/restricted-permission.int.test.ts':
        'is made and given by platform callers only, and nobody else decides',
    },
  },
  {
    name: 'role-in-use-deleted',
    fault: 'a role disappears while members have it',
    file: 'commands/users/roles.ts',
    at: 'deleteRole / some()',
    becomes: 'false',
    caughtBy: { [roles]: 'a role in use is not deleted, also before the membership is confirmed' },
  },
  {
    name: 'role-name-twice',
    fault: 'two roles of an organisation have one name',
    file: 'commands/users/roles.ts',
    at: 'isNameTaken / some()',
    becomes: 'false',
    caughtBy: { [roles]: 'a name is unique in the organisation' },
  },
  {
    name: 'erased-while-active',
    fault: 'a suspended user is erased',
    file: 'commands/users/status.ts',
    at: 'startErasure / ||',
    becomes: '$right',
    caughtBy: { [users]: 'only a deactivated user is erased' },
  },
  {
    name: 'actor-platform-wide',
    fault: 'an administrator of one organisation administers all, through a product that serves several',
    file: 'platform/http/tenancy.ts',
    at: 'isPlatformWide / administersByScope()',
    becomes: 'true',
    caughtBy: {
      'test/commands/auth/client-tenancy.int.test.ts':
        'sees and changes the clients of the organisation only: foreign and platform clients are 404',
    },
  },
  {
    name: 'removed-secret-lives',
    fault: 'tokens of a removed secret stay valid',
    file: 'contracts/auth/token-endings.ts',
    at: 'hasEnded / && 1',
    becomes: 'false',
    caughtBy: { [endedTokens]: 'a removed secret ends the tokens that it gave, and no others' },
  },
  {
    name: 'foreign-client-visible',
    fault: 'an organisation administers the clients of another one',
    file: 'commands/auth/client-rules.ts',
    at: 'administered / !== 2',
    becomes: 'false',
    caughtBy: { [clientDecisions]: 'of another organisation, of the platform, absent or deleted is not found' },
  },
  {
    name: 'kept-row-outlives-write',
    fault: 'the context of a user shows an older state than an answered write',
    file: 'read-api/users/current-users.ts',
    at: 'forgetOlder / clear()',
    becomes: 'undefined',
    caughtBy: {
      'test/read-api/users/actor-contexts.int.test.ts':
        'a context shows each answered write in the next request, also of another process',
    },
  },
  {
    name: 'context-token-of-others',
    fault: 'a context has the token of other claims',
    file: 'platform/http/context-tokens.ts',
    at: 'createContextTokens / tokenOf / stringify()',
    becomes: "''",
    caughtBy: { 'test/platform/http/context-tokens.unit.test.ts': 'other claims and another key' },
  },
]
