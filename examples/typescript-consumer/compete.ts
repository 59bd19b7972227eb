// One of several consumers that share the events of a channel by a persistent subscription. It may end at any moment.
import { PARK, RETRY } from '@eventstore/db-client'
import { setTimeout as sleep } from 'node:timers/promises'
import { channel, connect, database, group } from './settings.ts'
import { Totals, type AssessmentEvent } from './totals.ts'

/** Tries of an event before it is parked. */
const tries = 3

const totals = new Totals(database)
const client = connect()

for (;;) {
  try {
    // The server sends at most this many events before it gets an answer.
    const options = { bufferSize: 10 }
    const events = client.subscribeToPersistentSubscriptionToStream<AssessmentEvent>(channel, group, options)
    for await (const delivery of events) {
      const { event, retryCount } = delivery
      if (event === undefined) continue
      try {
        totals.count(event)
        console.log(`handled ${event.type} ${event.id}`)
      } catch (error) {
        const action = retryCount + 1 < tries ? RETRY : PARK
        console.error(`${action} ${event.id}: ${String(error)}`)
        await events.nack(action, String(error), delivery)
        continue
      }
      // A crash before the answer means that another consumer gets the event again. `handled` makes it a repeat.
      await events.ack(delivery)
    }
    console.error('the server ended the subscription')
  } catch (error) {
    console.error(String(error))
  }
  // The client does not subscribe again by itself.
  await sleep(1000)
}
