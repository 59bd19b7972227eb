import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { ifPresent } from '../kit/error-codes.ts'
import { foldersUpToNew } from '../kit/folders.ts'
import type { BackupPlace } from './place.ts'

/** Of files that are being written. A killed writer leaves them behind; nothing reads them. */
const unfinished = '.part'
/** Other files of the folder may end so too. */
const isUnfinished = /\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/

/** A folder of this machine, or of a disk that is mounted there. */
export function folderPlace(folder: string): BackupPlace {
  const root = resolve(folder)
  /** Folders whose entries may not be durable yet. */
  const unsynced = new Set<string>()
  const pathOf = (name: string) => join(root, ...name.split('/'))
  const addFoldersOf = (path: string) => {
    for (let at = dirname(path); at.startsWith(root); at = dirname(at)) unsynced.add(at)
  }

  async function* below(path: string): AsyncGenerator<string, void, undefined> {
    for (const entry of (await ifPresent(readdir(path, { withFileTypes: true }))) ?? []) {
      const full = join(path, entry.name)
      if (entry.isDirectory()) yield* below(full)
      else yield full
    }
  }

  return {
    address: root,
    async put(name, bytes) {
      const path = pathOf(name)
      const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      const draft = `${path}.${randomUUID()}${unfinished}`
      try {
        await writeFile(draft, bytes, { mode: 0o600, flush: true })
        await rename(draft, path)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
      addFoldersOf(path)
      for (const each of foldersUpToNew(dirname(path), made)) unsynced.add(each)
    },
    async flush() {
      for (const each of unsynced) {
        const handle = await open(each, 'r')
        try {
          await handle.sync()
        } finally {
          await handle.close()
        }
      }
      unsynced.clear()
    },
    async has(name) {
      const path = pathOf(name)
      if ((await ifPresent(stat(path))) === undefined) return false
      // A killed backup may have written it, and synchronised nothing.
      addFoldersOf(path)
      return true
    },
    get: (name) => ifPresent(readFile(pathOf(name))),
    async *list(under) {
      for await (const path of below(pathOf(under))) {
        const found = path.endsWith(unfinished) ? undefined : await ifPresent(stat(path))
        if (found !== undefined) yield { name: relative(root, path).replaceAll('\\', '/'), modifiedAt: found.mtime }
      }
    },
    async remove(name) {
      const path = pathOf(name)
      await rm(path, { force: true })
      if ((await ifPresent(stat(dirname(path)))) !== undefined) unsynced.add(dirname(path))
    },
    async removeUnfinished(before) {
      for await (const path of below(root)) {
        const found = isUnfinished.test(path) ? await ifPresent(stat(path)) : undefined
        if (found !== undefined && found.mtime < before) await rm(path, { force: true })
      }
    },
    close: () => undefined,
  }
}
