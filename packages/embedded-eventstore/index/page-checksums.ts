import { closeSync, existsSync, openSync, readFileSync, readSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'

/*
 * SQLite does not notice a flipped byte that leaves its file valid. Such a byte could hide a stream. A second file
 * therefore keeps a CRC-32 of each page of the main file. They are compared before the main file is opened. Only
 * checkpoints write to the main file. Before a checkpoint, the checksums take over the future pages from the
 * write-ahead log (WAL):
 *
 *   u32 format | 8 bytes salt of that WAL | u32 CRC-32 of each page | u32 CRC-32 of all that
 *
 * The WAL of an ended process is used only to complete a checkpoint. Its other content comes from the event log again.
 * The checksums are not synced. A power cut may leave older ones; the index is then built again.
 */

const FORMAT = 1
const HEADER = 12
const PAGE = 4096
const PAGES_AT_ONCE = 256
const WAL_FRAMES_AT_ONCE = 64
const WAL_HEADER = 32
const WAL_SALT_AT = 16
const WAL_FRAME_HEADER = 24
const WAL_FRAME = WAL_FRAME_HEADER + PAGE
const EMPTY_PAGE = crc32(Buffer.alloc(PAGE))

/** Checksums of pages. `salt` belongs to the WAL whose checkpoint writes the last of these pages. */
type Kept = { salt: Buffer; pages: number[] }

/** The checksums of a SQLite file in WAL mode that no other process uses. */
export class PageChecksums {
  private readonly path: string
  private pages: number[]
  /**
   * One buffer for all checkpoints. A new block of the size of a WAL each time would fragment the memory of the
   * process.
   */
  private readonly buffer = Buffer.alloc(WAL_FRAME * WAL_FRAMES_AT_ONCE)

  /** Continues with the stored checksums once `isIntact` has compared them. Without any, takes the file as it is. */
  constructor(path: string) {
    this.path = path
    const kept = readKept(path)
    this.pages = kept?.pages ?? pagesOf(path)
    if (kept === undefined) writeKept(path, { salt: Buffer.alloc(8), pages: this.pages })
  }

  /** Records the pages as they are after a checkpoint of the whole WAL. That checkpoint must follow. */
  beforeCheckpoint(): void {
    const fd = openSync(`${this.path}-wal`, 'r')
    const header = this.buffer.subarray(0, readSync(fd, this.buffer, 0, WAL_HEADER, 0))
    const salt = Buffer.from(saltOf(header))
    let at = WAL_HEADER
    for (
      let read = readSync(fd, this.buffer, 0, this.buffer.length, at);
      read >= WAL_FRAME;
      read = readSync(fd, this.buffer, 0, this.buffer.length, at)
    ) {
      const whole = read - (read % WAL_FRAME)
      this.takeIn(this.buffer.subarray(0, whole))
      at += whole
    }
    closeSync(fd)
    if (salt.length > 0) writeKept(this.path, { salt, pages: this.pages })
  }

  private takeIn(frames: Buffer): void {
    for (let at = 0; at < frames.length; at += WAL_FRAME) {
      this.setPage(frames.readUInt32BE(at) - 1, crc32(frames.subarray(at + WAL_FRAME_HEADER, at + WAL_FRAME)))
      const pageCount = frames.readUInt32BE(at + 4)
      if (pageCount > 0) this.pages.length = Math.min(this.pages.length, pageCount)
    }
  }

  private setPage(page: number, crc: number): void {
    while (this.pages.length < page) this.pages.push(EMPTY_PAGE)
    this.pages[page] = crc
  }
}

/**
 * Whether a closed file equals what was written to it. Completes a checkpoint that an ended process had begun. Removes
 * a WAL that is not needed for that.
 */
export function isIntact(path: string): boolean {
  const kept = readKept(path)
  if (kept === undefined || !existsSync(path)) return false
  if (!isSame(pagesOf(path), kept.pages)) {
    if (!existsSync(`${path}-wal`) || !saltOf(readFileSync(`${path}-wal`)).equals(kept.salt)) return false
    completeCheckpoint(path)
    if (!isSame(pagesOf(path), kept.pages)) return false
  }
  for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
  return true
}

function completeCheckpoint(path: string): void {
  const database = new DatabaseSync(path)
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}

function isSame(pages: number[], others: number[]): boolean {
  return pages.length === others.length && pages.every((crc, at) => crc === others[at])
}

function saltOf(wal: Buffer): Buffer {
  return wal.subarray(WAL_SALT_AT, WAL_SALT_AT + 8)
}

function pagesOf(path: string): number[] {
  const fd = openSync(path, 'r')
  const bytes = Buffer.allocUnsafe(PAGE * PAGES_AT_ONCE)
  const pages: number[] = []
  for (let read = readSync(fd, bytes); read > 0; read = readSync(fd, bytes)) {
    for (let at = 0; at < read; at += PAGE) pages.push(crc32(bytes.subarray(at, Math.min(at + PAGE, read))))
  }
  closeSync(fd)
  return pages
}

function readKept(path: string): Kept | undefined {
  if (!existsSync(keptPath(path))) return undefined
  const bytes = readFileSync(keptPath(path))
  const end = bytes.length - 4
  if (end < HEADER || bytes.readUInt32LE(end) !== crc32(bytes.subarray(0, end)) || bytes.readUInt32LE(0) !== FORMAT)
    return undefined
  const pages: number[] = []
  for (let at = HEADER; at < end; at += 4) pages.push(bytes.readUInt32LE(at))
  return { salt: bytes.subarray(4, HEADER), pages }
}

function writeKept(path: string, { salt, pages }: Kept): void {
  const bytes = Buffer.alloc(HEADER + 4 * pages.length + 4)
  bytes.writeUInt32LE(FORMAT, 0)
  salt.copy(bytes, 4)
  for (const [at, crc] of pages.entries()) bytes.writeUInt32LE(crc, HEADER + 4 * at)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, -4)), bytes.length - 4)
  writeFileSync(`${keptPath(path)}.new`, bytes, { mode: 0o600 })
  renameSync(`${keptPath(path)}.new`, keptPath(path))
}

function keptPath(path: string): string {
  return `${path}-checksums`
}
