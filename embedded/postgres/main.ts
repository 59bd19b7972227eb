import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { portFreed } from '../children/free-port.ts'
import { liveAsChild, type RunningServer } from '../children/live-as-child.ts'
import { findPostgresBinaries } from './binaries.ts'
import { clusterFolder, initialiseCluster } from './cluster.ts'
import { createMissingDatabases, databaseUrl, type RolePasswords } from './databases.ts'
import { startLastingCluster } from './lasting-cluster.ts'
import { endStalePostmaster } from './stale-postmaster.ts'
import { chooseLauncher } from './unprivileged.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    port: { type: 'string' },
    database: { type: 'string', multiple: true, default: [] },
    'not-durable': { type: 'boolean', default: false },
    'exit-with-parent': { type: 'boolean', default: false },
  },
})

const onLog = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

/** From the environment: every user of the machine can see arguments. */
function readPasswords(text: string): RolePasswords {
  const passwords: unknown = JSON.parse(text)
  if (typeof passwords !== 'object' || passwords === null)
    throw new Error('POSTGRES_ROLE_PASSWORDS must be a JSON object')
  return Object.fromEntries(Object.entries(passwords).map(([name, password]) => [name, String(password)]))
}

async function start(): Promise<RunningServer> {
  const port = Number(values.port)
  const password = process.env['POSTGRES_PASSWORD']
  if (values.data === undefined || !Number.isInteger(port) || password === undefined) {
    throw new Error('embedded postgres needs --data, --port and POSTGRES_PASSWORD')
  }
  const passwords = readPasswords(process.env['POSTGRES_ROLE_PASSWORDS'] ?? '{}')
  const dataDir = resolve(values.data)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await endStalePostmaster(clusterFolder(dataDir))
  await portFreed('embedded postgres', port)

  const binaries = await findPostgresBinaries()
  const launcher = await chooseLauncher(binaries.postgres, dataDir)
  const options = { binaries, launcher, dataDir, durable: !values['not-durable'], onLog }
  await initialiseCluster({ ...options, password })
  const cluster = await startLastingCluster({ ...options, port })
  let stopping = false
  void cluster.exited.then((code) => {
    if (stopping) return
    process.stderr.write(`embedded postgres exited unexpectedly with code ${code}\n`, () => process.exit(1))
  })
  const stop = async (): Promise<void> => {
    stopping = true
    await cluster.stop()
  }
  try {
    if (values.database.length > 0)
      await createMissingDatabases(databaseUrl(port, password, 'postgres'), values.database, passwords)
  } catch (error) {
    await stop()
    throw error
  }
  return { port, stop }
}

await liveAsChild({ exitWithParent: values['exit-with-parent'], start })
