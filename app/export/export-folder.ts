import { mkdir, open, readdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { syncFolder } from 'embedded-eventstore/durable-file'
import type { ExportFile } from '../../contracts/audit/export.ts'
import { ifPresent } from '../../platform/kit/error-codes.ts'
import { foldersUpToNew } from '../../platform/kit/folders.ts'

export interface WrittenFolder {
  readonly files: number
  readonly bytes: number
}

/**
 * Writes the files of an export into a folder that is new or empty. Only the owner may read them. They are on the disk
 * when this resolves.
 * @throws Error if the folder contains something
 */
export async function writeFolder(folder: string, files: AsyncIterable<ExportFile>): Promise<WrittenFolder> {
  if (((await ifPresent(readdir(folder))) ?? []).length > 0) throw new Error(`the folder ${folder} is not empty`)
  const made = await mkdir(folder, { recursive: true, mode: 0o700 })
  const written = { files: 0, bytes: 0 }
  const root = resolve(folder)
  const folders = new Set(foldersUpToNew(root, made))
  for await (const { path, chunks } of files) {
    const place = join(root, ...path.split('/'))
    for (let at = dirname(place); at !== root; at = dirname(at)) folders.add(at)
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
  for (const each of folders) await syncFolder(each)
  return written
}
