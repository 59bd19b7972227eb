import { createHash } from 'node:crypto'
import { Transform, type Readable } from 'node:stream'
import type { SentBytes } from '../../streams/ai-review/events.ts'

interface MeasuredBytes {
  /** The bytes of the source. It breaks off with its source, and closes it. */
  readonly stream: Readable
  /** Null until the last byte has passed. */
  readonly passed: () => SentBytes | null
}

/** Passes bytes on as they come, and measures them. */
export function measuredBytes(source: Readable): MeasuredBytes {
  const digest = createHash('sha256')
  let bytes = 0
  let passed: SentBytes | null = null
  const stream = new Transform({
    transform(chunk: Buffer, _, done) {
      digest.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
    flush(done) {
      passed = { sha256: digest.digest('hex'), bytes }
      done()
    },
  })
  source.on('error', (error) => stream.destroy(error))
  stream.on('close', () => source.destroy())
  source.pipe(stream)
  return { stream, passed: () => passed }
}
