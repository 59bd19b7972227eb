import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { escapeLiteral } from 'pg'
import { syncFolder } from 'embedded-eventstore/durable-file'
import type { PostgresBinaries } from './binaries.ts'
import { endWithThisProcess } from './outlived-holder.ts'
import { copyPrepared, keepPrepared, preparedName } from './prepared-cluster.ts'
import { readPostmasterFile } from './stale-postmaster.ts'
import { own, PROGRAM_ENVIRONMENT, type Launcher } from './unprivileged.ts'

/** The superuser. The platform itself uses roles with fewer rights (`databases.ts`). */
export const ADMINISTRATOR = 'postgres'

const READY_POLL_MS = 20
/** How long the last lines of a program that has ended are waited for. */
const LAST_OUTPUT_MS = 1_000
/** Fixed locale and encoding make texts sort and compare equally on every machine. */
const INITDB_FLAGS = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']
const SERVER_SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=300',
  'wal_level=minimal',
  'max_wal_senders=0',
  // A file that is not used any more is removed, not renamed for the next use: it may contain a destroyed key.
  'wal_recycle=off',
  'timezone=UTC',
  'log_timezone=UTC',
  // Error reports quote statements and values, possibly personal data. The client gets them; the log must not.
  'log_min_messages=log',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
]
/** A client derives its key once for each iteration of SCRAM. The tests open thousands of connections. */
const UNSAFE_FAST_SETTINGS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'scram_iterations=1']

export type ClusterOptions = {
  binaries: PostgresBinaries
  launcher: Launcher
  dataDir: string
  durable: boolean
  onLog: (line: string) => void
}

export type RunningCluster = { exited: Promise<number | null>; stop(): Promise<void> }

export function clusterFolder(dataDir: string): string {
  return join(dataDir, 'cluster')
}

/**
 * Creates the database cluster unless it exists. It is created beside its place and then renamed. After a crash the
 * initialisation starts again; an incomplete cluster is never used.
 */
export async function initialiseCluster(options: ClusterOptions & { password: string }): Promise<void> {
  const folder = clusterFolder(options.dataDir)
  if (await exists(folder)) return
  const draft = `${folder}.new`
  await rm(draft, { recursive: true, force: true })
  const prepared = preparedName(options.binaries.version, INITDB_FLAGS)
  const sync = (one: string) => runOrThrow(options.binaries.initdb, ['--sync-only', `--pgdata=${one}`], options)
  if (await copyPrepared(prepared, draft)) {
    if (options.launcher.owner !== undefined) await own(draft, options.launcher.owner)
  } else {
    await initialise(draft, options)
    await keepPrepared(draft, prepared, sync)
  }
  await setPassword(draft, options)
  if (options.durable) await sync(draft)
  await rename(draft, folder)
  if (options.durable) await syncFolder(options.dataDir)
}

/** `initdb` demands a password. Nobody knows this one. */
async function initialise(draft: string, options: ClusterOptions): Promise<void> {
  const passwordFile = join(options.dataDir, 'password.new')
  await writeFile(passwordFile, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 })
  try {
    if (options.launcher.owner !== undefined) await chown(passwordFile, options.launcher.owner, options.launcher.owner)
    const account = [`--username=${ADMINISTRATOR}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
    await runOrThrow(options.binaries.initdb, [`--pgdata=${draft}`, ...account, ...INITDB_FLAGS, '--no-sync'], options)
  } finally {
    await rm(passwordFile, { force: true })
  }
}

/** Without a server: nobody can connect before the password is that of this installation. */
async function setPassword(draft: string, options: ClusterOptions & { password: string }): Promise<void> {
  const settings = [...settingsOf(options), 'exit_on_error=on']
  const single = ['--single', '-D', draft, ...settings.flatMap((setting) => ['-c', setting]), ADMINISTRATOR]
  // A line is a statement.
  const statement = `ALTER ROLE ${ADMINISTRATOR} PASSWORD ${escapeLiteral(options.password)}\n`
  await runOrThrow(options.binaries.postgres, single, options, statement)
}

/**
 * Starts the server process on 127.0.0.1 and waits until it accepts connections. Throws when the process exits earlier.
 * There is no other limit: a recovery that was cut off would begin again at the next start.
 */
export async function startCluster(options: ClusterOptions & { port: number }): Promise<RunningCluster> {
  const folder = clusterFolder(options.dataDir)
  const settings = settingsOf(options).flatMap((setting) => ['-c', setting])
  const child = launch(options.binaries.postgres, ['-D', folder, '-p', String(options.port), ...settings], options)
  const exited = exitOf(child)
  if (child.pid !== undefined) child.on('exit', endWithThisProcess(child.pid))
  const stop = async (): Promise<void> => {
    child.kill('SIGINT')
    await exited
  }
  const running = { exited, stop }
  while (child.exitCode === null && child.signalCode === null) {
    const file = await readPostmasterFile(folder)
    if (file !== undefined && file.pid === child.pid && file.status === 'ready') return running
    await sleep(READY_POLL_MS)
  }
  throw new Error(`embedded postgres exited during its start with code ${await exited}`)
}

function settingsOf({ durable }: ClusterOptions): readonly string[] {
  return [...SERVER_SETTINGS, ...(durable ? [] : UNSAFE_FAST_SETTINGS)]
}

function launch(program: string, args: readonly string[], options: ClusterOptions, input?: string): ChildProcess {
  const [command, commandArgs] = options.launcher.command(program, args)
  const child = spawn(command, commandArgs, {
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    cwd: '/',
    env: PROGRAM_ENVIRONMENT,
    ...options.launcher.spawnAs,
  })
  // A program that has ended reads nothing. Its exit code shows the result.
  child.stdin?.on('error', () => undefined).end(input)
  child.stdout?.resume()
  if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', options.onLog)
  return child
}

async function runOrThrow(
  program: string,
  args: readonly string[],
  options: ClusterOptions,
  input?: string,
): Promise<void> {
  const code = await exitOf(launch(program, args, options, input))
  if (code !== 0) throw new Error(`${basename(program)} failed with code ${code}`)
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.on('error', () => resolve(null))
    // A process that outlives it keeps its output open.
    child.on('exit', (code) => {
      const timer = setTimeout(() => resolve(code), LAST_OUTPUT_MS)
      child.on('close', () => {
        clearTimeout(timer)
        resolve(code)
      })
    })
  })
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}
