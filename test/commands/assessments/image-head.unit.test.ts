import { readFile } from 'node:fs/promises'
import * as fc from 'fast-check'
import { imageSize } from 'image-size'
import { describe, expect, it } from 'vitest'
import { createImageHead } from '../../../commands/assessments/image-head.ts'

const photo = (name: string) => readFile(new URL(`../../../embedded/photos/${name}`, import.meta.url))
const jpeg = await photo('lesion-1.jpg')
const png = await photo('lesion-3.png')

/** One metadata segment of a JPEG, with `length` bytes of content. */
function segment(marker: number, length: number): Buffer {
  const bytes = Buffer.alloc(4 + length, 0xff)
  bytes.writeUInt16BE(0xff00 + marker)
  bytes.writeUInt16BE(2 + length, 2)
  return bytes
}

/** The photograph with additional segments after its first marker. */
function withSegments(...segments: readonly Buffer[]): Buffer {
  return Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)])
}

function measured(bytes: Buffer, type: string, chunkOf: (at: number) => number = () => 65_536) {
  const head = createImageHead()
  for (let at = 0; at < bytes.length;) {
    const length = Math.max(1, chunkOf(at))
    head.push(bytes.subarray(at, at + length))
    at += length
  }
  return head.measure(type)
}

function sizeOf(bytes: Uint8Array) {
  const { width, height } = imageSize(bytes)
  return { width, height }
}

describe('the head of an image', () => {
  it('contains the dimensions, however its bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 20 }), (lengths) => {
        const chunkOf = (at: number) => lengths[at % lengths.length] ?? 1
        expect(measured(jpeg, 'jpg', chunkOf)).toEqual(sizeOf(jpeg))
        expect(measured(png, 'png', chunkOf)).toEqual(sizeOf(png))
        expect(measured(withSegments(segment(0xe1, 700), segment(0xfe, 0)), 'jpg', chunkOf)).toEqual(sizeOf(jpeg))
      }),
      { numRuns: 50 },
    )
  })

  it('is found behind megabytes of metadata', () => {
    const metadata = Array.from({ length: 80 }, (_, place) => segment(place % 2 === 0 ? 0xe1 : 0xe2, 65_000))
    expect(measured(withSegments(...metadata), 'jpg')).toEqual(sizeOf(jpeg))
    expect(measured(withSegments(...metadata), 'jpg', () => 1_000_000)).toEqual(sizeOf(jpeg))
  })

  it('contains no dimensions if the bytes are cut off, empty, of another type, or not an image', () => {
    expect(measured(jpeg.subarray(0, 20), 'jpg')).toBeNull()
    expect(measured(withSegments(segment(0xe1, 65_000)).subarray(0, 3_000), 'jpg')).toBeNull()
    expect(measured(Buffer.alloc(0), 'jpg')).toBeNull()
    expect(measured(Buffer.from([0xff]), 'jpg')).toBeNull()
    expect(measured(png, 'jpg')).toBeNull()
    expect(measured(Buffer.alloc(200_000, 0xff), 'jpg')).toBeNull()
  })

  it('is measured in a limited number of steps for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4_000 }), fc.boolean(), (bytes, isJpeg) => {
        const noise = Buffer.concat([isJpeg ? Buffer.from([0xff, 0xd8, 0xff, 0xe0]) : Buffer.alloc(0), bytes])
        const size = measured(noise, 'jpg', () => 97)
        expect(size === null || (size.width >= 0 && size.height >= 0)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})
