import { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import { commandErrorOf } from './client-errors.ts'
import { frameOf, type LogFrame } from './log-frames.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { PullSource } from './pull.ts'
import { WireReader } from './wire-reader.ts'

type MarkerKind = 'confirmed' | 'checkpoint' | 'caught-up' | 'fell-behind'

/**
 * Server messages between events: the subscription is confirmed, everything up to a position was considered, the
 * subscription has caught up, or it fell behind.
 */
export class Marker {
  readonly kind: MarkerKind
  readonly position: Position | undefined
  constructor(kind: MarkerKind, position?: Position) {
    this.kind = kind
    this.position = position
  }
}

/** Messages that may wait for a slow handler, and their bytes. All others stay on the server. */
const [mostAhead, mostBytesAhead] = [512, 8 * 1024 * 1024]

/** Field numbers of the server's `streams.proto`. */
const readResp = { event: 1, confirmation: 2, checkpoint: 3, caughtUp: 8, fellBehind: 9 }
const checkpoint = { commit: 1, prepare: 2 }

/** The event or marker of a message; undefined if the message holds something else. */
export function itemOf(message: Buffer): LogFrame | Marker | undefined {
  const response = new WireReader(message)
  if (!response.next()) return undefined
  if (response.field === readResp.event) return frameOf(message)
  if (response.field === readResp.confirmation) return new Marker('confirmed')
  if (response.field === readResp.caughtUp) return new Marker('caught-up')
  if (response.field === readResp.fellBehind) return new Marker('fell-behind')
  return response.field === readResp.checkpoint ? checkpointIn(response) : undefined
}

function checkpointIn(response: WireReader): Marker {
  const { start, end } = response.span()
  const reader = new WireReader(response.bytes, start, end)
  let [commit, prepare] = [0n, 0n]
  while (reader.next()) {
    if (reader.field === checkpoint.commit) commit = BigInt(reader.number())
    else if (reader.field === checkpoint.prepare) prepare = BigInt(reader.number())
    else reader.skip()
  }
  return new Marker('checkpoint', { commit, prepare })
}

/**
 * The messages of a subscription in the order of arrival, without the client. The client decodes each message twice. It
 * also reports checkpoints and caught-up at once, before older events that still wait. Here all messages wait in one
 * queue.
 */
export class ReadAhead extends EventEmitter implements PullSource {
  readonly #call: Readable
  #messages: Buffer[] = []
  #bytes = 0
  #isDiscarded = false

  constructor(call: Readable) {
    super()
    this.#call = call
    call.on('data', (message: Buffer) => this.#add(message))
    call.on('end', () => this.emit('end'))
    call.on('close', () => this.emit('close'))
    call.on('error', (error: Error) => this.emit('error', commandErrorOf(error)))
  }

  get readableLength(): number {
    return this.#messages.length
  }

  read(): Buffer | null {
    const message = this.#messages.shift() ?? null
    this.#bytes -= message?.length ?? 0
    const hasRoom = this.#messages.length <= mostAhead / 2 && this.#bytes <= mostBytesAhead / 2
    if (hasRoom && this.#call.isPaused()) this.#call.resume()
    return message
  }

  /** Discards waiting and future messages. */
  resume(): void {
    this.#isDiscarded = true
    this.#messages = []
    this.#call.resume()
  }

  #add(message: Buffer): void {
    if (this.#isDiscarded) return
    this.#messages.push(message)
    this.#bytes += message.length
    if (this.#messages.length >= mostAhead || this.#bytes >= mostBytesAhead) this.#call.pause()
    this.emit('readable')
  }
}
