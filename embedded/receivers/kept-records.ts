import { DatabaseSync } from 'node:sqlite'

export type RecordLimits = {
  /** The oldest records are dropped beyond these. */
  records: number
  bytes: number
}

export type KeptRecord = { id: number; json: string }

/**
 * The newest records of one kind, as JSON. They are in a file before `add` returns, so a restarted platform finds what
 * was received before it was killed.
 */
export class KeptRecords {
  readonly #database: DatabaseSync
  readonly #limits: RecordLimits
  #bytes: number
  #count: number

  constructor(file: string, limits: RecordLimits) {
    this.#limits = limits
    this.#database = new DatabaseSync(file)
    this.#database.exec(`
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY AUTOINCREMENT, json TEXT NOT NULL) STRICT;
    `)
    const held = this.#database
      .prepare('SELECT count(*) AS records, sum(octet_length(json)) AS bytes FROM records')
      .get()
    this.#count = Number(held?.['records'] ?? 0)
    this.#bytes = Number(held?.['bytes'] ?? 0)
  }

  add(record: object): void {
    const json = JSON.stringify(record)
    this.#database.prepare('INSERT INTO records (json) VALUES (?)').run(json)
    this.#count += 1
    this.#bytes += Buffer.byteLength(json)
    while (this.#count > 1 && (this.#count > this.#limits.records || this.#bytes > this.#limits.bytes)) {
      const dropped = this.#database
        .prepare('DELETE FROM records WHERE id = (SELECT min(id) FROM records) RETURNING octet_length(json) AS bytes')
        .get()
      this.#count -= 1
      this.#bytes -= Number(dropped?.['bytes'] ?? 0)
    }
  }

  /** All records as a JSON list, oldest first. */
  listJson(form: (record: KeptRecord) => string = ({ json }) => json): string {
    return `[${this.#rows('SELECT id, json FROM records ORDER BY id').map(form).join(',')}]`
  }

  newest(count: number): KeptRecord[] {
    return this.#rows('SELECT id, json FROM records ORDER BY id DESC LIMIT ?', count)
  }

  find(id: number): KeptRecord | undefined {
    return this.#rows('SELECT id, json FROM records WHERE id = ?', id)[0]
  }

  clear(): void {
    this.#database.exec('DELETE FROM records')
    this.#count = 0
    this.#bytes = 0
  }

  close(): void {
    this.#database.close()
  }

  #rows(sql: string, ...values: number[]): KeptRecord[] {
    return this.#database
      .prepare(sql)
      .all(...values)
      .map(({ id, json }) => ({ id: Number(id), json: String(json) }))
  }
}
