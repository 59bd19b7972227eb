import { BACKWARDS, EventStoreDBClient, FORWARDS, START } from '@eventstore/db-client'
import { createReadStream } from 'node:fs'
import { Client } from 'pg'
import { createLogger } from '../../../platform/observability/logging.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { readModels } from '../../../projections/registry.ts'
import { copyNames, dropCopies, emptyCopy, type Copy } from '../../../engine/rebuild/copies.ts'
import type { RebuildContext } from '../../../engine/rebuild/context.ts'
import { fill } from '../../../engine/rebuild/fill.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { comparePositions, parsePosition, type Position } from '../../../platform/kit/positions.ts'
import { CopyFrom } from './copy-from.ts'
import { answerLogJobs, type CopyJob, type FillJob, type LogJobDone, type ReadJob } from './jobs.ts'
import { openConnections, type Opened } from './world.ts'

/* Reads a log in its own process, like the command for rebuilds. */

type Done = Omit<LogJobDone, 'peakBytes'>

answerLogJobs((job, isEnough) => {
  switch (job.kind) {
    case 'read':
      return read(job)
    case 'fill':
      return fillOnce({ ...job, isEnough: () => true })
    case 'refill':
      return fillOnce({ ...job, kind: 'fill', isEnough })
    case 'copy':
      return copy(job)
    case 'peer-rebuild':
      throw new Error('a peer needs its own process')
  }
})

async function read({ eventStoreUrl, upTo }: ReadJob): Promise<Done> {
  const end = positionOf(upTo)
  const client = EventStoreDBClient.connectionString(eventStoreUrl)
  try {
    // The first call of a client discovers its server.
    for await (const last of client.readAll({ direction: BACKWARDS, maxCount: 1 }))
      if (last.event === undefined) throw new Error('the log is empty')
    let events = 0
    const started = performance.now()
    for await (const { event } of client.readAll({ direction: FORWARDS, fromPosition: START })) {
      if (event === undefined || event.type.startsWith('$')) continue
      if (comparePositions(event.position, end) > 0) break
      events += 1
    }
    return { milliseconds: performance.now() - started, events, rows: {} }
  } finally {
    await client.dispose()
  }
}

let opened: Opened | undefined

async function fillOnce({
  addresses,
  models,
  upTo,
  isEnough,
}: FillJob & { readonly isEnough: () => boolean }): Promise<Done> {
  opened ??= await openConnections(addresses)
  const { store, pool } = opened
  await ensureRuntimeSchema(pool)
  let events = 0
  const context: RebuildContext = {
    eventStore: store,
    pool,
    filter: { streamPrefixes: projectedStreams },
    logger: createLogger({ level: 'silent' }),
    onProgress: (progress) => {
      ;({ events } = progress)
    },
  }
  const projectors = readModels.filter(({ name }) => models.includes(name))
  if (projectors.length !== models.length) throw new Error(`no such read model: ${models.join(', ')}`)
  let milliseconds = 0
  let rows: Record<string, number> = {}
  do {
    const copies: Copy[] = []
    for (const projector of projectors)
      copies.push(await emptyCopy(context, projector, copyNames(projector.name).check))
    const started = performance.now()
    await fill(
      context,
      copies.map((each) => ({ copy: each, upTo: positionOf(upTo) })),
    )
    milliseconds = performance.now() - started
    const failed = copies.find(({ failure }) => failure !== undefined)
    if (failed?.failure !== undefined) throw new Error(`${failed.serving.name} failed: ${failed.failure.reason}`)
    rows = await rowsOf(opened, copies)
    await inTransaction(pool, (client) =>
      dropCopies(
        client,
        copies.map(({ projector }) => projector.name),
      ),
    )
  } while (!isEnough())
  return { milliseconds, events, rows }
}

async function rowsOf({ pool }: Opened, copies: readonly Copy[]): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  const count = async (key: string, from: string): Promise<void> => {
    const answer = await pool.query<{ count: string }>(`select count(*) from ${from}`)
    rows[key] = Number(answer.rows[0]?.count)
  }
  for (const { serving, projector } of copies) {
    for (const { name, columns } of serving.tables) {
      await count(`${serving.name}.${name}`, `${projector.name}.${name}`)
      if ('status' in columns)
        await count(`${serving.name}.${name} completed`, `${projector.name}.${name} where status = 'completed'`)
    }
  }
  return rows
}

async function copy({ databaseUrl, table, file }: CopyJob): Promise<Done> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(`truncate ${table}`)
    const copying = new CopyFrom(`copy ${table} from stdin`, createReadStream(file, { highWaterMark: 65_536 }))
    const started = performance.now()
    client.query(copying)
    const events = await copying.rows
    return { milliseconds: performance.now() - started, events, rows: {} }
  } finally {
    await client.end()
  }
}

function positionOf(text: string): Position {
  const position = parsePosition(text)
  if (position === undefined) throw new Error(`${text} is not a position`)
  return position
}
