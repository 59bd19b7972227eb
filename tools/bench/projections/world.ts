import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { freePort } from '../../../embedded/children/free-port.ts'
import { startEventStore } from 'embedded-eventstore'
import { startPostgres } from '../../../embedded/postgres/start-postgres.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { openEventStore, type EventStore } from '../../../engine/store/event-store.ts'

/** The settings with which another process opens the same servers. */
export interface Addresses {
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  readonly vaultUrl: string
  readonly masterKeys: string
}

/** The servers of one benchmark, durable as in an installation, and this process's own connections to them. */
export interface World {
  readonly addresses: Addresses
  readonly store: EventStore
  readonly pool: Pool
  /** Another database of the same server. The platform does not use it. */
  readonly otherDatabase: string
  stop(): Promise<void>
}

/** The connections of one process. */
export interface Opened {
  readonly store: EventStore
  readonly pool: Pool
  close(): Promise<void>
}

/** Starts an embedded node and an embedded PostgreSQL over a folder. */
export async function startWorld(folder: string): Promise<World> {
  const stops: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const end of stops.toReversed()) await end()
  }
  try {
    const node = await startEventStore({ dataDir: join(folder, 'eventstore'), port: 0 })
    stops.push(() => node.stop())
    const postgres = await startPostgres({
      dataDir: join(folder, 'postgres'),
      port: await freePort(),
      password: randomBytes(16).toString('hex'),
      databases: ['projections', 'vault', 'other'],
    })
    stops.push(() => postgres.stop())
    const addresses = {
      eventStoreUrl: node.url,
      databaseUrl: postgres.url('projections'),
      vaultUrl: postgres.url('vault'),
      masterKeys: `bench:${randomBytes(32).toString('base64')}`,
    }
    const opened = await openConnections(addresses)
    stops.push(() => opened.close())
    return { addresses, store: opened.store, pool: opened.pool, otherDatabase: postgres.url('other'), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Connects to the servers of a world, as a command of the platform does. */
export async function openConnections({
  eventStoreUrl,
  databaseUrl,
  vaultUrl,
  masterKeys,
}: Addresses): Promise<Opened> {
  const vaultPool = createPool({ url: vaultUrl, max: 16, statementTimeoutMs: 600_000 })
  const vault = await openVault({ url: vaultUrl, masterKeys: parseMasterKeys(masterKeys), pool: vaultPool })
  const store = await openEventStore({ url: eventStoreUrl, catalogue, vault })
  const pool = createPool({ url: databaseUrl, max: 8, statementTimeoutMs: 600_000 })
  return {
    store,
    pool,
    close: async () => {
      await store.close()
      await pool.end()
      await vaultPool.end()
    },
  }
}
