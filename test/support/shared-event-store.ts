import { createHash } from 'node:crypto'
import { Client } from 'pg'
import { ensureDatabase } from '../../platform/database/database.ts'
import { vaultAdminUrl } from './postgres.ts'

/** Makes the platforms of a test run one installation. */
export interface SharedInstallation {
  readonly vaultUrl: string
  readonly masterKeys: string
  /** Allows the next test file to start its platform. */
  release(): Promise<void>
}

let holders = 0
let held: Promise<Client> | undefined

/**
 * With `ESDB_URL` all platforms write to one server. The vault's keys sign events and encrypt personal data, so the
 * platforms share one vault. A platform works for every organisation that it finds, so only one test file at a time has
 * platforms. This function waits for its turn, and the wait counts as the hook's time; `--no-file-parallelism` avoids
 * it. The server may only contain data that this suite wrote with this vault, such as a new server for each run.
 */
export async function shareEventStore(esdbUrl: string): Promise<SharedInstallation> {
  const identity = createHash('sha256').update(esdbUrl).digest()
  const vaultUrl = new URL(vaultAdminUrl())
  vaultUrl.pathname = `/test_vault_${identity.toString('hex').slice(0, 12)}`
  holders += 1
  held ??= lock(identity.readInt32BE())
  await held
  await ensureDatabase(vaultUrl.href)
  return { vaultUrl: vaultUrl.href, masterKeys: `test:${identity.toString('base64')}`, release }
}

async function lock(key: number): Promise<Client> {
  const client = new Client({ connectionString: vaultAdminUrl() })
  await client.connect()
  await client.query('select pg_advisory_lock($1)', [key])
  return client
}

async function release(): Promise<void> {
  holders -= 1
  if (holders > 0) return
  const client = await held
  held = undefined
  await client?.end()
}
