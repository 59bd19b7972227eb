import { expect } from 'vitest'
import type { OauthClientRecord } from '../../../contracts/auth/client.ts'
import type { AdminApi } from './admin-api.ts'

/** In each round two processes add a second secret at the same time, and then each removes one of the two. */
export async function raceForSecrets(api: AdminApi, rounds: number): Promise<void> {
  const described = { name: 'Clinic A', scopes: ['cases:read'], org_id: api.world.orgId }
  const registered = await api.call('POST', '/clients', described)
  expect(registered.status).toBe(201)
  const client = `/clients/${(registered.body as OauthClientRecord).client_id}`
  const path = `${client}/secrets`
  for (let round = 1; round <= rounds; round += 1) {
    const added = await Promise.all([api.call('POST', path), api.callOther('POST', path)])
    expect(added.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409])
    const { secrets } = (await api.call('PATCH', client, {})).body as OauthClientRecord
    const [one, two] = secrets.map((secret) => `${path}/${secret.id}`)
    const removed = await Promise.all([api.call('DELETE', one ?? ''), api.callOther('DELETE', two ?? '')])
    expect(removed.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 409])
  }
}
