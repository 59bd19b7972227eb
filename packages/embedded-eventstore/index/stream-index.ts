import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { CorruptIndexError, isForWantOfRoom } from '../log/log-errors.ts'
import type { Frame } from '../log/frame.ts'
import type { ScanStart } from '../log/recovery.ts'
import { LruMap } from '../streams/lru-map.ts'
import { NO_STREAM } from '../streams/revision.ts'
import { PageChecksums, isIntact } from './page-checksums.ts'

const FORMAT = 2
const FLUSH_COUNT = 512
const FLUSH_DELAY_MS = 200
const RETRY_DELAY_MS = 1_000
const MARK_DISTANCE = 128 << 10
const KNOWN_IDS = 25_000
/**
 * A checkpoint follows after this many appends, or after this many bytes of SQLite's write-ahead log. A start after a
 * crash reads at most this many appends again.
 */
const CHECKPOINT_COUNT = 25_000
const CHECKPOINT_BYTES = 16 << 20

/** Place of one append of a stream in the log. */
export type AppendPlace = { revision: number; count: number; position: number }

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 1), format INTEGER, identity INTEGER, position INTEGER, crc INTEGER, events INTEGER);
  CREATE TABLE IF NOT EXISTS streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE IF NOT EXISTS appends (
    stream INTEGER NOT NULL, revision INTEGER NOT NULL, count INTEGER NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (stream, revision)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS marks (position INTEGER PRIMARY KEY) WITHOUT ROWID;
`

const FILE = 'index.sqlite'

/** Opens the index of a folder. Deletes a damaged index first. */
export function openIndex(folder: string): StreamIndex {
  const path = join(folder, FILE)
  if (!isIntact(path)) removeIndex(folder)
  return new StreamIndex(path)
}

/** Deletes the index of a folder. The index must not be open. */
export function removeIndex(folder: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal', '-checksums', '-checksums.new'])
    rmSync(join(folder, `${FILE}${suffix}`), { force: true })
}

/**
 * Finds the appends of a stream, and positions from which to read the log. It contains only durable appends. The newest
 * part is in memory and goes to SQLite in batches. A lost part costs only a walk over the log at the next start.
 */
export class StreamIndex {
  /** Names of the existing metadata streams. */
  readonly metastreams = new Set<string>()
  private readonly path: string
  private readonly database: DatabaseSync
  private readonly checksums: PageChecksums
  private readonly statements: ReturnType<typeof prepare>
  private readonly pending = new Map<string, AppendPlace[]>()
  private readonly pendingMarks: number[] = []
  private readonly marks: number[]
  private ids = new LruMap<string, number>(KNOWN_IDS)
  private pendingCount = 0
  private countSinceCheckpoint = 0
  private events: number
  private end = 0
  private crc = 0
  private identity = 0
  private timer: NodeJS.Timeout | undefined
  private isWaiting = false

  constructor(path: string) {
    this.path = path
    this.database = new DatabaseSync(path)
    this.database.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 0',
    )
    this.checksums = new PageChecksums(path)
    if (this.formatOf() !== FORMAT)
      this.database.exec(
        'DROP TABLE IF EXISTS state; DROP TABLE IF EXISTS appends; DROP TABLE IF EXISTS streams; DROP TABLE IF EXISTS marks',
      )
    this.database.exec(SCHEMA)
    this.statements = prepare(this.database)
    this.events = Number(this.statements.state.get()?.['events'] ?? 0)
    this.marks = this.statements.marks.all().map((row) => Number(row['position']))
    for (const row of this.statements.metastreams.all()) this.metastreams.add(String(row['name']))
  }

  /** The end of the log as the stored index has it. Undefined when the index is empty. */
  stored(): ScanStart | undefined {
    const row = this.statements.state.get()
    return row === undefined
      ? undefined
      : { position: Number(row['position']), crc: Number(row['crc']), identity: Number(row['identity']) }
  }

  /** Binds the index to a log. Without `isTrue` the stored index does not match the log and is deleted. */
  belongTo(identity: number, isTrue: boolean): void {
    this.identity = identity
    if (isTrue) return
    this.database.exec('DELETE FROM state; DELETE FROM appends; DELETE FROM streams; DELETE FROM marks')
    this.metastreams.clear()
    this.ids = new LruMap(KNOWN_IDS)
    this.marks.length = 0
    this.events = 0
  }

  /** Whether the disk refuses writes and memory holds so much that no more should be added. */
  get isOverfull(): boolean {
    return this.isWaiting && this.pendingCount >= CHECKPOINT_COUNT
  }

  /** Number of durable events. */
  get eventCount(): number {
    return this.events
  }

  /** Number of streams that ever had an event. Ids have no gaps. */
  get streamCount(): number {
    let unwritten = 0
    for (const stream of this.pending.keys()) if (this.idOf(stream) === undefined) unwritten += 1
    return Number(this.statements.lastId.get()?.['id'] ?? 0) + unwritten
  }

  /** Adds a durable append. */
  add(frame: Frame): void {
    const place = { revision: frame.firstRevision, count: frame.count, position: frame.position }
    const places = this.pending.get(frame.stream)
    if (places === undefined) this.pending.set(frame.stream, [place])
    else places.push(place)
    if (frame.stream.startsWith('$$')) this.metastreams.add(frame.stream)
    if (frame.position - (this.marks.at(-1) ?? -MARK_DISTANCE) >= MARK_DISTANCE) {
      this.marks.push(frame.position)
      this.pendingMarks.push(frame.position)
    }
    this.end = frame.end
    this.crc = frame.bytes.readUInt32LE(frame.bytes.length - 4)
    this.events += frame.count
    this.pendingCount += 1
    // A flush that waits for room has its own timer.
    if (this.pendingCount === FLUSH_COUNT) this.flush()
    else this.timer ??= setTimeout(() => this.flush(), FLUSH_DELAY_MS)
  }

  /** Revision of a stream's last event, or NO_STREAM. */
  head(stream: string): number {
    const place = this.pending.get(stream)?.at(-1) ?? this.storedLast(stream)
    return place === undefined ? NO_STREAM : place.revision + place.count - 1
  }

  /** Up to `limit` appends of a stream in order. The first one contains `revision` or is the next after it. */
  placesFrom(stream: string, revision: number, limit: number): AppendPlace[] {
    const id = this.idOf(stream)
    const places: AppendPlace[] = []
    if (id !== undefined) {
      const holding = this.statements.lastUpTo.get(id, revision)
      const isHeld = holding !== undefined && Number(holding['revision']) + Number(holding['count']) > revision
      const first = isHeld ? Number(holding['revision']) : revision
      for (const row of this.statements.from.all(id, first, limit)) places.push(toPlace(row))
    }
    if (places.length < limit) places.push(...(this.pending.get(stream) ?? []))
    return places.filter((place) => place.revision + place.count > revision).slice(0, limit)
  }

  /** Up to `limit` appends of a stream in reverse order. The first one contains `revision` or is the last before it. */
  placesBackFrom(stream: string, revision: number, limit: number): AppendPlace[] {
    const held = (this.pending.get(stream) ?? []).filter((place) => place.revision <= revision).toReversed()
    const id = this.idOf(stream)
    if (held.length < limit && id !== undefined)
      for (const row of this.statements.backFrom.all(id, revision, limit - held.length)) held.push(toPlace(row))
    return held.slice(0, limit)
  }

  /** The closest known position of a frame at or before `position`. */
  markBefore(position: number): number | undefined {
    let low = 0
    let high = this.marks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.marks[middle] ?? Infinity) <= position) low = middle
      else high = middle - 1
    }
    const mark = this.marks[low]
    return mark !== undefined && mark <= position ? mark : undefined
  }

  /** Writes the part that is in memory. Tries again later when the disk has no room. */
  flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.pendingCount === 0) return
    try {
      this.writePending()
      if (this.countSinceCheckpoint >= CHECKPOINT_COUNT || statSync(`${this.path}-wal`).size >= CHECKPOINT_BYTES)
        this.checkpoint()
      if (this.isWaiting) say({ level: 'info', event: 'event-store-index-written' })
      this.isWaiting = false
    } catch (error) {
      if (!isWithoutRoom(error)) throw error
      this.takeBack()
      if (!this.isWaiting) say({ level: 'error', event: 'event-store-index-waits', message: String(error) })
      this.isWaiting = true
      this.timer = setTimeout(() => this.flush(), RETRY_DELAY_MS)
    }
  }

  /** Undoes a failed write completely: the rows, and the ids that it gave to streams. */
  private takeBack(): void {
    if (this.database.isTransaction) this.database.exec('ROLLBACK')
    this.ids = new LruMap(KNOWN_IDS)
  }

  private writePending(): void {
    this.database.exec('BEGIN')
    for (const [stream, places] of this.pending) {
      const id = this.ids.get(stream) ?? this.create(stream) ?? this.idOf(stream)
      if (id === undefined) throw new CorruptIndexError(stream, 'the stream is neither stored nor can it be added')
      for (const place of places) this.statements.insert.run(id, place.revision, place.count, place.position)
    }
    for (const position of this.pendingMarks) this.statements.insertMark.run(position)
    this.statements.setState.run(FORMAT, this.identity, this.end, this.crc, this.events)
    this.database.exec('COMMIT')
    this.pending.clear()
    this.pendingMarks.length = 0
    this.countSinceCheckpoint += this.pendingCount
    this.pendingCount = 0
  }

  close(): void {
    this.flush()
    this.abandon()
  }

  /** Closes without writing the part that is in memory. */
  abandon(): void {
    clearTimeout(this.timer)
    try {
      this.checkpoint()
    } catch (error) {
      // The file stays open and unchanged. SQLite's own checkpoint at a close would bypass the checksums.
      if (isWithoutRoom(error)) return
      throw error
    }
    this.database.close()
  }

  private checkpoint(): void {
    this.countSinceCheckpoint = 0
    this.checksums.beforeCheckpoint()
    this.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  private storedLast(stream: string): AppendPlace | undefined {
    const id = this.idOf(stream)
    const row = id === undefined ? undefined : this.statements.last.get(id)
    return row === undefined ? undefined : toPlace(row)
  }

  private idOf(stream: string): number | undefined {
    const known = this.ids.get(stream)
    if (known !== undefined) return known
    const row = this.statements.stream.get(stream)
    return row === undefined ? undefined : this.remember(stream, Number(row['id']))
  }

  /** Adds a stream and returns its id. Returns undefined when it is stored already. */
  private create(stream: string): number | undefined {
    const { changes, lastInsertRowid } = this.statements.insertStream.run(stream)
    return changes === 1 ? this.remember(stream, Number(lastInsertRowid)) : undefined
  }

  private remember(stream: string, id: number): number {
    this.ids.set(stream, id)
    return id
  }

  private formatOf(): number | undefined {
    const exists = this.database.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'state'`).get()
    const row = exists === undefined ? undefined : this.database.prepare('SELECT format FROM state').get()
    return exists === undefined || row === undefined ? FORMAT : Number(row['format'])
  }
}

function prepare(
  database: DatabaseSync,
): Record<
  | 'state'
  | 'setState'
  | 'stream'
  | 'lastId'
  | 'insertStream'
  | 'insert'
  | 'last'
  | 'lastUpTo'
  | 'from'
  | 'backFrom'
  | 'marks'
  | 'insertMark'
  | 'metastreams',
  StatementSync
> {
  return {
    state: database.prepare('SELECT identity, position, crc, events FROM state'),
    setState: database.prepare(
      'INSERT OR REPLACE INTO state (id, format, identity, position, crc, events) VALUES (1, ?, ?, ?, ?, ?)',
    ),
    stream: database.prepare('SELECT id FROM streams WHERE name = ?'),
    lastId: database.prepare('SELECT max(id) AS id FROM streams'),
    insertStream: database.prepare('INSERT OR IGNORE INTO streams (name) VALUES (?)'),
    insert: database.prepare('INSERT INTO appends (stream, revision, count, position) VALUES (?, ?, ?, ?)'),
    last: database.prepare(
      'SELECT revision, count, position FROM appends WHERE stream = ? ORDER BY revision DESC LIMIT 1',
    ),
    lastUpTo: database.prepare(
      'SELECT revision, count FROM appends WHERE stream = ? AND revision <= ? ORDER BY revision DESC LIMIT 1',
    ),
    from: database.prepare(
      'SELECT revision, count, position FROM appends WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?',
    ),
    backFrom: database.prepare(
      'SELECT revision, count, position FROM appends WHERE stream = ? AND revision <= ? ORDER BY revision DESC LIMIT ?',
    ),
    marks: database.prepare('SELECT position FROM marks ORDER BY position'),
    insertMark: database.prepare('INSERT OR IGNORE INTO marks (position) VALUES (?)'),
    metastreams: database.prepare(`SELECT name FROM streams WHERE name >= '$$' AND name < '$%'`),
  }
}

/** SQLITE_FULL, and SQLite's codes for limits other than the disk's: SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE. */
const WITHOUT_ROOM: ReadonlySet<unknown> = new Set([13, 778, 4874])

function isWithoutRoom(error: unknown): boolean {
  return isForWantOfRoom(error) || (error instanceof Error && 'errcode' in error && WITHOUT_ROOM.has(error.errcode))
}

function say(line: Readonly<Record<string, string>>): void {
  process.stderr.write(`${JSON.stringify(line)}\n`)
}

function toPlace(row: Record<string, unknown>): AppendPlace {
  return { revision: Number(row['revision']), count: Number(row['count']), position: Number(row['position']) }
}
