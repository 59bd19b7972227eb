import { mkdir, open, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ExportFile } from '../../contracts/audit/export.ts'
import { ifPresent } from '../../platform/kit/error-codes.ts'

export interface WrittenFolder {
  readonly files: number
  readonly bytes: number
}

/**
 * Writes the files of an export into a folder that is new or empty. Only the owner may read them.
 * @throws Error if the folder contains something
 */
export async function writeFolder(folder: string, files: AsyncIterable<ExportFile>): Promise<WrittenFolder> {
  if (((await ifPresent(readdir(folder))) ?? []).length > 0) throw new Error(`the folder ${folder} is not empty`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const written = { files: 0, bytes: 0 }
  for await (const { path, chunks } of files) {
    const place = join(folder, ...path.split('/'))
    await mkdir(dirname(place), { recursive: true, mode: 0o700 })
    const file = await open(place, 'wx', 0o600)
    try {
      for await (const chunk of chunks) {
        await file.writeFile(chunk)
        written.bytes += chunk.length
      }
      await file.sync()
    } finally {
      await file.close()
    }
    written.files += 1
  }
  return written
}
