import { createHash, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { MalformedForm, readForm } from '../../../embedded/provider/multipart.ts'

const BOUNDARY = 'xyz-123'
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

function form(image: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="caseId"\r\n\r\n7\r\n`),
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="image"; filename="a.jpg"\r\nContent-Type: image/jpeg\r\n\r\n`,
    ),
    image,
    Buffer.from(
      `\r\n--${BOUNDARY}\r\nContent-Disposition: form-data; name="imageType"\r\n\r\nDERMOSCOPIC\r\n--${BOUNDARY}--\r\n`,
    ),
  ])
}

test.each([1, 2, 7, 64, 100_000])('reads the same form from pieces of %i bytes', async (size) => {
  const image = Buffer.concat([
    randomBytes(3000),
    Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}\r\n--`),
    randomBytes(500),
  ])
  const received = await readForm(TYPE, inPieces(form(image), size))

  expect(received.fields).toEqual({ caseId: '7', imageType: 'DERMOSCOPIC' })
  expect(received.image).toEqual({ sha256: createHash('sha256').update(image).digest('hex'), bytes: image.length })
})

test('a URL-encoded form has fields and no image', async () => {
  const received = await readForm(
    'application/x-www-form-urlencoded',
    inPieces(Buffer.from('login=a%20b&password=p%26q'), 5),
  )
  expect(received).toEqual({ fields: { login: 'a b', password: 'p&q' }, image: undefined })
})

test.each([
  ['is cut off', form(Buffer.from('x')).subarray(0, -20)],
  [
    'has an endless field',
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="caseId"\r\n\r\n${'7'.repeat(9000)}\r\n--${BOUNDARY}--`,
    ),
  ],
])('refuses a form that %s', async (_, bytes) => {
  await expect(readForm(TYPE, inPieces(bytes, 50))).rejects.toThrow(MalformedForm)
})
