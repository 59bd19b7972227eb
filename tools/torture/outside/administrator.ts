import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import type { Operation } from '../acknowledged.ts'
import type { Write } from './api.ts'

const users = '/v1/user-management/admin/users'
const roles = '/v1/user-management/admin/roles'

/** The organisation in which users are administered, and the role whose last active holder stays. */
export interface Administered {
  readonly administratorRoleId: string
  readonly organisationId: string
  /** Of its administrators. */
  readonly headers: Readonly<Record<string, string>>
  /** Of the platform, which alone adds a user whom the organisation does not see. */
  readonly platformHeaders: Readonly<Record<string, string>>
}

/** Creates the default role of the organisation, and the role of its administrators. */
export async function createRoles(api: ApiClient, organisationId: string, adminSecret: string): Promise<Administered> {
  const headers = { 'x-actor-context': actorContext(organisationId, ['users:admin']) }
  const create = (body: object) =>
    expecting(201, api.call(roles, { body: { organisationId, ...body }, headers: { ...headers } }))
  await create({ name: 'Clinician', isDefault: true })
  const { body } = await create({ name: 'Administrator', permissions: ['users:admin'] })
  const platformHeaders = { 'x-admin-api-secret': adminSecret }
  return { administratorRoleId: textAt(body, 'id'), organisationId, headers, platformHeaders }
}

type Send = (write: Omit<Write, 'key'>) => Promise<ApiAnswer | undefined>

/**
 * Administers users of its organisation. Each user is created, may become an administrator, may be suspended or
 * deactivated and active again, may leave and join again. Each change is made once, so that it is identifiable in the log. Several administrators
 * work at once, so the changes of the last administrators meet.
 */
export class Administrator {
  readonly #options: { readonly name: string; readonly random: SeededRandom; readonly administered: Administered }
  readonly #send: Send
  #created = 0

  constructor(
    options: { readonly name: string; readonly random: SeededRandom; readonly administered: Administered },
    send: Send,
  ) {
    this.#options = options
    this.#send = send
  }

  /** The life of one user. */
  async tend(): Promise<void> {
    const { name, random, administered } = this.#options
    this.#created += 1
    const body = {
      email: `${name}-${this.#created}@example.org`,
      displayName: 'Ada Example',
      userType: 'admin',
    }
    const created = await this.#change('user', users, 'POST', body, (answered) => textAt(answered, 'id'))
    if (created === undefined) return
    const membershipId = textAt(created.body, 'memberships', 0, 'id')
    const user = `${users}/${textAt(created.body, 'id')}`
    const membership = `${user}/memberships/${membershipId}`
    const ofMembership = () => membershipId
    const ofUser = () => String(at(created.body, 'id'))
    if (!random.oneIn(4))
      await this.#change('promote', membership, 'PATCH', { roleId: administered.administratorRoleId }, ofMembership)
    if (random.oneIn(2)) {
      const ended = random.oneIn(2)
        ? await this.#change('suspend', user, 'PATCH', { status: 'suspended' }, ofUser)
        : await this.#change('deactivate', user, 'PATCH', { status: 'deactivated' }, ofUser)
      if (ended !== undefined && !random.oneIn(3))
        await this.#change('reactivate', user, 'PATCH', { status: 'active' }, ofUser)
    }
    if (!random.oneIn(2)) return
    const left = await this.#change('leave', membership, 'DELETE', undefined, ofMembership, 404)
    if (left === undefined || random.oneIn(2)) return
    const { organisationId, platformHeaders } = administered
    const request = { method: 'POST', headers: platformHeaders, body: { organisationId } }
    const idOf = (answered: unknown) => textAt(answered, 'id')
    await this.#send({ operation: 'join', path: `${user}/memberships`, request, idOf })
  }

  #change(
    operation: Operation,
    path: string,
    method: string,
    body: unknown,
    idOf: (body: unknown) => string,
    doneStatus?: number,
  ): Promise<ApiAnswer | undefined> {
    const { headers } = this.#options.administered
    const request = { method, headers, ...(body === undefined ? {} : { body }) }
    return this.#send({ operation, path, request, idOf, ...(doneStatus === undefined ? {} : { doneStatus }) })
  }
}
