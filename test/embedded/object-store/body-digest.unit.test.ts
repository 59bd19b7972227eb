import { PassThrough, Readable, Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { withCrc32 } from '../../../embedded/object-store/body-digest.ts'

test('passes a body unchanged and returns its CRC-32', async () => {
  const { body, crc32: sum } = withCrc32(Readable.from([Buffer.from('some '), Buffer.from('bytes')]))
  expect((await buffer(body)).toString()).toBe('some bytes')
  expect(sum().readUInt32BE()).toBe(crc32('some bytes'))
})

test('a body that breaks off before it is read fails its reader, and nothing else', async () => {
  const request = new PassThrough()
  const { body } = withCrc32(request)
  request.destroy(new Error('the caller went away'))
  await nextTurn()
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() })
  await expect(pipeline(body, sink)).rejects.toThrow()
})
