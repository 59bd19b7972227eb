import { crc32 } from 'node:zlib'
import type { IncomingHttpHeaders } from 'node:http'
import { Transform, type Readable } from 'node:stream'
import { S3Error } from './errors.ts'
import type { BodyDigests } from './object-file.ts'

/** Passes a body on and computes its CRC-32. Newer clients send a CRC-32 instead of an MD5. */
export function withCrc32(body: Readable): { body: Readable; crc32: () => Buffer } {
  let value = 0
  const observe = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      value = crc32(chunk, value)
      done(null, chunk)
    },
  })
  // A body may be cut off before the pipeline reads this stream. The reader gets the error later. Without a listener
  // the error would end the process.
  observe.on('error', () => undefined)
  body.on('error', (error) => observe.destroy(error))
  body.on('close', () => {
    if (!body.readableEnded) observe.destroy(new S3Error('IncompleteBody', 'The request body ended early'))
  })
  return {
    body: body.pipe(observe),
    crc32: () => {
      const digest = Buffer.alloc(4)
      digest.writeUInt32BE(value)
      return digest
    },
  }
}

/** Throws unless the body matches the signature and the headers. */
export function requireDeclaredBody(
  headers: IncomingHttpHeaders,
  signedSha256: string | undefined,
  digests: BodyDigests,
  crc: Buffer,
): void {
  if (signedSha256 !== undefined && signedSha256 !== digests.sha256) {
    throw new S3Error('XAmzContentSHA256Mismatch', 'The provided x-amz-content-sha256 does not match what was computed')
  }
  const declared: readonly [string | string[] | undefined, string][] = [
    [headers['content-md5'], digests.md5.toString('base64')],
    [headers['x-amz-checksum-crc32'], crc.toString('base64')],
    [headers['x-amz-checksum-sha256'], Buffer.from(digests.sha256, 'hex').toString('base64')],
  ]
  if (declared.some(([value, computed]) => value !== undefined && value !== computed)) {
    throw new S3Error('BadDigest', 'The digest you specified did not match what we received')
  }
}
