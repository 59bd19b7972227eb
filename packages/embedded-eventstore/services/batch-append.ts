import type { ServerDuplexStream } from '@grpc/grpc-js'
import type { AccessControl } from '../access/access-control.ts'
import type { Status } from '@eventstore/db-client/generated/status_pb.js'
import { NoRoomError } from '../log/log-errors.ts'
import {
  BadRequestError,
  bytesOfNames,
  readBatchAppendMessage,
  type AppendOptions,
  type BatchAppendMessage,
  type ProposedEvent,
} from '../wire/append-request.ts'
import { batchError, batchSuccess } from '../wire/append-reply.ts'
import {
  LARGEST_REQUEST,
  MAX_APPEND_SIZE,
  batchAccessDenied,
  batchBadRequest,
  batchMaxAppendSizeExceeded,
  batchNoRoom,
  batchStreamDeleted,
  batchTimeout,
  batchUnknown,
  batchWrongExpectedVersion,
} from '../wire/errors.ts'
import { FieldReader, MalformedMessageError } from '../wire/protobuf.ts'
import { append, type WriteOutcome } from '../streams/append.ts'
import type { StreamStore } from '../streams/stream-store.ts'

export type BatchAppendCall = ServerDuplexStream<Buffer, Buffer | Buffer[]>

type PartialAppend = {
  options: AppendOptions
  events: ProposedEvent[]
  /** Bytes of data. */
  size: number
  /** Bytes of the messages, metadata included. */
  held: number
  timer: NodeJS.Timeout | undefined
}

/** Bytes that may wait for the disk. Above it, clients must wait. */
const LARGEST_BACKLOG = 16 << 20

/** Longest wait for the rest of an append that consists of several messages. */
const LONGEST_WAIT_MS = 10_000

/**
 * The `BatchAppend` call: many appends over one connection stream, answered in the order in which they become durable.
 */
export function batchAppend(store: StreamStore, access: AccessControl, call: BatchAppendCall): void {
  const session = new BatchSession(store, access, call)
  call.on('data', (bytes: Buffer) => session.receive(bytes))
  call.on('end', () => session.finish())
  call.on('cancelled', () => session.abandon())
  call.on('error', () => session.abandon())
}

class BatchSession {
  private readonly store: StreamStore
  private readonly access: AccessControl
  private readonly call: BatchAppendCall
  private readonly partial = new Map<string, PartialAppend>()
  /** Bytes of all partial appends. */
  private held = 0
  private answers: Buffer[] = []
  private pending = 0
  private readonly heldBy = new Set<'disk' | 'client'>()
  private isFinished = false
  private isAbandoned = false

  constructor(store: StreamStore, access: AccessControl, call: BatchAppendCall) {
    this.store = store
    this.access = access
    this.call = call
  }

  receive(bytes: Buffer): void {
    try {
      this.take(readBatchAppendMessage(bytes), bytes.length)
    } catch (error) {
      if (error instanceof BadRequestError || error instanceof MalformedMessageError)
        this.refuse(correlationIdOf(bytes), '', batchBadRequest(error.message))
      else this.fail(correlationIdOf(bytes), '', error)
    }
  }

  finish(): void {
    this.isFinished = true
    this.forgetPartial()
    this.endIfDone()
  }

  abandon(): void {
    this.isAbandoned = true
    this.forgetPartial()
  }

  /** Drops appends whose rest is overdue. */
  private forgetPartial(): void {
    for (const { timer } of this.partial.values()) clearTimeout(timer)
    this.partial.clear()
    this.held = 0
  }

  private take(message: BatchAppendMessage, length: number): void {
    const key = message.correlationId.toString('latin1')
    const known = this.partial.get(key)
    const started = known ?? this.begin(message)
    if (started === undefined) return
    for (const event of message.events) started.size += event.data.length
    started.held += length
    this.held += length
    if (known === undefined) started.events = message.events
    else for (const event of message.events) known.events.push(event)
    const { stream } = started.options
    if (started.size > MAX_APPEND_SIZE || (this.held > LARGEST_REQUEST && !message.isFinal)) {
      this.drop(key, started)
      this.refuse(message.correlationId, stream, batchMaxAppendSizeExceeded())
    } else if (message.isFinal) {
      this.drop(key, started)
      this.append(message.correlationId, started)
    } else if (known === undefined) this.hold(key, message.correlationId, started)
  }

  /** Starts an append. Undefined when it is refused or unknown. */
  private begin(message: BatchAppendMessage): PartialAppend | undefined {
    const { options } = message
    if (options === undefined) return undefined
    if (!this.access.allowsStream(this.call.metadata, 'write', options.stream)) {
      this.refuse(message.correlationId, options.stream, batchAccessDenied())
      return undefined
    }
    if (options.deadlineAt !== undefined && options.deadlineAt <= Date.now()) {
      this.refuse(message.correlationId, options.stream, batchTimeout())
      return undefined
    }
    return { options, events: [], size: 0, held: 0, timer: undefined }
  }

  private hold(key: string, correlationId: Buffer, started: PartialAppend): void {
    const wait = Math.min(LONGEST_WAIT_MS, (started.options.deadlineAt ?? Infinity) - Date.now())
    started.timer = setTimeout(() => {
      this.drop(key, started)
      this.refuse(correlationId, started.options.stream, batchTimeout())
    }, wait)
    this.partial.set(key, started)
  }

  private drop(key: string, started: PartialAppend): void {
    clearTimeout(started.timer)
    this.partial.delete(key)
    this.held -= started.held
  }

  private append(correlationId: Buffer, { options, events }: PartialAppend): void {
    const { stream, expected } = options
    const problem = problemOf(options, events)
    if (problem !== undefined || expected === undefined) {
      this.refuse(correlationId, stream, batchBadRequest(problem ?? "'None' is not a valid expected stream position"))
      return
    }
    if (bytesOfNames(stream, events) > LARGEST_REQUEST) {
      this.refuse(correlationId, stream, batchMaxAppendSizeExceeded())
      return
    }
    this.pending += 1
    const done = (outcome: WriteOutcome): void => {
      this.pending -= 1
      if (outcome.kind === 'success') this.answer(batchSuccess(correlationId, stream, outcome))
      else if (outcome.kind === 'deleted') this.refuse(correlationId, stream, batchStreamDeleted(stream))
      else this.refuse(correlationId, stream, batchWrongExpectedVersion(expected, outcome.head))
    }
    try {
      append(this.store, stream, expected, events, done)
      this.slowDown()
    } catch (error) {
      this.pending -= 1
      this.fail(correlationId, stream, error)
    }
  }

  /** Limits the memory of the node when the disk is slow or a client does not read its answers. */
  private slowDown(): void {
    if (this.store.log.backlog >= LARGEST_BACKLOG)
      this.holdUntil('disk', (proceed) => this.store.log.whenDurable(proceed))
  }

  private holdUntil(reason: 'disk' | 'client', when: (proceed: () => void) => void): void {
    if (this.heldBy.has(reason)) return
    this.heldBy.add(reason)
    this.call.pause()
    when(() => {
      this.heldBy.delete(reason)
      if (this.heldBy.size === 0) this.call.resume()
    })
  }

  private refuse(correlationId: Buffer, stream: string, error: Status): void {
    this.answer(batchError(correlationId, stream, error))
  }

  private fail(correlationId: Buffer, stream: string, error: unknown): void {
    if (error instanceof NoRoomError) return this.refuse(correlationId, stream, batchNoRoom())
    process.stderr.write(
      `${JSON.stringify({ level: 'error', event: 'append-failed', stream, message: String(error) })}\n`,
    )
    this.refuse(correlationId, stream, batchUnknown())
  }

  /** Answers of one turn of the event loop are sent together. */
  private answer(bytes: Buffer): void {
    if (this.answers.length === 0) queueMicrotask(() => this.flush())
    this.answers.push(bytes)
  }

  private flush(): void {
    const answers = this.answers
    this.answers = []
    const isTaken = this.isAbandoned || this.call.write(answers)
    if (!isTaken) this.holdUntil('client', (proceed) => this.call.once('drain', proceed))
    this.endIfDone()
  }

  private endIfDone(): void {
    if (this.isFinished && this.pending === 0 && this.answers.length === 0 && !this.isAbandoned) this.call.end()
  }
}

function problemOf(options: AppendOptions, events: ProposedEvent[]): string | undefined {
  if (options.stream === '') return "Value cannot be null. (Parameter 'eventStreamId')"
  if (events.some((event) => event.type === undefined)) return "The given key 'type' was not present in the dictionary."
  if (events.some((event) => event.contentType === undefined))
    return "The given key 'content-type' was not present in the dictionary."
  if (events.some((event) => event.type === '')) return "Empty eventType provided. (Parameter 'eventType')"
  return undefined
}

function correlationIdOf(bytes: Buffer): Buffer {
  try {
    const fields = new FieldReader(bytes)
    while (fields.next()) if (fields.field === 1) return fields.content()
  } catch (error) {
    if (!(error instanceof MalformedMessageError)) throw error
  }
  return Buffer.alloc(0)
}
