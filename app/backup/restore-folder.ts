import { readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { syncFolder, writeDurably } from 'embedded-eventstore/durable-file'
import { lockDataFolder, type DataFolderLock } from '../../embedded/children/data-folder-lock.ts'
import { freePort } from '../../embedded/children/free-port.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { ifPresent } from '../../platform/kit/error-codes.ts'
import { jsonOf } from '../../platform/kit/json-reading.ts'

/** In a data folder while a restore writes it, and after a restore that was cut off. */
const marker = 'restore-unfinished'

/** The lock of the folder, and the journal of its SQLite file. */
const isOfLock = (name: string) => name === 'lock' || name === 'lock-journal'

/**
 * The start refuses a folder that is restored in part.
 * @throws ConfigurationError
 */
export async function requireWholeFolder(dataDir: string): Promise<void> {
  if ((await ifPresent(readFile(join(dataDir, marker)))) !== undefined)
    throw new ConfigurationError(
      `a restore into ${dataDir} was cut off: run "platform backup restore" into it again, or remove it`,
    )
}

export interface RestoreFolder {
  /** The folder is a data folder from now on. */
  finish(): Promise<void>
  release(): void
}

/**
 * Takes an empty folder, a new one, or one in which a restore was cut off. The latter is emptied first.
 * @throws ConfigurationError for any other folder
 */
export async function beginRestoreFolder(dataDir: string): Promise<RestoreFolder> {
  const isOurs = (names: readonly string[]) => names.includes(marker) || names.every(isOfLock)
  if (!isOurs((await ifPresent(readdir(dataDir))) ?? []))
    throw new ConfigurationError(`${dataDir} is not empty: restore into a new folder`)
  const lock: DataFolderLock = await lockDataFolder(dataDir, 0)
  try {
    await writeDurably(join(dataDir, marker), '', 0o600)
    for (const name of await readdir(dataDir))
      if (name !== marker && !isOfLock(name)) await rm(join(dataDir, name), { recursive: true })
  } catch (error) {
    lock.release()
    throw error
  }
  return {
    async finish() {
      await rm(join(dataDir, marker))
      await syncFolder(dataDir)
    },
    release: () => lock.release(),
  }
}

/**
 * Other ports for those that are taken here: the original may run on this machine. Returns the names of their servers.
 */
export async function replaceTakenPorts(dataDir: string): Promise<readonly string[]> {
  const file = join(dataDir, 'embedded.json')
  const text = await ifPresent(readFile(file, 'utf8'))
  const settings = text === undefined ? undefined : jsonOf(text)
  if (typeof settings !== 'object' || settings === null || !('ports' in settings)) return []
  const ports = { ...(settings.ports as Record<string, number>) }
  const taken: string[] = []
  for (const [name, port] of Object.entries(ports)) {
    if (await isFree(port)) continue
    ports[name] = await freePort()
    taken.push(name)
  }
  if (taken.length > 0) await writeDurably(file, `${JSON.stringify({ ...settings, ports }, null, 2)}\n`, 0o600)
  return taken
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
