import type { StoredEvent } from './decoding.ts'
import { readJsonText } from '../../platform/kit/json-reading.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { WireReader, type Span } from './wire-reader.ts'

/** An event of the log with its content still in bytes. */
export interface LogFrame {
  readonly type: string
  readonly stream: string
  readonly position: Position
  readonly revision: bigint
  /** Whether the event is at `place` or before it. */
  readonly isUpTo: (place: Position) => boolean
  /** The event as the client returns it, with the stored bytes. */
  readonly open: () => StoredEvent
  /** The stored bytes with their place. Parses nothing. */
  readonly stored: () => StoredBytes
}

/** An event as it is stored. The bytes are those of the message, so keep them only briefly. */
export interface StoredBytes {
  readonly id: string
  readonly type: string
  readonly stream: string
  readonly revision: bigint
  readonly position: Position
  /** The server's clock when it was stored. */
  readonly created: Date
  readonly dataBytes: Uint8Array
  readonly metadataBytes: Uint8Array
}

/** The event of a message; undefined if the message holds something else. */
export function frameOf(message: Buffer): LogFrame | undefined {
  const response = new WireReader(message)
  const whole = { start: 0, end: message.length }
  const read = response.within(whole, readResp.event)
  const recorded = read === undefined ? undefined : response.within(read, readEvent.event)
  return recorded === undefined ? undefined : new RecordedFrame(new WireReader(message, recorded.start, recorded.end))
}

/** Field numbers of the server's `streams.proto` and `shared.proto`. */
const readResp = { event: 1 }
const readEvent = { event: 1 }
const uuid = { string: 2 }
const streamIdentifier = { name: 3 }
const recordedEvent = { id: 1, stream: 2, revision: 3, prepare: 4, commit: 5, metadata: 6, customMetadata: 7, data: 8 }
const mapEntry = { key: 1, value: 2 }
/** Keys of the server's metadata for an event's type, time and content type. The server may add other keys. */
const metadataKey = {
  type: Buffer.from('type'),
  created: Buffer.from('created'),
  contentType: Buffer.from('content-type'),
}

/** The client's name for an event whose type the server does not send. */
const typeless = '<no-event-type-provided>'

const nowhere: Span = { start: 0, end: 0 }

/** Locates the members. Reads only those that decide whether the event is wanted. */
class RecordedFrame implements LogFrame {
  readonly type: string
  readonly #bytes: Buffer
  #id = nowhere
  #stream = nowhere
  #revision: number | bigint = 0
  #prepare: number | bigint = 0
  #commit: number | bigint = 0
  #created = nowhere
  #contentType = nowhere
  #customMetadata = nowhere
  #data = nowhere

  constructor(reader: WireReader) {
    this.#bytes = reader.bytes
    let type = nowhere
    while (reader.next()) {
      const { field } = reader
      if (field === recordedEvent.id) this.#id = reader.span()
      else if (field === recordedEvent.stream) this.#stream = reader.span()
      else if (field === recordedEvent.revision) this.#revision = reader.number()
      else if (field === recordedEvent.prepare) this.#prepare = reader.number()
      else if (field === recordedEvent.commit) this.#commit = reader.number()
      else if (field === recordedEvent.customMetadata) this.#customMetadata = reader.span()
      else if (field === recordedEvent.data) this.#data = reader.span()
      else if (field === recordedEvent.metadata) {
        const entry = reader.span()
        const key = reader.within(entry, mapEntry.key) ?? nowhere
        if (reader.holds(key, metadataKey.type)) type = entry
        else if (reader.holds(key, metadataKey.created)) this.#created = entry
        else if (reader.holds(key, metadataKey.contentType)) this.#contentType = entry
      } else reader.skip()
    }
    this.type = type === nowhere ? typeless : this.#inner(type, mapEntry.value)
  }

  get stream(): string {
    return this.#inner(this.#stream, streamIdentifier.name)
  }

  get position(): Position {
    return { commit: BigInt(this.#commit), prepare: BigInt(this.#prepare) }
  }

  get revision(): bigint {
    return BigInt(this.#revision)
  }

  isUpTo({ commit, prepare }: Position): boolean {
    return this.#commit < commit || (!(this.#commit > commit) && this.#prepare <= prepare)
  }

  stored(): StoredBytes {
    return {
      id: this.#inner(this.#id, uuid.string),
      type: this.type,
      stream: this.stream,
      revision: this.revision,
      position: this.position,
      created: this.#storedAt(),
      dataBytes: this.#span(this.#data),
      metadataBytes: this.#span(this.#customMetadata),
    }
  }

  open(): StoredEvent {
    const dataBytes = this.#span(this.#data)
    const metadataBytes = this.#span(this.#customMetadata)
    const isJson = this.#inner(this.#contentType, mapEntry.value) === 'application/json'
    return {
      id: this.#inner(this.#id, uuid.string),
      type: this.type,
      streamId: this.stream,
      revision: this.revision,
      position: this.position,
      created: this.#storedAt(),
      isJson,
      data: isJson ? parsed(dataBytes, (text) => text) : Uint8Array.from(dataBytes),
      metadata: metadataBytes.length === 0 ? undefined : parsed(metadataBytes, () => Uint8Array.from(metadataBytes)),
      dataBytes,
      metadataBytes,
    }
  }

  #storedAt(): Date {
    // Ticks of 100 ns: the last four digits are below one millisecond.
    return new Date(Number(this.#inner(this.#created, mapEntry.value).slice(0, -4)))
  }

  #inner(span: Span, field: number): string {
    return this.#text(new WireReader(this.#bytes).within(span, field) ?? nowhere)
  }

  #text({ start, end }: Span): string {
    return this.#bytes.toString('utf8', start, end)
  }

  #span({ start, end }: Span): Buffer {
    return this.#bytes.subarray(start, end)
  }
}

function parsed(bytes: Buffer, otherwise: (text: string) => unknown): unknown {
  const text = bytes.toString('utf8')
  try {
    return readJsonText(text)
  } catch {
    return otherwise(text)
  }
}
