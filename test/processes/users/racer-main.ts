import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { openEventStore } from '../../../engine/store/event-store.ts'
import { problemOf } from '../../engine/commands/decision-world.ts'
import { runRacing, type RacingCommand } from './racing-commands.ts'

/* A process that runs the same commands as the test's, on the same event store and vault, at the same time. */

const [url = '', vaultUrl = '', masterKeys = ''] = process.argv.slice(2)
const vault = await openVault({ url: vaultUrl, masterKeys: parseMasterKeys(masterKeys) })
const store = await openEventStore({ url, catalogue, vault })
const configuration = loadConfiguration({})

process.on('message', ({ id, command, now }: { id: number; command: RacingCommand; now: Date }) => {
  const answer = problemOf(runRacing({ store, vault, configuration, now: () => now }, command))
  void answer.then(
    (problem) => process.send?.({ id, problem }),
    (error: unknown) => process.send?.({ id, failed: String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
