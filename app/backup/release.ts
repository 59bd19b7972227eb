import { v7 } from 'uuid'
import { releaseCalls } from '../../commands/backups/record-backups.ts'
import { execute } from '../../engine/commands/execute.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { backupStream } from '../../streams/backups/aggregate.ts'
import { operatorAccount } from '../operator-account.ts'
import { openServers } from '../projections/servers.ts'
import { backupContext } from './create.ts'

/** Lets the calls of a restored platform go. Its processes know it within a second. */
export async function releaseHeldCalls(env: Environment): Promise<string> {
  const servers = await openServers(env)
  try {
    const store = await servers.eventStore()
    const order = { by: operatorAccount(), now: new Date() }
    const { events } = await execute(store, backupStream, (state) => releaseCalls(order, state), backupContext(v7()))
    return events.length === 0 ? 'No calls are held.' : 'Calls to other systems are made again.'
  } finally {
    await servers.close()
  }
}
