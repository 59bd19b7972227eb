import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Replaces a file atomically: a crash leaves the old content or the new content, never a part. The new content survives
 * a power cut once this returns.
 */
export async function writeDurably(file: string, content: string, mode: number): Promise<void> {
  const draft = `${file}.${process.pid}.new`
  const handle = await open(draft, 'w', mode)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(draft, file)
  await syncFolder(dirname(file))
}

/** Makes created, renamed and removed names in a folder durable. Windows has no such call and needs none. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
