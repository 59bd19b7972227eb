import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { ZipFile } from 'yazl'
import type { ExportFile } from '../../contracts/audit/export.ts'

/** Images are compressed already. */
const compressed = /\.(jpg|png)$/

/** A ZIP file of the files, one after another. Nothing of it as a whole is in memory. Above 4 GiB it is ZIP64. */
export async function* zipOf(
  files: AsyncIterable<ExportFile>,
  mtime: Date,
): AsyncGenerator<Uint8Array, void, undefined> {
  const zip = new ZipFile()
  const output = Readable.from(zip.outputStream, { objectMode: false })
  let current: Readable | undefined
  zip.on('error', (error: Error) => output.destroy(error))

  async function fill(): Promise<void> {
    for await (const { path, chunks } of files) {
      current = Readable.from(chunks, { objectMode: false })
      zip.addReadStream(current, path, { compress: !compressed.test(path), mtime, mode: 0o100600 })
      await finished(current)
    }
    zip.end()
  }

  const filling = fill().catch((error: unknown) => {
    output.destroy(error instanceof Error ? error : new Error(String(error)))
  })
  try {
    yield* output
  } finally {
    current?.destroy()
    await filling
  }
}
