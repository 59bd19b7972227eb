import { CommandHandler } from '@event-driven-io/emmett'
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql'
import { randomUUID } from 'node:crypto'
import { answerJobs, type Job, type JobDone } from '../load/jobs.ts'
import { timed } from '../load/work.ts'

/*
 * Commands with the CommandHandler of @event-driven-io/emmett on Postgres: load, decide, append, as its documentation
 * shows.
 */

type Stored = { type: string; data: Record<string, unknown>; metadata: Record<string, unknown> }

answerJobs(async (job: Job): Promise<JobDone> => {
  if (job.kind !== 'peer-commands') throw new Error(`this process does not run ${job.kind}`)
  const { databaseUrl, events, count, inFlight } = job
  const store = getPostgreSQLEventStore(databaseUrl)
  const handle = CommandHandler<number, Stored>({ evolve: (seen) => seen + 1, initialState: () => 0 })
  const run = randomUUID()
  const decided = events.map(({ type, data, metadata }): Stored => ({
    type,
    data: JSON.parse(data),
    metadata: JSON.parse(metadata),
  }))
  try {
    await store.schema.migrate()
    return await timed(count, inFlight, async (number) => {
      const { nextExpectedStreamVersion } = await handle(store, `peer-${run}-${number}`, () => decided)
      if (nextExpectedStreamVersion !== BigInt(events.length))
        throw new Error(`command ${number} appended ${nextExpectedStreamVersion} events`)
    })
  } finally {
    await store.close()
  }
})
