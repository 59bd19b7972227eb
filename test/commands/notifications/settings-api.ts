import { randomUUID } from 'node:crypto'
import { notificationSettingsProjector } from '../../../projections/notifications/notification-settings.projector.ts'
import { notificationTemplatesProjector } from '../../../projections/notifications/notification-templates.projector.ts'
import {
  givenMember,
  givenOrganisation,
  type GivenMembership,
  type GivenOrganisation,
} from '../../read-api/users/given-users.ts'
import { openUsersApi, unsigned, type UsersApi, type WriteAnswer } from '../../read-api/users/users-api.ts'

export type Headers = Readonly<Record<string, string>>

/** Two organisations with a member each, and administrators of their notifications. */
export interface SettingsApi {
  readonly api: UsersApi
  readonly clinic: GivenOrganisation
  readonly hospital: GivenOrganisation
  readonly member: GivenMembership
  readonly foreigner: GivenMembership
  /** Clients with the scope `notifications:admin` and both of preferences. */
  readonly clinicAdmin: Headers
  readonly hospitalAdmin: Headers
  readonly platform: Headers
  /** Below `/v1/notifications`. An answer that is no JSON stays text. */
  call(method: Method, path: string, headers: Headers, body?: unknown): Promise<WriteAnswer>
  /** Of an actor of the clinic with these permissions. */
  actor(userId: string, permissions?: readonly string[], scopes?: readonly string[]): Promise<Headers>
  close(): Promise<void>
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export const preferenceScopes = ['notifications:preferences:read', 'notifications:preferences:write']
const adminScopes = ['notifications:admin', ...preferenceScopes]

export async function openSettingsApi(): Promise<SettingsApi> {
  const api = await openUsersApi({
    services: ['notifications'],
    moreReadModels: [notificationSettingsProjector, notificationTemplatesProjector],
  })
  const one = await api.startProcess()
  const clinic = await givenOrganisation(api, api.world.orgId)
  const hospital = await givenOrganisation(api)
  return {
    api,
    clinic,
    hospital,
    member: await givenMember(api, clinic),
    foreigner: await givenMember(api, hospital),
    clinicAdmin: await api.token(clinic.orgId, adminScopes),
    hospitalAdmin: await api.token(hospital.orgId, adminScopes),
    platform: await api.token(null, adminScopes),
    async call(method, path, headers, payload) {
      const url = `/v1/notifications${path}`
      const options = { method, url, headers }
      const answer = await one.t.app.inject(
        payload === undefined ? options : { ...options, payload: payload as object },
      )
      const { statusCode: status, headers: got, body } = answer
      const isJson = String(got['content-type']).includes('json')
      return { status, etag: got['etag'], headers: got, body: isJson ? (JSON.parse(body) as unknown) : body }
    },
    actor: (userId, permissions = [], scopes = preferenceScopes) =>
      api.actor(unsigned({ user_id: userId, org_id: clinic.orgId, permissions }), clinic.orgId, scopes),
    close: () => api.close(),
  }
}

/** A template in the default locale, of an organisation or of the platform. */
export async function givenTemplate(
  s: SettingsApi,
  {
    code,
    channel,
    orgId,
  }: { readonly code: string; readonly channel: 'email' | 'slack'; readonly orgId: string | null },
): Promise<void> {
  const content = { category: 'operational', phi: false, bodyTemplate: 'News.' }
  const subject = channel === 'email' ? { subject: 'News' } : {}
  const body = { ...content, ...subject, channel, orgId }
  const { status } = await s.call('PUT', `/admin/templates/${code}`, s.platform, body)
  if (status !== 201) throw new Error(`the template was answered with ${status}`)
}

/** On each call another one. */
export function newAddress(): string {
  return `${randomUUID()}@example.org`
}

export function idOf({ body }: Pick<WriteAnswer, 'body'>): string {
  return (body as { id: string }).id
}

export function idsIn({ body }: Pick<WriteAnswer, 'body'>): readonly string[] {
  return (body as { data: { id: string }[] }).data.map(({ id }) => id)
}
