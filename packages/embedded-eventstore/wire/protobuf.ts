/** Length in bytes of a non-negative safe integer as a varint. */
export function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length += 1
  return length
}

/** Writes a non-negative safe integer as a varint; returns the offset behind it. */
export function writeVarint(target: Buffer, value: number, offset: number): number {
  let rest = value
  let at = offset
  while (rest > 0x7fffffff) {
    target[at++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  while (rest >= 0x80) {
    target[at++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  target[at++] = rest
  return at
}

/** Length of a length-delimited field with a one-byte tag. */
export function fieldLength(contentLength: number): number {
  return 1 + varintLength(contentLength) + contentLength
}

/** Writes tag and content of a length-delimited field; returns the offset behind it. */
export function writeField(target: Buffer, tag: number, content: Uint8Array, offset: number): number {
  const at = writeFieldHeader(target, tag, content.length, offset)
  target.set(content, at)
  return at + content.length
}

/** Writes tag and length of a length-delimited field; returns the offset of its content. */
export function writeFieldHeader(target: Buffer, tag: number, contentLength: number, offset: number): number {
  target[offset] = tag
  return writeVarint(target, contentLength, offset + 1)
}

const VARINT = 0
const FIXED64 = 1
const LENGTH_DELIMITED = 2
const FIXED32 = 5

/** A message that is not valid protobuf. */
export class MalformedMessageError extends Error {}

/** Walks the fields of one protobuf message without copying it. */
export class FieldReader {
  /** Number of the current field. */
  field = 0
  private readonly bytes: Buffer
  private readonly end: number
  private at: number
  private wireType = 0
  private contentStart = 0
  private contentEnd = 0

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.bytes = bytes
    this.at = start
    this.end = end
  }

  /** Moves to the next field; false at the end of the message. */
  next(): boolean {
    if (this.at >= this.end) return false
    const key = this.varint()
    this.field = Math.floor(key / 8)
    this.wireType = key % 8
    this.contentStart = this.at
    if (this.wireType === VARINT) this.skipVarint()
    else if (this.wireType === LENGTH_DELIMITED) {
      const length = this.varint()
      this.contentStart = this.at
      this.at += length
    } else if (this.wireType === FIXED64) this.at += 8
    else if (this.wireType === FIXED32) this.at += 4
    else throw new MalformedMessageError(`unknown wire type ${this.wireType}`)
    if (this.at > this.end) throw new MalformedMessageError('field runs past the end of the message')
    this.contentEnd = this.at
    return true
  }

  /** The bytes of the current length-delimited field, as a view. */
  content(): Buffer {
    return this.bytes.subarray(this.contentStart, this.contentEnd)
  }

  /** A reader over the current field as a nested message. */
  nested(): FieldReader {
    return new FieldReader(this.bytes, this.contentStart, this.contentEnd)
  }

  /** The current field as UTF-8 text. */
  text(): string {
    return this.bytes.toString('utf8', this.contentStart, this.contentEnd)
  }

  /** The current varint field; exact up to 64 bits. */
  uint64(): bigint {
    this.at = this.contentStart
    return this.varint64()
  }

  private varint(): number {
    let value = 0
    let scale = 1
    for (let index = 0; index < 5; index += 1) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 0x80
    }
    throw new MalformedMessageError('length or key out of range')
  }

  private varint64(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new MalformedMessageError('varint of more than 64 bits')
  }

  private skipVarint(): void {
    for (let index = 0; index < 10; index += 1) if (this.byte() < 0x80) return
    throw new MalformedMessageError('varint of more than 64 bits')
  }

  private byte(): number {
    const value = this.bytes[this.at]
    if (value === undefined || this.at >= this.end) throw new MalformedMessageError('message ends inside a field')
    this.at += 1
    return value
  }
}
