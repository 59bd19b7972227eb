import type { Event } from '@event-driven-io/emmett'
import {
  getPostgreSQLEventStore,
  pongoMultiStreamProjection,
  rebuildPostgreSQLProjections,
} from '@event-driven-io/emmett-postgresql'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Client } from 'pg'
import { answerLogJobs, type PeerRebuildJob } from '../projections/jobs.ts'

/* A rebuild with rebuildPostgreSQLProjections of @event-driven-io/emmett, as its documentation shows. */

type Stored = Event<string, Record<string, unknown>>
type Assessment = { _id?: string; status: string; revision: number; changes: Record<string, unknown> }

const types = ['AssessmentRequested', 'AssessmentSubmitted', 'AssessmentReviewRequested', 'AssessmentCompleted']
const statuses: Readonly<Record<string, string>> = {
  AssessmentRequested: 'awaiting_images',
  AssessmentSubmitted: 'processing',
  AssessmentCompleted: 'completed',
}

const filled = new Map<string, number>()

answerLogJobs(async (job) => {
  if (job.kind !== 'peer-rebuild') throw new Error(`this process does not run ${job.kind}`)
  const events = filled.get(job.file) ?? (await appended(job))
  filled.set(job.file, events)
  // The library records rebuilds by the name of the collection.
  const collectionName = `assessments_${randomUUID().replaceAll('-', '')}`
  const projection = pongoMultiStreamProjection<Assessment, Stored>({
    collectionName,
    canHandle: types,
    getDocumentId: ({ data }) => String(data['assessmentId']),
    initialState: () => ({ status: 'new', revision: -1, changes: {} }),
    evolve: (document: Assessment, { type, data }: Stored) => ({
      ...document,
      status: statuses[type] ?? document.status,
      revision: document.revision + 1,
      changes: { ...document.changes, ...data },
    }),
  })
  const consumer = rebuildPostgreSQLProjections({ connectionString: job.databaseUrl, projections: [projection] })
  const started = performance.now()
  try {
    await consumer.start()
  } finally {
    await consumer.close()
  }
  const milliseconds = performance.now() - started
  return { milliseconds, events, rows: { completed: await completedIn(job, collectionName) } }
})

/** Appends the log stream by stream. Returns the number of events. */
async function appended({ databaseUrl, file }: PeerRebuildJob): Promise<number> {
  const store = getPostgreSQLEventStore(databaseUrl)
  try {
    await store.schema.migrate()
    const streams = new Map<string, Stored[]>()
    const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
    for (const line of lines) {
      const { stream, type, data } = JSON.parse(line)
      const events = streams.get(stream) ?? []
      streams.set(stream, events)
      events.push({ type, data })
    }
    for (const [stream, events] of streams) await store.appendToStream(stream, events)
    return lines.length
  } finally {
    await store.close()
  }
}

async function completedIn({ databaseUrl }: PeerRebuildJob, collectionName: string): Promise<number> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ count: string }>(
      `select count(*) from "${collectionName}" where data->>'status' = 'completed'`,
    )
    return Number(rows[0]?.count)
  } finally {
    await client.end()
  }
}
