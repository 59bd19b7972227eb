import { randomUUID } from 'node:crypto'
import type { GivenOrganisation } from '../../read-api/users/given-users.ts'
import { unsigned, type Answer, type UsersApi, type WriteAnswer } from '../../read-api/users/users-api.ts'

type Headers = Readonly<Record<string, string>>

/** Headers of an administrator of the organisation, who may assign the role `Administrator`. */
export function administratorOf(api: UsersApi, { orgId }: Pick<GivenOrganisation, 'orgId'>): Promise<Headers> {
  const permissions = ['auth:admin', 'users:admin']
  return api.actor(unsigned({ user_id: randomUUID(), org_id: orgId, permissions }), orgId)
}

/** Status, problem code and the first pointer. */
export function refusalOf({ status, body }: Pick<Answer, 'status' | 'body'>): string {
  const { code, errors } = Object(body) as { code?: string; errors?: readonly { pointer: string }[] }
  return [status, code, errors?.[0]?.pointer].filter((part) => part !== undefined).join(' ')
}

/** A new person on each call. */
export function newPerson(more: object = {}) {
  return { email: `${randomUUID()}@example.org`, displayName: 'Jane', userType: 'clinician', ...more }
}

interface Shown {
  readonly id: string
  readonly memberships: readonly { readonly id: string; readonly organisationId: string; readonly roleId: string }[]
}

export function recordOf({ body }: Pick<WriteAnswer, 'body'>): Shown {
  return body as Shown
}
