import { randomUUID } from 'node:crypto'
import { eventData, eventType } from '../log/frame.ts'
import { NoRoomError } from '../log/log-errors.ts'
import { append, softDelete } from '../streams/append.ts'
import { type ResolvedEvent, LINK_EVENT } from '../streams/links.ts'
import { readBackwards, viewStream } from '../streams/read-stream.ts'
import { METADATA_EVENT, metastreamOf } from '../streams/stream-metadata.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import { recordFields } from './pinning-key.ts'
import { formatPosition, groupKey, parsePosition, streamOf, type GroupSource } from './group-settings.ts'

const CHECKPOINT_EVENT = 'SubscriptionCheckpoint'
const JSON_CONTENT = 'application/json'
const BINARY_CONTENT = 'application/octet-stream'
const NO_BYTES = Buffer.alloc(0)
const RETRY_MS = 1_000
const ADMINS_ONLY = { $r: '$admins', $w: '$admins', $d: '$admins', $mr: '$admins', $mw: '$admins' }

/** The two streams of a group whose content must survive the node: its checkpoint, and links to its parked messages. */
export class GroupStreams {
  readonly parked: string
  private readonly store: StreamStore
  private readonly source: GroupSource
  private readonly checkpointStream: string
  private readonly onDamage: (error: unknown) => void
  private isWriting = false
  private isClosed = false
  private waiting: number | undefined
  /** Writes that a full disk refused, in order. */
  private held: { stream: string; write: () => void }[] = []

  /** `onDamage` is called if a refused write meets damage when it is tried again. Other writes throw. */
  constructor(store: StreamStore, source: GroupSource, group: string, onDamage: (error: unknown) => void) {
    const key = groupKey(streamOf(source), group)
    this.store = store
    this.source = source
    this.onDamage = onDamage
    this.checkpointStream = `$persistentsubscription-${key}-checkpoint`
    this.parked = `$persistentsubscription-${key}-parked`
  }

  /** The last checkpoint, if any. Throws CorruptLogError. */
  readCheckpoint(): number | undefined {
    const view = viewStream(this.store, this.checkpointStream)
    if (view.kind !== 'readable') return undefined
    for (const [last] of readBackwards(this.store, this.checkpointStream, view.head, 1)) {
      if (last === undefined || eventType(last) !== CHECKPOINT_EVENT) return undefined
      const text: unknown = JSON.parse(eventData(last).toString('utf8'))
      return typeof text === 'string' ? parsePosition(this.source, text) : undefined
    }
    return undefined
  }

  /** Writes a checkpoint. Of several that arrive during a write, only the last is written. */
  writeCheckpoint(position: number): void {
    if (this.isClosed) return
    if (this.isWriting) {
      this.waiting = position
      return
    }
    this.isWriting = true
    const data = Buffer.from(JSON.stringify(formatPosition(this.source, position)))
    this.write(
      this.checkpointStream,
      { type: CHECKPOINT_EVENT, contentType: JSON_CONTENT, data, metadata: NO_BYTES },
      () => {
        this.isWriting = false
        const { waiting } = this
        this.waiting = undefined
        if (waiting !== undefined) this.writeCheckpoint(waiting)
      },
    )
  }

  /** First and last revision of the parked messages. Undefined if none was ever parked. */
  parkedBounds(): { first: number; last: number } | undefined {
    const view = viewStream(this.store, this.parked)
    return view.kind === 'readable' ? { first: view.first, last: view.head } : undefined
  }

  /** Parks a message as a link. The link is in the log before any later checkpoint. */
  park({ event, link }: ResolvedEvent, reason: string): void {
    const original = link ?? event
    if (original === undefined) return
    const data =
      event === undefined ? eventData(original) : Buffer.from(`${String(event.revision)}@${recordFields(event).stream}`)
    const metadata = {
      added: new Date().toISOString().replace('Z', '0000+00:00'),
      reason,
      ...(original.revision === 0 ? {} : { subscriptionEventNumber: original.revision }),
    }
    this.write(this.parked, {
      type: LINK_EVENT,
      contentType: BINARY_CONTENT,
      data,
      metadata: Buffer.from(JSON.stringify(metadata)),
    })
  }

  /** Truncates the parked messages before a revision. */
  truncateParked(before: number): void {
    const data = Buffer.from(JSON.stringify({ $tb: before, $acl: ADMINS_ONLY }))
    this.write(metastreamOf(this.parked), { type: METADATA_EVENT, contentType: JSON_CONTENT, data, metadata: NO_BYTES })
  }

  /** Stops writing checkpoints. A later one would overwrite those of the group's next life, or follow its deletion. */
  close(): void {
    this.isClosed = true
    this.held = this.held.filter(({ stream }) => stream !== this.checkpointStream)
  }

  /** Deletes both streams. A message that waits to be parked would return to the group's next life. */
  delete(): void {
    this.held = []
    for (const stream of [this.checkpointStream, this.parked]) softDelete(this.store, stream, 'any', ignore)
  }

  private write(
    stream: string,
    event: { type: string; contentType: string; data: Buffer; metadata: Buffer },
    done: () => void = ignore,
  ): void {
    const proposed = { id: randomUUID(), ...event }
    this.held.push({
      stream,
      write: () =>
        append(this.store, stream, 'any', [proposed], (outcome) => {
          if (outcome.kind !== 'success')
            process.stderr.write(
              `${JSON.stringify({ level: 'error', event: 'group-write-refused', stream, outcome: outcome.kind })}\n`,
            )
          done()
        }),
    })
    if (this.held.length === 1) this.writeHeld()
  }

  private writeAgain(): void {
    try {
      this.writeHeld()
    } catch (error) {
      this.onDamage(error)
    }
  }

  /** The writes keep their order. A checkpoint must not exist without the messages that were parked before it. */
  private writeHeld(): void {
    for (let next = this.held[0]; next !== undefined; next = this.held[0]) {
      try {
        next.write()
      } catch (error) {
        if (error instanceof NoRoomError) {
          setTimeout(() => this.writeAgain(), RETRY_MS).unref()
          return
        }
        this.held.shift()
        throw error
      }
      this.held.shift()
    }
  }
}

function ignore(): void {}
