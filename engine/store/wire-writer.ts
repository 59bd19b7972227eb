const varint = 0
const lengthDelimited = 2

/** Builds one message in the protocol buffers' wire format. */
export class WireWriter {
  readonly #parts: Uint8Array[] = []
  /** Bytes written so far. */
  length = 0

  number(field: number, value: number | bigint): this {
    this.#tag(field, varint)
    this.#varint(value)
    return this
  }

  bytes(field: number, value: Uint8Array): this {
    this.#tag(field, lengthDelimited)
    this.#varint(value.length)
    this.#add(value)
    return this
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value, 'utf8'))
  }

  message(field: number, value: WireWriter): this {
    this.#tag(field, lengthDelimited)
    this.#varint(value.length)
    for (const part of value.#parts) this.#parts.push(part)
    this.length += value.length
    return this
  }

  done(): Buffer {
    return Buffer.concat(this.#parts, this.length)
  }

  #tag(field: number, wireType: number): void {
    this.#varint(field * 8 + wireType)
  }

  #varint(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && value < 0x80) return this.#add(Uint8Array.of(value))
    const bytes: number[] = []
    let rest = BigInt.asUintN(64, BigInt(value))
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
    this.#add(Uint8Array.from([...bytes, Number(rest)]))
  }

  #add(part: Uint8Array): void {
    this.#parts.push(part)
    this.length += part.length
  }
}
