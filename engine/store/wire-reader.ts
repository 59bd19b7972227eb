/** The place of a member's bytes. */
export interface Span {
  readonly start: number
  readonly end: number
}

const varint = 0
const fixed64 = 1
const lengthDelimited = 2
const fixed32 = 5

/** Iterates over the fields of one message in the protocol buffers' wire format, without a copy. */
export class WireReader {
  readonly bytes: Buffer
  /** Number of the current field. */
  field = 0
  #wireType = varint
  #at: number
  readonly #end: number

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.bytes = bytes
    this.#at = start
    this.#end = end
  }

  /** Moves to the next field. Its value must be read or skipped before the next call. False at the end. */
  next(): boolean {
    if (this.#at >= this.#end) return false
    const tag = Number(this.number())
    this.field = tag >>> 3
    this.#wireType = tag & 7
    return true
  }

  /** The place of a length-delimited value. Throws if the message is cut off. */
  span(): Span {
    const length = Number(this.number())
    const start = this.#at
    const end = start + length
    if (this.#wireType !== lengthDelimited || !(end <= this.#end))
      throw new Error('a message of the event store is cut off')
    this.#at = end
    return { start, end }
  }

  /** The first length-delimited field with this number in a nested message; undefined if there is none. */
  within({ start, end }: Span, field: number): Span | undefined {
    const inner = new WireReader(this.bytes, start, end)
    while (inner.next()) {
      if (inner.field === field) return inner.span()
      inner.skip()
    }
    return undefined
  }

  /** Whether a span has exactly these bytes. */
  holds({ start, end }: Span, expected: Uint8Array): boolean {
    if (end - start !== expected.length) return false
    for (let index = 0; index < expected.length; index += 1)
      if (this.bytes[start + index] !== expected[index]) return false
    return true
  }

  /** A varint; a bigint if a number would lose digits. */
  number(): number | bigint {
    let value = 0
    let scale = 1
    for (let place = 0; place < 7; place += 1) {
      const byte = this.#byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 0x80
    }
    let rest = BigInt(value)
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte()
      rest |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return rest
    }
    throw new Error('a number of the event store does not end')
  }

  skip(): void {
    switch (this.#wireType) {
      case varint:
        this.number()
        return
      case fixed64:
        this.#at += 8
        return
      case lengthDelimited:
        this.span()
        return
      case fixed32:
        this.#at += 4
        return
      default:
        throw new Error(`a field of wire type ${this.#wireType} from the event store`)
    }
  }

  #byte(): number {
    const byte = this.#at < this.#end ? this.bytes[this.#at] : undefined
    if (byte === undefined) throw new Error('a message of the event store is cut off')
    this.#at += 1
    return byte
  }
}
