import { chmod, mkdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeDurably } from './durable-file.ts'
import { startChild, type ChildServer } from './child-server.ts'
import { CERTIFICATE_FILE } from './access/tls-files.ts'
import { userLine } from './access/users.ts'

/** An account of the node. */
export type NodeUser = {
  readonly login: string
  readonly password: string
  /** `$admins` may do everything, `$ops` manages persistent subscriptions. */
  readonly groups: readonly string[]
}

/** Logins and groups by right: read, write, delete, read metadata, write metadata. `$admins` have every right anyway. */
export type AccessList = { readonly [Right in '$r' | '$w' | '$d' | '$mr' | '$mw']?: readonly string[] }

export type EventStoreNodeOptions = {
  /** Folder of the node's data; created when missing, used by one process at a time. */
  dataDir: string
  /** A free port by default. */
  port?: number
  /**
   * Accounts, or the file that the command `user` made. Connections are then encrypted. `url` contains the first account of a
   * list, and none of a file. Without accounts every caller may do everything.
   */
  users?: readonly NodeUser[] | { readonly file: string }
  /** Files in PEM. Needs `users`. Without them the node makes a certificate for `localhost` and loopback. */
  tls?: { readonly certificateFile: string; readonly keyFile: string }
  /**
   * A copy of the certificate, which every user of the machine may read, with its folder. `url` names it. Needs `users`. The
   * folders above stay as they are.
   */
  readableCertificate?: string
  /** Access lists of streams without their own. They are in the stream `$settings` before the node listens. Needs `users`. */
  settings?: { readonly $userStreamAcl: AccessList; readonly $systemStreamAcl: AccessList }
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
 * Starts a node in its own process and waits until it listens. Its own process group keeps Ctrl-C away from it. It stops
 * when this process ends. Rejects with the node's message when it cannot start.
 */
export async function startEventStore(options: EventStoreNodeOptions): Promise<EventStoreNode> {
  const { port = 0, users, tls, settings, readableCertificate } = options
  const dataDir = resolve(options.dataDir)
  const usersFile = users === undefined || 'file' in users ? users?.file : await writeUsersFile(dataDir, users)
  const child = await startChild({
    name: 'embedded event store',
    script: MAIN,
    nodeArgs: ['--disable-warning=ExperimentalWarning', NEW_SPACE],
    args: [
      '--data',
      dataDir,
      '--port',
      String(port),
      ...(usersFile === undefined ? [] : ['--users', usersFile]),
      ...(tls === undefined ? [] : ['--certificate', tls.certificateFile, '--key', tls.keyFile]),
      ...(settings === undefined ? [] : ['--settings', JSON.stringify(settings)]),
    ],
    readyTimeoutMs: READY_TIMEOUT_MS,
    onLog: (line) => process.stderr.write(`${line}\n`),
    onOutput: passOnWarnings,
    ...(options.env === undefined ? {} : { env: options.env }),
  })
  const [first] = users === undefined || 'file' in users ? [] : users
  const certificate = tls?.certificateFile ?? join(dataDir, CERTIFICATE_FILE)
  try {
    if (readableCertificate !== undefined) await copyForOthers(certificate, readableCertificate)
  } catch (error) {
    await child.stop()
    throw error
  }
  const url =
    users === undefined
      ? `esdb://127.0.0.1:${child.port}?tls=false`
      : securedUrl(child.port, resolve(readableCertificate ?? certificate), first)
  return { url, ...child }
}

/** The modes are set afterwards, because the umask may take rights away from new files. */
async function copyForOthers(certificate: string, copy: string): Promise<void> {
  await mkdir(dirname(copy), { recursive: true })
  await writeDurably(copy, await readFile(certificate, 'utf8'), 0o644)
  await chmod(copy, 0o644)
  await chmod(dirname(copy), 0o755)
}

/** The node reads accounts from a file. It contains hashes of the passwords, and arguments and environment contain neither. */
async function writeUsersFile(dataDir: string, users: readonly NodeUser[]): Promise<string> {
  const file = join(dataDir, 'users')
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const lines = await Promise.all(users.map(({ login, password, groups }) => userLine(login, password, [...groups])))
  await writeDurably(file, `${lines.join('\n')}\n`, 0o600)
  return file
}

/**
 * The path is absolute, so that the string connects from every working directory. The client decodes the path and both parts of
 * the account. Node.js warns about the name of a TLS server that is an IP address, hence `localhost`.
 */
function securedUrl(port: number, certificate: string, user: NodeUser | undefined): string {
  const account = user === undefined ? '' : `${encodeURIComponent(user.login)}:${encodeURIComponent(user.password)}@`
  const path = encodeURIComponent(certificate).replaceAll('%2F', '/')
  return `esdb://${account}localhost:${port}?tls=true&tlsCAFile=${path}`
}

/** The node prints JSON lines. Those above the level `info` go on to standard error. */
function passOnWarnings(line: string): void {
  if (!line.startsWith('{')) return
  const entry: unknown = JSON.parse(line)
  if (typeof entry === 'object' && entry !== null && 'level' in entry && entry.level !== 'info')
    process.stderr.write(`${line}\n`)
}
