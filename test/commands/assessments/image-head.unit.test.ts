import { readFile } from 'node:fs/promises'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createImageHead } from '../../../commands/assessments/image-head.ts'
import { inspectImage } from '../../../commands/assessments/image-checks.ts'

const photo = (name: string) => readFile(new URL(`../../../embedded/photos/${name}`, import.meta.url))
const jpeg = await photo('lesion-1.jpg')
const png = await photo('lesion-3.png')
/** Pixels of the photographs. */
const size = { width: 800, height: 600 }

/** One segment of a JPEG: marker, length, content. */
function segment(marker: number, content: number | readonly number[] = 0): Buffer {
  const bytes = typeof content === 'number' ? Buffer.alloc(content, 0xff) : Buffer.from(content)
  return Buffer.concat([Buffer.from([0xff, marker, (2 + bytes.length) >> 8, (2 + bytes.length) & 0xff]), bytes])
}

/** The segments of the photograph before its first scan, by marker, and the rest of the file from that scan on. */
function partsOf(bytes: Buffer) {
  const segments: { readonly marker: number; readonly bytes: Buffer }[] = []
  let at = 2
  while (bytes[at + 1] !== 0xda) {
    const length = 2 + bytes.readUInt16BE(at + 2)
    segments.push({ marker: bytes[at + 1] ?? 0, bytes: bytes.subarray(at, at + length) })
    at += length
  }
  const scanEnd = at + 2 + bytes.readUInt16BE(at + 2)
  return { segments, scan: bytes.subarray(at), headBytes: scanEnd }
}
const { segments, scan, headBytes } = partsOf(jpeg)
const isFrame = (marker: number) => marker === 0xc0 || marker === 0xc2
const frame = segments.find(({ marker }) => isFrame(marker))?.bytes ?? Buffer.alloc(0)
const others = segments.filter(({ marker }) => !isFrame(marker)).map(({ bytes }) => bytes)
const start = Buffer.from([0xff, 0xd8])
const jpegOf = (...parts: readonly Buffer[]) => Buffer.concat([start, ...parts])
const whole = [...others, frame]
const spread = (between: Buffer) => whole.flatMap((part) => [between, part])
const fill = (length: number) => Buffer.alloc(length, 0xff)
const changed = (bytes: Buffer, at: number, value: number) => {
  const copy = Buffer.from(bytes)
  copy[at] = value
  return copy
}

function measured(bytes: Buffer, chunkOf: (at: number) => number = () => 65_536) {
  const head = createImageHead()
  for (let at = 0; at < bytes.length;) {
    const length = Math.max(1, chunkOf(at))
    head.push(bytes.subarray(at, at + length))
    at += length
  }
  return head.dimensions()
}

/** Heads of every order, with the answers of libjpeg (through sharp 0.34): `size`, or an error, which is null here. */
const heads: readonly (readonly [what: string, bytes: Buffer, answer: typeof size | null])[] = [
  ['the photograph', jpeg, size],
  ['the frame header before all tables', jpegOf(frame, ...others, scan), size],
  ['the frame header behind the first segment', jpegOf(...others.slice(0, 1), frame, ...others.slice(1), scan), size],
  ['the frame header behind all tables', jpegOf(...whole, scan), size],
  ['no APP0', jpegOf(...whole.filter((part) => part[1] !== 0xe0), scan), size],
  ['one fill byte before each marker', jpegOf(...spread(fill(1)), fill(1), scan), size],
  ['a thousand fill bytes before each marker', jpegOf(...spread(fill(1_000)), scan), size],
  ['stray bytes between segments', jpegOf(...spread(Buffer.from([0x00, 0x17, 0xc0])), scan), size],
  ['stuffed bytes between segments', jpegOf(...spread(Buffer.from([0xff, 0x00])), scan), size],
  ['restart markers and TEM between segments', jpegOf(...spread(Buffer.from([0xff, 0xd3, 0xff, 0x01])), scan), size],
  ['an empty comment and a restart interval', jpegOf(segment(0xfe), segment(0xdd, [0, 0]), ...whole, scan), size],
  ['a frame header inside of metadata', jpegOf(segment(0xe1, [...frame]), ...whole, scan), size],
  ['a fill byte before the first marker', Buffer.concat([fill(1), jpeg]), null],
  ['no frame header', jpegOf(...others, scan), null],
  ['two frame headers', jpegOf(...whole, frame, scan), null],
  ['a frame header behind the scan', jpegOf(...others, scan.subarray(0, 14), frame), null],
  ['a second start', jpegOf(start, ...whole, scan), null],
  ['an end before the scan', jpegOf(...whole, Buffer.from([0xff, 0xd9]), scan), null],
  ['a reserved marker', jpegOf(segment(0x02, 4), ...whole, scan), null],
  ['metadata of length 1', jpegOf(Buffer.from([0xff, 0xe1, 0, 1]), ...whole, scan), size],
  ['a frame header with one byte more', jpegOf(...others, Buffer.concat([changed(frame, 3, 18), fill(1)]), scan), null],
  ['a frame header without components', jpegOf(...others, segment(0xc0, [8, 2, 88, 3, 32, 0]), scan), null],
  ['a lossless frame', jpegOf(...others, changed(frame, 1, 0xc7), scan), null],
]

describe('the head of an image', () => {
  for (const [what, bytes, answer] of heads) {
    it(`contains the dimensions that libjpeg reads: ${what}`, () => {
      expect(measured(bytes)).toEqual(answer)
      expect(measured(bytes, () => 1)).toEqual(answer)
    })
  }

  it('contains the dimensions, however its bytes are cut into chunks', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 20 }), (lengths) => {
        const chunkOf = (at: number) => lengths[at % lengths.length] ?? 1
        expect(measured(jpeg, chunkOf)).toEqual(size)
        expect(measured(png, chunkOf)).toEqual(size)
      }),
      { numRuns: 50 },
    )
  })

  it('does not keep a chunk, which its caller fills again', () => {
    const head = createImageHead()
    const chunk = Buffer.alloc(7)
    for (let at = 0; at < headBytes; at += chunk.length) {
      head.push(chunk.subarray(0, jpeg.copy(chunk, 0, at, at + chunk.length)))
    }
    expect(head.dimensions()).toEqual(size)
  })

  it('is found behind megabytes of metadata', () => {
    const metadata = Array.from({ length: 80 }, (_, place) => segment(place % 2 === 0 ? 0xe1 : 0xe2, 65_000))
    expect(measured(jpegOf(...metadata, ...whole, scan))).toEqual(size)
    expect(measured(jpegOf(...metadata, ...whole, scan), () => 1_000_000)).toEqual(size)
  })

  it('contains no dimensions before its last byte has arrived', () => {
    for (let length = 0; length < headBytes; length++) expect(measured(jpeg.subarray(0, length))).toBeNull()
    expect(measured(jpeg.subarray(0, headBytes))).toEqual(size)
    for (let length = 0; length < 33; length++) expect(measured(png.subarray(0, length))).toBeNull()
    expect(measured(png.subarray(0, 33))).toEqual(size)
  })

  it('contains nothing of the memory behind the bytes of the image', () => {
    const pool = Buffer.alloc(200, 0x2a)
    const cut = Buffer.from('89504e470d0a1a0a0000000d494844520000000100', 'hex')
    cut.copy(pool, 50)
    const inspection = inspectImage()
    inspection.push(pool.subarray(50, 50 + cut.length))
    expect(inspection.end('image/png')).toMatchObject({ isOfType: true, bytes: 21, width: null, height: null })
  })

  it('contains no dimensions if the bytes are another format or no image', () => {
    for (const bytes of [fill(1), fill(200_000), Buffer.alloc(200_000), Buffer.from('GIF89a\x01\x00\x01\x00')]) {
      expect(measured(bytes)).toBeNull()
    }
    const appleChunkFirst = Buffer.concat([
      png.subarray(0, 8),
      Buffer.from('\0\0\0\x04CgBI\0\0\0\0\0\0\0\0'),
      png.subarray(8),
    ])
    expect(measured(appleChunkFirst)).toBeNull()
  })

  it('ends within a limited number of steps for bytes without a marker', () => {
    const head = createImageHead()
    head.push(jpegOf(fill(64 * 1024)))
    head.push(Buffer.concat([...whole, scan]))
    expect(head.dimensions()).toBeNull()
  })

  it('has dimensions or none for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4_000 }), fc.boolean(), (bytes, isJpeg) => {
        const noise = Buffer.concat([isJpeg ? Buffer.from([0xff, 0xd8, 0xff, 0xe0]) : Buffer.alloc(0), bytes])
        const found = measured(noise, () => 97)
        expect(found).toEqual(measured(noise))
        expect(found === null || (found.width >= 0 && found.height >= 0)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})
