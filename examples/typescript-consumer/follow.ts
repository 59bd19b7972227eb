// Follows a channel with a checkpoint of its own. It may end at any moment, by SIGKILL too.
import { START } from '@eventstore/db-client'
import { setTimeout as sleep } from 'node:timers/promises'
import { channel, connect, database } from './settings.ts'
import { Totals, type AssessmentEvent } from './totals.ts'

const totals = new Totals(database)
const client = connect()

for (;;) {
  try {
    const fromRevision = totals.checkpoint(channel) ?? START
    console.log(`follows ${channel} after ${fromRevision}`)
    for await (const { event } of client.subscribeToStream<AssessmentEvent>(channel, { fromRevision })) {
      if (event === undefined) continue
      totals.countAndStore(event)
      console.log(`${event.revision} ${event.type} ${event.id}`)
    }
    console.error('the server ended the subscription')
  } catch (error) {
    console.error(String(error))
  }
  // The client does not subscribe again by itself.
  await sleep(1000)
}
