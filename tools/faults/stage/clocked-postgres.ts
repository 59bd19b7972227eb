import { mkdir } from 'node:fs/promises'
import { findPostgresBinaries } from '../../../embedded/postgres/binaries.ts'
import { startCluster } from '../../../embedded/postgres/cluster.ts'
import { startPostgres, type PostgresOptions } from '../../../embedded/postgres/start-postgres.ts'
import { chooseLauncher } from '../../../embedded/postgres/unprivileged.ts'

/**
 * Starts an embedded Postgres with extra variables for its server process. A library that moves the clock needs them.
 */
export async function startClockedPostgres(
  options: PostgresOptions,
  env: Readonly<Record<string, string>>,
): Promise<{ stop(): Promise<void> }> {
  const { dataDir, port } = options
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const prepared = await startPostgres(options)
  await prepared.stop()
  const binaries = await findPostgresBinaries()
  const launcher = await chooseLauncher(binaries.postgres, dataDir)
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const command = (program: string, args: readonly string[]) =>
    launcher.command('/usr/bin/env', [...variables, program, ...args])
  return startCluster({
    binaries,
    launcher: { ...launcher, command },
    dataDir,
    durable: true,
    onLog: () => undefined,
    port,
  })
}
