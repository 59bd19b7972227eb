import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { ifPresent } from '../kit/error-codes.ts'
import type { BackupPlace } from './place.ts'

/** Of files that are being written. A killed writer leaves them behind; nothing reads them. */
const unfinished = '.part'

/** A folder of this machine, or of a disk that is mounted there. */
export function folderPlace(folder: string): BackupPlace {
  const root = resolve(folder)
  const written = new Set<string>()
  const pathOf = (name: string) => join(root, ...name.split('/'))

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
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      const draft = `${path}.${randomUUID()}${unfinished}`
      try {
        await writeFile(draft, bytes, { mode: 0o600, flush: true })
        await rename(draft, path)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
      for (let at = dirname(path); at.startsWith(root); at = dirname(at)) written.add(at)
    },
    async flush() {
      for (const each of written) {
        const handle = await open(each, 'r')
        try {
          await handle.sync()
        } finally {
          await handle.close()
        }
      }
      written.clear()
    },
    has: async (name) => (await ifPresent(stat(pathOf(name)))) !== undefined,
    get: (name) => ifPresent(readFile(pathOf(name))),
    async *list(under) {
      for await (const path of below(pathOf(under))) {
        const found = path.endsWith(unfinished) ? undefined : await ifPresent(stat(path))
        if (found !== undefined) yield { name: relative(root, path).replaceAll('\\', '/'), modifiedAt: found.mtime }
      }
    },
    remove: (name) => rm(pathOf(name), { force: true }),
    close: () => undefined,
  }
}
