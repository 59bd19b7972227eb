import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeDurably } from '../children/durable-file.ts'
import { startChild, type ChildServer } from '../children/start-child.ts'
import { CERTIFICATE_FILE } from './access/tls-files.ts'
import { userLine } from './access/users.ts'

export type EventStoreNodeOptions = {
  /** Folder of the node's data; created when missing, used by one process at a time. */
  dataDir: string
  /** 0 takes a free port. */
  port: number
  /** The only account of the node, an administrator. Connections are then encrypted, and `url` contains the account. */
  account?: { login: string; password: string }
  /** Accounts of a users file instead. Connections are then encrypted, and `url` contains no account. */
  usersFile?: string
  /** Variables of the node's process, besides those that every child inherits. */
  env?: Readonly<Record<string, string>>
}

export type EventStoreNode = ChildServer & {
  /** Connection string for the official client. */
  url: string
}

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
/** MiB of V8's space for new objects, 16 by default. Under load, most of the node's surplus memory is three times this. */
const NEW_SPACE = '--max-semi-space-size=4'
/** A start that builds the index again reads the whole log first. */
const READY_TIMEOUT_MS = 600_000

/**
 * Starts an embedded EventStoreDB node in its own process and waits until it listens. Its own process group keeps
 * Ctrl-C away from it. It stops when this process ends. Rejects with the node's message when it cannot start.
 */
export async function startEventStoreNode(options: EventStoreNodeOptions): Promise<EventStoreNode> {
  const dataDir = resolve(options.dataDir)
  const usersFile = options.account === undefined ? options.usersFile : await writeUsersFile(dataDir, options.account)
  const child = await startChild({
    name: 'embedded event store',
    script: MAIN,
    nodeArgs: ['--disable-warning=ExperimentalWarning', NEW_SPACE],
    args: [
      '--data',
      dataDir,
      '--port',
      String(options.port),
      ...(usersFile === undefined ? [] : ['--users', usersFile]),
    ],
    readyTimeoutMs: READY_TIMEOUT_MS,
    onLog: (line) => process.stderr.write(`${line}\n`),
    onOutput: passOnWarnings,
    ...(options.env === undefined ? {} : { env: options.env }),
  })
  return {
    url: connectionString(dataDir, child.port, options.account, usersFile !== undefined),
    ...child,
  }
}

/** The node reads accounts from a file. It contains a hash of the password, and arguments and environment contain neither. */
async function writeUsersFile(
  dataDir: string,
  { login, password }: { login: string; password: string },
): Promise<string> {
  const file = join(dataDir, 'users')
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await writeDurably(file, `${await userLine(login, password, ['$admins'])}\n`, 0o600)
  return file
}

/**
 * The path is absolute, so that the string connects from every working directory. The client decodes the path and both parts of
 * the account. Node.js warns about the name of a TLS server that is an IP address, hence `localhost`.
 */
function connectionString(
  dataDir: string,
  port: number,
  account: EventStoreNodeOptions['account'],
  hasAccounts: boolean,
): string {
  if (!hasAccounts) return `esdb://127.0.0.1:${port}?tls=false`
  const user =
    account === undefined ? '' : `${encodeURIComponent(account.login)}:${encodeURIComponent(account.password)}@`
  const certificate = encodeURIComponent(join(dataDir, CERTIFICATE_FILE)).replaceAll('%2F', '/')
  return `esdb://${user}localhost:${port}?tls=true&tlsCAFile=${certificate}`
}

/** The node prints JSON lines. Those above the level `info` go on to standard error. */
function passOnWarnings(line: string): void {
  if (!line.startsWith('{')) return
  const entry: unknown = JSON.parse(line)
  if (typeof entry === 'object' && entry !== null && 'level' in entry && entry.level !== 'info')
    process.stderr.write(`${line}\n`)
}
