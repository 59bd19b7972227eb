import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { findPostgresBinaries } from '../../../embedded/postgres/binaries.ts'
import { initialiseCluster, startCluster } from '../../../embedded/postgres/cluster.ts'
import { createMissingDatabases, databaseUrl } from '../../../embedded/postgres/databases.ts'
import { chooseLauncher, type Launcher, waysToLaunch } from '../../../embedded/postgres/unprivileged.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'launchers-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** Starts and stops a server over the folder. False when this machine does not support the way. */
async function servesBy(way: Launcher, dataDir: string): Promise<boolean> {
  const binaries = await findPostgresBinaries()
  const launcher = await chooseLauncher(binaries.postgres, dataDir, [way]).catch(() => undefined)
  if (launcher === undefined) return false
  const port = await freePort()
  const options = { binaries, launcher, dataDir, durable: false, onLog: () => {}, password: 'secret', port }
  await initialiseCluster(options)
  const cluster = await startCluster(options)
  await createMissingDatabases(databaseUrl(port, 'secret', 'postgres'), ['platform'])
  await cluster.stop()
  return (await cluster.exited) === 0
}

test('one folder works with every way in turn, whoever owned its files before', async () => {
  const dataDir = join(folder, 'postgres')
  await mkdir(dataDir)
  await chmod(folder, 0o755)

  const served: string[] = []
  for (const way of waysToLaunch()) if (await servesBy(way, dataDir)) served.push(way.name)

  expect(served).not.toEqual([])
})

test('a folder inside one that only its owner may enter works too', async () => {
  const dataDir = join(folder, 'postgres')
  await mkdir(dataDir)
  await chmod(folder, 0o700)

  const served: string[] = []
  for (const way of waysToLaunch()) if (await servesBy(way, dataDir)) served.push(way.name)

  expect(served).not.toEqual([])
  expect(served).not.toContain('nobody')
})

test('the error without any way contains the possible solutions', async () => {
  const unreachable: Launcher = { name: 'nobody', command: () => ['/nowhere', []], spawnAs: {}, owner: undefined }
  await expect(chooseLauncher('/bin/postgres', folder, [unreachable])).rejects.toThrow(
    'set DATABASE_URL to use a server',
  )
})
