import { createSecretKey } from 'node:crypto'
import { v5 } from 'uuid'
import { createPool, type Pool } from '../../platform/database/database.ts'
import { partOf, writeBatch } from '../../engine/projections/batch-writer.ts'
import type { Projector, Row } from '../../engine/projections/projector.ts'
import { quoted } from '../../engine/projections/row-statements.ts'
import { ensureRuntimeSchema } from '../../engine/projections/schema.ts'
import { startOfLog } from '../../platform/kit/positions.ts'
import type { DomainEvent, EventMetadata, RecordedEvent } from '../../engine/store/events.ts'
import { memberPlace, sealMember } from '../../engine/store/phi-encryption.ts'
import { Sealed } from '../../engine/store/sealed.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { emptyProjectors } from './empty-projectors.ts'
import { freshDatabase } from './postgres.ts'

/** An event as a test writes it. Omitted parts get defaults, the same on every run. */
export interface GivenEvent {
  readonly type: string
  readonly data: unknown
  readonly stream?: string
  readonly revision?: bigint
  readonly id?: string
  /** RFC 3339. */
  readonly recordedAt?: string
  readonly metadata?: Partial<EventMetadata>
}

const ids = 'b7f4f7c2-4f5e-5a57-9d7c-0f5b7f6b5a10'
const firstInstant = Date.parse('2026-01-01T00:00:00.000Z')

/** Turns given events into stored ones: positions rise, revisions count per stream, one second between two. */
export function recorded<Event extends DomainEvent = DomainEvent>(
  given: readonly GivenEvent[],
): RecordedEvent<Event>[] {
  const revisions = new Map<string, bigint>()
  return given.map((event, index) => {
    const stream = event.stream ?? 'given-1'
    const revision = event.revision ?? (revisions.get(stream) ?? -1n) + 1n
    revisions.set(stream, revision)
    const place = BigInt(index + 1) * 100n
    const id = event.id ?? v5(String(index), ids)
    const metadata = {
      commandId: id,
      $correlationId: v5('correlation', ids),
      schemaVersion: 1,
      signature: '',
      ...event.metadata,
    }
    const recordedAt = event.recordedAt ?? new Date(firstInstant + index * 1_000).toISOString()
    return {
      id,
      stream,
      revision,
      position: { commit: place, prepare: place },
      recordedAt,
      type: event.type,
      data: event.data,
      sealed: sealedData(stream, event),
      metadata,
    }
  })
}

/** Opens everything that `recorded` seals. */
export const givenKey = createSecretKey(Buffer.alloc(32, 7))

/** The data as a projector gets it: personal members are sealed for one person. */
export function sealedData(stream: string, { type, data }: Pick<GivenEvent, 'type' | 'data'>): unknown {
  const members = catalogue.entry(type)?.phiMembers ?? []
  const sealed: Record<string, unknown> = { ...Object(data) }
  for (const member of members) {
    const value = sealed[member]
    if (value === undefined || value === null) continue
    const place = { orgId: 'given', subjectId: 'given', stream, type, member }
    sealed[member] = Sealed.of(place, sealMember(givenKey, memberPlace(stream, type, member), value))
  }
  return sealed
}

/** The rows of each table, by name, ordered by primary key. */
export type Rows = Readonly<Record<string, readonly Row[]>>

interface OwnDatabase {
  readonly pool: Pool
  readonly drop: () => Promise<void>
}
let own: Promise<OwnDatabase> | undefined

/** One database for all tests of a file. Each replay empties the projector's tables. */
async function openOwn(): Promise<OwnDatabase> {
  const database = await freshDatabase()
  const pool = createPool({ url: database.url, max: 2 })
  await ensureRuntimeSchema(pool)
  return { pool, drop: () => database.drop() }
}

/** Closes and drops that database. `after-each-file.ts` calls it. */
export async function closeOwn(): Promise<void> {
  const opening = own
  own = undefined
  const opened = await opening
  await opened?.pool.end()
  await opened?.drop()
}

/**
 * Projects the events twice onto a real Postgres, in one batch and one by one, each into empty tables. Throws unless
 * both give the same rows. Returns the rows, with instants as RFC 3339.
 */
export async function rowsAfter(projector: Projector, events: readonly RecordedEvent[]): Promise<Rows> {
  const together = await rowsAfterBatch(projector, events)
  const oneByOne = await projectInto(
    projector,
    events.map((event) => [event]),
  )
  if (JSON.stringify(together) !== JSON.stringify(oneByOne)) {
    throw new Error(
      `${projector.name} makes other rows of a batch than of single events:\n${JSON.stringify({ together, oneByOne }, undefined, 2)}`,
    )
  }
  return together
}

/** The rows after one batch with these events, which is far faster for a long history. */
export async function rowsAfterBatch(projector: Projector, events: readonly RecordedEvent[]): Promise<Rows> {
  return projectInto(projector, [events])
}

async function projectInto(projector: Projector, batches: readonly (readonly RecordedEvent[])[]): Promise<Rows> {
  own ??= openOwn()
  const { pool } = await own
  await emptyProjectors(pool, [projector])
  let position = startOfLog
  for (const batch of batches) {
    const last = batch.at(-1)
    if (last === undefined) continue
    await writeBatch(pool, [partOf(projector, batch, position, last.position)])
    position = last.position
  }
  return readRows(pool, projector)
}

/** All rows of a projector's tables. */
export async function readRows(pool: Pool, projector: Projector): Promise<Rows> {
  const tables = projector.tables.map(async (table): Promise<[string, readonly Row[]]> => {
    const { rows } = await pool.query<Row>(
      `select * from ${quoted(projector.name)}.${quoted(table.name)} order by ${table.primaryKey.map(quoted).join(', ')}`,
    )
    return [
      table.name,
      rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, readable(value)]))),
    ]
  })
  return Object.fromEntries(await Promise.all(tables))
}

/** Sealed columns are opened, so a test compares their content. */
function readable(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  return value instanceof Uint8Array ? Sealed.from(value).openedWith(givenKey) : value
}
