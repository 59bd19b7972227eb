import { openEventStore, type EventStore } from '../../engine/store/event-store.ts'
import { loadConfiguration, type Environment } from '../../platform/configuration/configuration.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { openVault, type Vault } from '../../platform/vault/vault.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { makeMasterKey } from '../master-keys.ts'
import { findServers } from '../projections/servers.ts'
import { serverNeeds } from '../roles.ts'
import { clearly } from '../start-errors.ts'
import { endTokenKey } from './end-token-key.ts'
import { inventoryJson, inventoryText } from './list.ts'
import type { KeysOrder } from './orders.ts'
import { rewrap } from './rewrap.ts'
import { endSealKeys, rotateSealKey } from './seal-keys.ts'
import { rotateKey, rotateEvents } from './rotate.ts'
import { rotateWebhook } from './rotate-webhook.ts'

export interface KeysOutput {
  readonly out: (text: string) => void
  /** Progress. `isInteractive`: one line that is written again and again. */
  readonly err: (text: string) => void
  readonly isInteractive: boolean
}

interface OpenedServers {
  readonly store: EventStore
  readonly vault: Vault
}

// Postgres databases are named together.
const vaultNeeds = ['DATABASE_URL', 'VAULT_DATABASE_URL', 'MASTER_KEYS']

/** Carries out a command about keys, on the servers of the environment or of the `platform up` over the data folder. */
export async function runKeys(
  order: KeysOrder,
  env: Environment,
  { out, err, isInteractive }: KeysOutput,
): Promise<void> {
  if (order.action === 'new-master') return out(await makeMasterKey(loadConfiguration(env), order.id))
  const needs = isLogged(order) ? [...new Set([...serverNeeds, ...vaultNeeds])] : vaultNeeds
  const [name = ''] = order.action.split('-')
  const { configuration, masterKeys } = await findServers(env, needs, `keys ${name}`)
  const ring = await masterKeys()
  const { vaultDatabaseUrl: url = '', esdbUrl = '' } = configuration
  const vault = await clearly('VAULT_DATABASE_URL', () => openVault({ url, masterKeys: ring }))
  const json = (value: unknown) => out(JSON.stringify(value, null, 2))
  const withStore = async <Result>(work: (opened: OpenedServers) => Promise<Result>): Promise<Result> => {
    const logger = createLogger({ level: 'silent' })
    const store = await clearly('ESDB_URL', () => openEventStore({ url: esdbUrl, catalogue, vault, logger }))
    try {
      return await work({ store, vault })
    } finally {
      await store.close()
    }
  }
  try {
    switch (order.action) {
      case 'list': {
        const inventory = await vault.inventory()
        if (order.isJson) json(inventoryJson(inventory))
        else out(inventoryText(inventory))
        return
      }
      case 'rotate': {
        const { purpose } = order
        if (purpose === 'event-signature') return json(await withStore(rotateEvents))
        if (purpose === 'seal') return json({ purpose, ...(await rotateSealKey(vault)) })
        return json(await rotateKey(vault, purpose))
      }
      case 'rotate-webhook':
        return json(await withStore((servers) => rotateWebhook(servers, order, () => new Date())))
      case 'rewrap': {
        const rewrapped = await rewrap(vault, (line) => err(isInteractive ? `\r${line}` : `${line}\n`))
        if (isInteractive) err('\n')
        return json({ master_key: ring.wrapWith.id, rewrapped })
      }
      case 'end-seal':
        return json(await endSealKeys(vault))
      case 'end-token':
        return json(await withStore((opened) => endTokenKey(opened, order.kid, new Date())))
    }
  } finally {
    await vault.close()
  }
}

/** Whether the order appends events. */
function isLogged(order: KeysOrder): boolean {
  return (
    order.action === 'end-token' ||
    order.action === 'rotate-webhook' ||
    (order.action === 'rotate' && order.purpose === 'event-signature')
  )
}
