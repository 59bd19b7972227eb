import { createHash, randomBytes } from 'node:crypto'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { CallName, FaultControl, ResultControl } from './controls.ts'
import type { CaseImage } from './result-payload.ts'

export type CallRecord = {
  call: CallName
  /** ISO 8601 instant of the call. */
  at: string
  status: number
  caseId?: number
  imageId?: number
  sha256?: string
  imageType?: string
  deviceManufacturer?: string
  deviceModel?: string
  correlationId?: string
  checksum?: string
  requestingSystem?: string
}

export type ProviderCase = {
  caseId: number
  requestingSystem: string
  checksum: string | undefined
  processedAt: number
  /** Number of result polls answered "not ready". */
  polls: number
  /** The first returned result. It never changes afterwards. */
  result: string | undefined
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS sessions (token TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS cases (
    id INTEGER PRIMARY KEY AUTOINCREMENT, requesting_system TEXT NOT NULL, checksum TEXT,
    processed_at INTEGER NOT NULL DEFAULT 0, polls INTEGER NOT NULL DEFAULT 0, result TEXT
  ) STRICT;
  CREATE TABLE IF NOT EXISTS images (
    id INTEGER PRIMARY KEY AUTOINCREMENT, case_id INTEGER NOT NULL, sha256 TEXT NOT NULL, image_type TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS faults (
    id INTEGER PRIMARY KEY AUTOINCREMENT, call TEXT NOT NULL, fault TEXT NOT NULL, left INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS results (id INTEGER PRIMARY KEY AUTOINCREMENT, control TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS calls (id INTEGER PRIMARY KEY AUTOINCREMENT, record TEXT NOT NULL) STRICT;
`

/**
 * The provider's whole state. It is on disk before each answer, so that a restarted platform meets the same provider.
 */
export class Memory {
  readonly #database: DatabaseSync

  constructor(file: string) {
    this.#database = new DatabaseSync(file)
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
    this.#database.exec(SCHEMA)
  }

  close(): void {
    this.#database.close()
  }

  /** Commits a call's effect and its record together. */
  atomically<Value>(work: () => Value): Value {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const value = work()
      this.#database.exec('COMMIT')
      return value
    } catch (error) {
      this.#database.exec('ROLLBACK')
      throw error
    }
  }

  openSession(now: number, ttlSeconds: number): string {
    const token = randomBytes(24).toString('base64url')
    this.#run('DELETE FROM sessions WHERE expires_at <= ?', now)
    this.#run('INSERT INTO sessions (token, expires_at) VALUES (?, ?)', token, now + ttlSeconds * 1000)
    return token
  }

  hasSession(token: string, now: number): boolean {
    return this.#rows('SELECT 1 FROM sessions WHERE token = ? AND expires_at > ?', token, now).length > 0
  }

  dropSession(token: string): void {
    this.#run('DELETE FROM sessions WHERE token = ?', token)
  }

  openCase(requestingSystem: string): number {
    return this.#run('INSERT INTO cases (requesting_system) VALUES (?)', requestingSystem)
  }

  findCase(caseId: number): ProviderCase | undefined {
    const [row] = this.#rows('SELECT * FROM cases WHERE id = ?', caseId)
    if (row === undefined) return undefined
    return {
      caseId,
      requestingSystem: String(row['requesting_system']),
      checksum: optionalText(row['checksum']),
      processedAt: Number(row['processed_at']),
      polls: Number(row['polls']),
      result: optionalText(row['result']),
    }
  }

  addImage(caseId: number, sha256: string, imageType: string): number {
    return this.#run('INSERT INTO images (case_id, sha256, image_type) VALUES (?, ?, ?)', caseId, sha256, imageType)
  }

  imagesOf(caseId: number): CaseImage[] {
    const rows = this.#rows('SELECT id, sha256, image_type FROM images WHERE case_id = ? ORDER BY id', caseId)
    return rows.map((row) => ({
      imageId: Number(row['id']),
      sha256: String(row['sha256']),
      imageType: String(row['image_type']),
    }))
  }

  /** Marks the case as processed. The checksum stays that of the first time. */
  process(found: ProviderCase, now: number): string {
    if (found.checksum !== undefined) return found.checksum
    const content = JSON.stringify([found.caseId, randomBytes(8).toString('hex'), this.imagesOf(found.caseId)])
    const checksum = createHash('sha256').update(content).digest('hex').slice(0, 32)
    this.#run('UPDATE cases SET checksum = ?, processed_at = ? WHERE id = ?', checksum, now, found.caseId)
    return checksum
  }

  countPoll(caseId: number): void {
    this.#run('UPDATE cases SET polls = polls + 1 WHERE id = ?', caseId)
  }

  keepResult(caseId: number, result: string): void {
    this.#run('UPDATE cases SET result = ? WHERE id = ?', result, caseId)
  }

  addFaults(faults: readonly FaultControl[]): void {
    for (const fault of faults) {
      this.#run(
        'INSERT INTO faults (call, fault, left) VALUES (?, ?, ?)',
        fault.call,
        JSON.stringify(fault),
        fault.times,
      )
    }
  }

  /** Consumes the oldest fault for this call. */
  takeFault(call: CallName): FaultControl | undefined {
    const [row] = this.#rows('SELECT id, fault FROM faults WHERE call = ? AND left > 0 ORDER BY id LIMIT 1', call)
    if (row === undefined) return undefined
    this.#run('UPDATE faults SET left = left - 1 WHERE id = ?', Number(row['id']))
    return JSON.parse(String(row['fault'])) as FaultControl
  }

  addResultControls(controls: readonly ResultControl[]): void {
    for (const control of controls) this.#run('INSERT INTO results (control) VALUES (?)', JSON.stringify(control))
  }

  resultControls(): ResultControl[] {
    return this.#rows('SELECT control FROM results ORDER BY id').map(
      (row) => JSON.parse(String(row['control'])) as ResultControl,
    )
  }

  record(call: CallRecord): void {
    this.#run('INSERT INTO calls (record) VALUES (?)', JSON.stringify(call))
  }

  /** The call list as JSON, oldest first. */
  callsJson(): string {
    return `[${this.#rows('SELECT record FROM calls ORDER BY id')
      .map((row) => String(row['record']))
      .join(',')}]`
  }

  /** Deletes faults, result controls and the call list. Sessions and cases stay. */
  reset(): void {
    this.#database.exec('DELETE FROM faults; DELETE FROM results; DELETE FROM calls;')
  }

  #rows(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    return this.#database.prepare(sql).all(...values)
  }

  /** Runs a statement and returns the id of the row that it inserted. */
  #run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#database.prepare(sql).run(...values).lastInsertRowid)
  }
}

function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
