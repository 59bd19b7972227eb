/** The few DER forms that a certificate needs. */
export const SEQUENCE = 0x30
export const SET = 0x31
export const BOOLEAN = 0x01
export const INTEGER = 0x02
export const BIT_STRING = 0x03
export const OCTET_STRING = 0x04
const OBJECT_ID = 0x06
export const UTF8_STRING = 0x0c
const UTC_TIME = 0x17
const GENERALIZED_TIME = 0x18

/** A value with its tag and length. */
export function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content])
}

/** A context-specific tag. `constructed` means that it contains further values. */
export function contextTag(number: number, constructed: boolean): number {
  return 0x80 | (constructed ? 0x20 : 0) | number
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return der(OBJECT_ID, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

/** Precision is one second, in UTC. Certificates write years before 2050 with two digits (RFC 5280, 4.1.2.5). */
export function time(at: Date): Buffer {
  const text = `${at.toISOString().replaceAll(/[-:T]|\.\d+Z$/g, '')}Z`
  return at.getUTCFullYear() < 2050
    ? der(UTC_TIME, Buffer.from(text.slice(2)))
    : der(GENERALIZED_TIME, Buffer.from(text))
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length]
  const bytes = bigEndian(length)
  return [0x80 | bytes.length, ...bytes]
}

function bigEndian(value: number): number[] {
  return value === 0 ? [] : [...bigEndian(Math.floor(value / 256)), value % 256]
}

function base128(value: number): number[] {
  const digits = [value % 128]
  for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128)) digits.unshift(0x80 | (left % 128))
  return digits
}
