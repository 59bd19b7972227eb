import { createHash } from 'node:crypto'
import { cpSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolders } from '../../platform/kit/cache-folders.ts'
import { syncFolder } from 'embedded-eventstore/durable-file'

/*
 * An initialised cluster, kept for the next installation: a copy takes a quarter of the work of `initdb`. It contains no
 * data, and the password of its superuser is not known. The installation sets its own before the copy is used. All copies
 * have one system identifier, which only replication compares.
 */

/** Other versions of PostgreSQL, and other settings, have a folder of their own. */
export function preparedName(version: string, settings: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([version, settings]))
    .digest('hex')
    .slice(0, 32)
}

/** Copies the kept cluster. Returns false if there is none. */
export async function copyPrepared(name: string, to: string, folders = cacheFolders('postgres')): Promise<boolean> {
  for (const folder of folders) {
    try {
      await stat(join(folder, name))
      copyPrivately(join(folder, name), to)
      return true
    } catch {
      // Missing, or removed meanwhile.
      await rm(to, { recursive: true, force: true })
    }
  }
  return false
}

/**
 * Keeps a copy of a cluster that nothing runs on. It gets its name when it is whole and on the disk, so starts at the same
 * time do no harm. `sync` writes a folder to the disk. Without a folder that can be written, nothing is kept.
 */
export async function keepPrepared(
  cluster: string,
  name: string,
  sync: (folder: string) => Promise<void>,
  folders = cacheFolders('postgres'),
): Promise<void> {
  for (const folder of folders) {
    const draft = await newFolderIn(folder).catch(() => undefined)
    if (draft === undefined) continue
    try {
      copyPrivately(cluster, draft)
      await sync(draft)
      await rename(draft, join(folder, name))
      await syncFolder(folder)
      await removeOthers(folder, name)
    } catch {
      // Another start was faster, or there is no room.
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
    return
  }
}

async function newFolderIn(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return mkdtemp(join(folder, 'new-'))
}

/** What older versions and interrupted starts have left. */
async function removeOthers(folder: string, name: string): Promise<void> {
  for (const other of await readdir(folder)) {
    if (other !== name) await rm(join(folder, other), { recursive: true, force: true })
  }
}

/** In one go: asynchronous calls for a thousand small files take seven times the processor time. */
function copyPrivately(from: string, to: string): void {
  // PostgreSQL refuses folders that others may read.
  const before = process.umask(0o077)
  try {
    cpSync(from, to, { recursive: true })
  } finally {
    process.umask(before)
  }
}
