import type { JSONEventType, JSONRecordedEvent } from '@eventstore/db-client'
import { DatabaseSync } from 'node:sqlite'

export type AssessmentEvent = JSONEventType<
  'assessment.completed' | 'assessment.failed' | 'assessment.reviewed',
  { readonly org_id: string }
>
const counted = new Set<string>(['assessment.completed', 'assessment.failed', 'assessment.reviewed'])

/** The local tables: the number of events of each organisation and type, the handled events, and the checkpoint. */
export class Totals {
  readonly #db: DatabaseSync

  constructor(path: string) {
    // Competing consumers share the file. Each waits while another one writes.
    this.#db = new DatabaseSync(path, { timeout: 30_000, readBigInts: true })
    this.#db.exec(`
      CREATE TABLE IF NOT EXISTS totals (
        org_id TEXT, event_type TEXT, count INTEGER NOT NULL, PRIMARY KEY (org_id, event_type)) STRICT;
      CREATE TABLE IF NOT EXISTS handled (event_id TEXT PRIMARY KEY) STRICT;
      CREATE TABLE IF NOT EXISTS checkpoint (channel TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT`)
  }

  /** The revision of the last handled event of a channel. */
  checkpoint(channel: string): bigint | undefined {
    const revision = this.#db.prepare('SELECT revision FROM checkpoint WHERE channel = ?').get(channel)?.['revision']
    return typeof revision === 'bigint' ? revision : undefined
  }

  /** Counts an event, and stores its revision in the same transaction. A crash leaves both or nothing. */
  countAndStore(event: JSONRecordedEvent<AssessmentEvent>): void {
    this.#transaction(() => {
      this.#count(event)
      this.#db
        .prepare(
          'INSERT INTO checkpoint VALUES (?, ?) ON CONFLICT (channel) DO UPDATE SET revision = excluded.revision',
        )
        .run(event.streamId, event.revision)
    })
  }

  /** Counts an event whose place another program keeps, like the server for a persistent subscription. */
  count(event: JSONRecordedEvent<AssessmentEvent>): void {
    this.#transaction(() => this.#count(event))
  }

  #count({ id, type, data }: JSONRecordedEvent<AssessmentEvent>): void {
    // Channels get new types without notice. Ignore them.
    if (!counted.has(type)) return
    const { changes } = this.#db.prepare('INSERT INTO handled VALUES (?) ON CONFLICT DO NOTHING').run(id)
    // A repeat has no effect. `event_id` in the data is the id of the event.
    if (Number(changes) === 0) return
    this.#db
      .prepare('INSERT INTO totals VALUES (?, ?, 1) ON CONFLICT (org_id, event_type) DO UPDATE SET count = count + 1')
      .run(data.org_id, type)
  }

  #transaction(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      work()
      this.#db.exec('COMMIT')
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }
}
