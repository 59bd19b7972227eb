import { closeSync, existsSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { CorruptLogError } from './log-errors.ts'
import { SEGMENT_HEADER, syncFolder } from './segment.ts'

/*
 * The position up to which appends were acknowledged. It is written after the sync of an append and before its answer.
 * A start can so distinguish a torn tail from damage. It cuts a torn tail behind the mark; it reports damage before the
 * mark. Two slots are written in turn, each with its own CRC. The mark itself is not synced. It survives a killed
 * process, and after a power cut an older mark is still true.
 */

const SLOT = 16
const NAME = 'acknowledged'

/** The position of the mark of a folder, also while a node writes it. Throws CorruptLogError without an intact one. */
export function readMark(folder: string): number {
  const fd = openSync(join(folder, NAME), 'r')
  try {
    const position = Math.max(readSlot(fd, 0) ?? -1, readSlot(fd, 1) ?? -1)
    if (position === -1) throw new CorruptLogError('the file "acknowledged" is not intact', 0)
    return position
  } finally {
    closeSync(fd)
  }
}

export class AcknowledgedMark {
  private readonly fd: number
  private readonly slot = Buffer.alloc(SLOT)
  private turn = 0
  /** Position up to which every append was acknowledged when the log was opened. */
  readonly position: number

  constructor(folder: string, logIsEmpty: boolean) {
    const path = join(folder, NAME)
    const isNew = !existsSync(path)
    if (isNew && !logIsEmpty) throw new CorruptLogError('the file "acknowledged" is missing', 0)
    this.fd = openSync(path, isNew ? 'w+' : 'r+', 0o600)
    const [first, second] = [readSlot(this.fd, 0), readSlot(this.fd, 1)]
    this.position = Math.max(first ?? 0, second ?? 0)
    if (!logIsEmpty && first === undefined && second === undefined)
      throw new CorruptLogError('the file "acknowledged" is not intact', 0)
    if (logIsEmpty && this.position > SEGMENT_HEADER) throw new CorruptLogError('the segments are missing', 0)
    this.turn = (first ?? -1) > (second ?? -1) ? 1 : 0
    // A crash may have left the file of an empty log without content. It gets its content before the first append.
    if (!isNew && !(logIsEmpty && first === undefined && second === undefined)) return
    this.write(0)
    fsyncSync(this.fd)
    syncFolder(folder)
  }

  /** Records that everything before `position` is durable. */
  write(position: number): void {
    this.slot.writeDoubleLE(position, 0)
    this.slot.writeUInt32LE(crc32(this.slot.subarray(0, 8)), 8)
    writeSync(this.fd, this.slot, 0, SLOT, this.turn * SLOT)
    this.turn = 1 - this.turn
  }

  close(): void {
    fsyncSync(this.fd)
    closeSync(this.fd)
  }
}

function readSlot(fd: number, slot: number): number | undefined {
  const bytes = Buffer.alloc(SLOT)
  if (readSync(fd, bytes, 0, SLOT, slot * SLOT) < SLOT) return undefined
  return bytes.readUInt32LE(8) === crc32(bytes.subarray(0, 8)) ? bytes.readDoubleLE(0) : undefined
}
