// The operator's part: creates the group, shows it, and replays its parked events. Needs the operator's account.
import { persistentSubscriptionToStreamSettingsFromDefaults, START } from '@eventstore/db-client'
import { channel, connect, group } from './settings.ts'

const client = connect()

const commands: Readonly<Record<string, () => Promise<void>>> = {
  create: () =>
    client.createPersistentSubscriptionToStream(
      channel,
      group,
      // An event without an answer goes to another consumer after the timeout.
      persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: START, messageTimeout: 10_000 }),
    ),
  show: async () => {
    const { connections, stats } = await client.getPersistentSubscriptionToStreamInfo(channel, group)
    console.log(`${connections.length} consumers, ${stats.parkedMessageCount} parked events`)
  },
  replay: () => client.replayParkedMessagesToStream(channel, group),
}

try {
  const command = commands[process.argv[2] ?? '']
  if (command === undefined) throw new Error(`needs a command: ${Object.keys(commands).join(', ')}`)
  await command()
} catch (error) {
  console.error(String(error))
  process.exitCode = 1
}
await client.dispose()
