import { randomBytes } from 'node:crypto'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openServers } from '../../../app/projections/servers.ts'
import { eventually } from '../../support/eventually.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'

let database: FreshDatabases
beforeAll(async () => {
  database = await freshDatabases()
})
afterAll(() => database.drop())

test('servers that are closed while the vault is being opened leave no connection', async () => {
  const { hostname, port } = new URL(database.vaultUrl)
  const held = Promise.withResolvers<void>()
  const open = new Set<Socket>()
  let accepted = 0
  const server = createServer((near) => {
    accepted += 1
    open.add(near.on('error', () => undefined).on('close', () => open.delete(near)))
    void held.promise.then(() => near.pipe(connect(Number(port), hostname).on('error', () => undefined)).pipe(near))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const slowly = new URL(database.vaultUrl)
  slowly.port = String((server.address() as AddressInfo).port)
  slowly.hostname = '127.0.0.1'
  const servers = await openServers({
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: slowly.href,
    ESDB_URL: 'esdb://127.0.0.1:1?tls=false',
    MASTER_KEYS: `one:${randomBytes(32).toString('base64')}`,
  })
  const opening = servers.eventStore().catch((error: unknown) => error)
  await eventually(() => expect(accepted).toBeGreaterThan(0))
  const closed = servers.close()
  held.resolve()
  await closed
  expect(await opening).toEqual(new Error('the servers were closed'))
  await eventually(() => expect(open.size).toBe(0))
  server.close()
})
