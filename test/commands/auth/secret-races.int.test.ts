import { afterAll, beforeAll, it } from 'vitest'
import { openAdminApi, type AdminApi } from './admin-api.ts'
import { raceForSecrets } from './secret-races.ts'

let api: AdminApi
beforeAll(async () => {
  api = await openAdminApi()
})
afterAll(() => api.close())

it('of two processes at once: one secret is added, and one remains, in each of 50 rounds', () =>
  raceForSecrets(api, 50))
