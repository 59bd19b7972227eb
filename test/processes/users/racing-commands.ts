import { randomUUID } from 'node:crypto'
import { execute } from '../../../engine/commands/execute.ts'
import { answeringRefusals } from '../../../engine/commands/refusals.ts'
import { changeUser } from '../../../commands/users/change-user.ts'
import {
  addOrganisationMembership,
  assignRoleFirst,
  endOrganisationMembership,
} from '../../../commands/users/organisation-membership.ts'
import { registerUser } from '../../../commands/users/register-user.ts'
import type { RegisterUser, UserDependencies } from '../../../commands/users/registration-attempt.ts'
import { changeMembershipRole } from '../../../commands/users/role-assignments.ts'
import { restrictedAnswer } from '../../../commands/users/restricted-permission.ts'
import { changeRole, createRole, deleteRole } from '../../../commands/users/roles.ts'
import { createMockIdentityProvider } from '../../../processes/adapters/mock-identity-provider.ts'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { organisationRoles } from '../../../streams/organisation-roles/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import type { Organisation } from './users-world.ts'

type RacerDependencies = Omit<UserDependencies, 'identityProvider'>
type Membership = { readonly membershipId: string; readonly userId: string } & Pick<Organisation, 'organisationId'>

/** Input of the commands that two processes run against each other. All of it can be sent to a process. */
interface Inputs {
  /** With an account that has this subject. Null: with a subject of its own. */
  readonly register: { readonly user: RegisterUser; readonly externalId: string | null }
  readonly addMembership: Parameters<typeof addOrganisationMembership>[1]
  readonly assignRole: Parameters<typeof assignRoleFirst>[1]
  readonly endMembership: { readonly membership: Membership; readonly changedBy: string }
  readonly changeUser: { readonly userId: string; readonly status: Parameters<typeof changeUser>[2]['status'] }
  readonly createRole: Parameters<typeof createRole>[0]
  readonly changeRole: InOrganisation<Parameters<typeof changeRole>[0]>
  readonly deleteRole: InOrganisation<Parameters<typeof deleteRole>[0]>
  readonly changeMembershipRole: Parameters<typeof changeMembershipRole>[0]
}
type InOrganisation<Command> = Command & Pick<Organisation, 'organisationId'>

export type RacingCommand = { [Name in keyof Inputs]: CommandOf<Name> }[keyof Inputs]
interface CommandOf<Name extends keyof Inputs> {
  readonly name: Name
  readonly input: Inputs[Name]
}

const answering = answeringRefusals({ 'role-deleted': { code: 'role-in-use' }, ...restrictedAnswer })
const grantor = 'platform'
const administration = { tenant: null, mayChangeShared: true, grantor } as const
const unconditional = { profile: null, administration, requireMatch: () => undefined }
const newContext = () => contextOf({ orgId: noOrganisation })
const mock = createMockIdentityProvider()

function decide(
  { store }: RacerDependencies,
  organisationId: Organisation['organisationId'],
  decision: (
    state: (typeof organisationRoles)['initialState'],
  ) =>
    | ReturnType<typeof createRole>
    | ReturnType<typeof deleteRole>
    | ReturnType<typeof changeRole>
    | ReturnType<typeof changeMembershipRole>,
) {
  return execute(store, organisationRoles.of(organisationId), (state) => answering(decision(state)), newContext())
}

const handlers: {
  readonly [Name in keyof Inputs]: (deps: RacerDependencies, input: Inputs[Name]) => Promise<unknown>
} = {
  register: (deps, { user, externalId }) => {
    const identityProvider = externalId === null ? mock : { ...mock, create: async () => ({ externalId }) }
    return registerUser({ ...deps, identityProvider }, user, newContext())
  },
  addMembership: (deps, input) => addOrganisationMembership(deps, input, newContext()),
  assignRole: (deps, input) => assignRoleFirst(deps, input, newContext()),
  endMembership: (deps, { membership, changedBy }) =>
    endOrganisationMembership(deps, membership, { changedBy, grantor }, newContext()),
  changeUser: (deps, { userId, status }) => changeUser(deps, userId, { ...unconditional, status }, newContext()),
  createRole: (deps, input) => decide(deps, input.organisationId, (state) => createRole(input, state)),
  changeRole: (deps, input) => decide(deps, input.organisationId, (state) => changeRole(input, state)),
  deleteRole: (deps, input) => decide(deps, input.organisationId, (state) => deleteRole(input, state)),
  changeMembershipRole: (deps, input) =>
    decide(deps, input.organisationId, (state) => changeMembershipRole(input, state)),
}

export function runRacing<Name extends keyof Inputs>(
  deps: RacerDependencies,
  { name, input }: CommandOf<Name>,
): Promise<unknown> {
  return handlers[name](deps, input)
}

export const newRole = ({ organisationId }: Organisation, now: Date) => {
  const roleId = randomUUID()
  const texts = { name: roleId, description: null }
  const role = { roleId, organisationId, ...texts, isDefault: false, permissions: [], fingerprint: null }
  return { ...role, changedBy: randomUUID(), grantor, now } as const
}
