import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  checkInlineImages,
  imageMode,
  withHashes,
  type CheckedImage,
} from '../../../commands/assessments/inline-images.ts'
import { fingerprintBody } from '../../../platform/http/idempotency.ts'
import { Problem, type ProblemCode } from '../../../platform/http/problems.ts'
import { openStageWorld, type StageWorld } from './stage-world.ts'

type Declared = Parameters<typeof checkInlineImages>[0][number]

let world: StageWorld

beforeAll(async () => {
  world = await openStageWorld()
})
afterAll(() => world.close())

const photo = (name: string) => readFile(new URL(`../../../embedded/photos/${name}`, import.meta.url))
const jpeg = await photo('lesion-1.jpg')
const png = await photo('lesion-3.png')
const MiB = 1024 * 1024

const declared = (bytes: Buffer, mime_type = 'image/jpeg'): Declared => ({
  capture_type: 'dermoscopic',
  mime_type,
  data: bytes.toString('base64'),
})
const raw = (data: string): Declared => ({ capture_type: 'other', mime_type: 'image/jpeg', data })

/** A PNG with these dimensions in its header. */
function sized(width: number, height: number): Buffer {
  const bytes = Buffer.from(png)
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

function padded(bytes: number, begin = jpeg): Buffer {
  const large = Buffer.alloc(bytes)
  begin.copy(large)
  return large
}

async function check(images: readonly Declared[], requiresDimensions: boolean): Promise<CheckedImage[]> {
  const staged = await world.stage(images.map(({ data }) => data))
  try {
    return checkInlineImages(images, staged, requiresDimensions)
  } finally {
    await staged.discard()
  }
}

async function refusal(
  images: readonly Declared[],
  requiresDimensions = true,
): Promise<{ code: ProblemCode; errors: string[] } | null> {
  try {
    if (imageMode(images) === 'inline') await check(images, requiresDimensions)
    return null
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { code: error.code, errors: (error.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`) }
  }
}

describe('inline images', () => {
  it('are decoded and measured', async () => {
    const [first, second] = await check([declared(jpeg), declared(png, 'image/png')], true)
    expect(first).toMatchObject({
      isOfType: true,
      bytes: jpeg.length,
      sha256: createHash('sha256').update(jpeg).digest('hex'),
    })
    expect(second?.width).toBeGreaterThan(0)
    expect(second?.height).toBeGreaterThan(0)
  })

  it('have data in all images, or the request is in slot mode', async () => {
    const empty = { capture_type: 'other', mime_type: 'image/png' } as const
    expect(await refusal([declared(jpeg), empty])).toEqual({
      code: 'mixed-image-mode',
      errors: ['/images/1/data required'],
    })
    expect(imageMode([empty, empty])).toBe('slot')
    expect(imageMode([declared(jpeg)])).toBe('inline')
  })

  it('are JPEG or PNG, by declaration and by their first bytes', async () => {
    expect(await refusal([declared(jpeg, 'image/webp')])).toEqual({
      code: 'validation-failed',
      errors: ['/images/0/mime_type enum'],
    })
    expect(await refusal([declared(jpeg, 'constructor')])).toEqual({
      code: 'validation-failed',
      errors: ['/images/0/mime_type enum'],
    })
    expect(await refusal([declared(jpeg), declared(png)])).toEqual({
      code: 'image-invalid',
      errors: ['/images/1/data image-type'],
    })
    expect(await refusal([declared(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))], false)).toEqual({
      code: 'image-invalid',
      errors: ['/images/0/data image-type'],
    })
    expect(await refusal([declared(Buffer.from('GIF89a'), 'image/png')], false)).toEqual({
      code: 'image-invalid',
      errors: ['/images/0/data image-type'],
    })
  })

  it.each([
    ['nothing', ''],
    ['text', 'not base64 at all'],
    ['a data address', `data:image/jpeg;base64,${jpeg.toString('base64')}`],
    ['no padding', Buffer.from('abcd').toString('base64').replaceAll('=', '')],
    ['the alphabet of addresses', '_-__'],
    ['line breaks', `${jpeg.toString('base64', 0, 57)}\r\n\r\n`],
    ['padding in the middle', '/9g=/9g='],
    ['padding alone', '===='],
  ])('are refused as base64 when they are %s', async (_what, data) => {
    expect(await refusal([declared(jpeg), raw(data)])).toEqual({
      code: 'validation-failed',
      errors: ['/images/1/data base64'],
    })
  })

  it('have at most 20 MiB each, to the byte', async () => {
    expect(await refusal([declared(padded(20 * MiB))], false)).toBeNull()
    expect(await refusal([declared(jpeg), declared(padded(20 * MiB + 1))], false)).toEqual({
      code: 'image-too-large',
      errors: ['/images/1/data too-large'],
    })
  })

  it('have at most 45 MiB together, to the byte', async () => {
    const parts = (last: number) => [20 * MiB, 20 * MiB, last].map((bytes) => declared(padded(bytes)))
    expect(await refusal(parts(5 * MiB), false)).toBeNull()
    expect(await refusal(parts(5 * MiB + 1), false)).toEqual({ code: 'image-too-large', errors: ['/images too-large'] })
  })

  it('have at most 64 megapixels in their header', async () => {
    expect(await refusal([declared(sized(8_000, 8_000), 'image/png')])).toBeNull()
    expect(await refusal([declared(sized(64_000_000, 1), 'image/png')])).toBeNull()
    expect(await refusal([declared(sized(1, 64_000_001), 'image/png')])).toEqual({
      code: 'image-too-large',
      errors: ['/images/0/data too-many-pixels'],
    })
    expect(await refusal([declared(sized(0xffffffff, 0xffffffff), 'image/png')])).toEqual({
      code: 'image-too-large',
      errors: ['/images/0/data too-many-pixels'],
    })
  })

  it('without dimensions are accepted in development only', async () => {
    const headless = declared(Buffer.from([0xff, 0xd8, 0xff, 0xd9, 0, 0]))
    expect(await refusal([headless], true)).toEqual({
      code: 'image-invalid',
      errors: ['/images/0/data image-dimensions'],
    })
    expect(await check([headless], false)).toEqual([expect.objectContaining({ width: null, height: null })])
  })

  it('without pixels are refused', async () => {
    expect((await refusal([declared(sized(0, 100), 'image/png')]))?.code).toBe('image-invalid')
  })
})

describe('an Idempotency-Key', () => {
  const context = { context: { a: [1, 2.5, null] }, Ü: 'ß' }
  const body = {
    finding: { finding_type: 'lesion' as const },
    patient_id: '0190b0a0-0000-7000-8000-000000000001',
    clinical_context: context,
    images: [],
  }
  const fixed = (value: unknown) =>
    fingerprintBody(value, (bytes) => createHash('sha256').update('a fixed key').update(bytes).digest('hex'))

  it('has the same fingerprint as in every release', async () => {
    const images = [
      declared(Buffer.from('\xff\xd8\xff\xd9', 'latin1')),
      declared(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'image/png'),
    ]
    const inline = { ...body, images: images.map((image) => ({ ...image, data: '' })) }
    expect(fixed(withHashes(inline, await check(images, false)))).toBe(
      '8627326f2603d854fd99b401562e0f8174d8f17fe8da63ccb71003ce2b91f585',
    )
    const slot = { ...body, images: images.map(({ data: _, ...image }) => image) }
    expect(fixed(withHashes(slot, []))).toBe('607b9f6cf694e81a35a69c962393d6c0cc3b8c6da3a3f9703c06b7b842a37ed1')
  })
})
