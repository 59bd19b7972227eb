import { isIP } from 'node:net'
import { parseArgs } from 'node:util'
import { hasBothAcls, keepSettings } from '../access/default-acl.ts'
import { ownCertificate, readCertificate } from '../access/tls-files.ts'
import { Accounts, readUsers } from '../access/users.ts'
import { lockFolder } from '../folder-lock.ts'
import { serve, type ServeOptions } from '../server.ts'
import { finishInterruptedUndelete } from '../streams/append.ts'
import { openStore, type StreamStore } from '../streams/stream-store.ts'

export const NODE_USAGE = `--data DIR [--port N] [--host HOST] [--users FILE [--certificate FILE --key FILE] [--settings JSON]]
  [--exit-with-parent]

  --data DIR           folder of its files; used by one process at a time
  --port N             default 2113; 0 takes a free port
  --host HOST          default 127.0.0.1; another address than loopback needs --users
  --users FILE         checks callers, over TLS: one line of JSON for each account, made by the command user
  --certificate FILE   certificate in PEM; without it the node makes its own, DIR/tls/certificate.pem
  --key FILE           its private key in PEM
  --settings JSON      access lists of streams without their own: $userStreamAcl and $systemStreamAcl. The start writes
                       them to the stream $settings before it listens, unless its last event contains them
  --exit-with-parent   stops when its standard input closes`

/** Logs one JSON object per line on standard output. Errors go to standard error. */
function say(level: 'info' | 'warn', event: string, details: object = {}): void {
  process.stdout.write(`${JSON.stringify({ level, event, ...details })}\n`)
}

/** Runs a node until SIGTERM, SIGINT or the end of its parent. Rejects when it cannot start. */
export async function runNode(args: string[], onFailure: (error: unknown) => void): Promise<void> {
  const startedAt = performance.now()
  const { data, port, host, exitWithParent, settings, ...access } = readOptions(args)
  const lock = await lockFolder(data)
  const secured = await secure(data, host, access)
  const store = openStore(data, onFailure)
  finishInterruptedUndelete(store)
  if (settings !== undefined) await keepSettings(store, settings)
  reportStart(store, performance.now() - startedAt)
  const server = await serve(store, { host, port, ...secured })
  let isStopping = false
  const stop = async (): Promise<void> => {
    if (isStopping) return
    isStopping = true
    await server.stop()
    await store.close()
    lock.release()
    process.exit(0)
  }
  const stopOrFail = (): void => {
    stop().catch(onFailure)
  }
  process.on('SIGTERM', stopOrFail)
  process.on('SIGINT', stopOrFail)
  if (exitWithParent) {
    process.stdin.on('end', stopOrFail).on('error', stopOrFail)
    process.stdin.resume()
  }
  process.stdout.write(`${JSON.stringify({ ready: true, port: server.port })}\n`)
}

type AccessOptions = { users: string | undefined; certificate: string | undefined; key: string | undefined }
type NodeOptions = AccessOptions & {
  data: string
  port: number
  host: string
  settings: string | undefined
  exitWithParent: boolean
}

function readOptions(args: string[]): NodeOptions {
  const { values } = parseArgs({
    args,
    options: {
      data: { type: 'string' },
      port: { type: 'string', default: '2113' },
      host: { type: 'string', default: '127.0.0.1' },
      users: { type: 'string' },
      certificate: { type: 'string' },
      key: { type: 'string' },
      settings: { type: 'string' },
      'exit-with-parent': { type: 'boolean', default: false },
    },
  })
  const { data, host, users, certificate, key, settings } = values
  const port = values.port === '' ? NaN : Number(values.port)
  if (data === undefined || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error('expected: --data DIR and a --port from 0 to 65535; see --help')
  if (users === undefined && !isLoopback(host))
    throw new Error(`without --users the node accepts every caller, so it only listens on loopback, not on ${host}`)
  if ((certificate === undefined) !== (key === undefined)) throw new Error('--certificate and --key belong together')
  if (certificate !== undefined && users === undefined)
    throw new Error('--certificate needs --users: without accounts connections are not encrypted')
  if (settings !== undefined && (users === undefined || !hasBothAcls(settings)))
    throw new Error('--settings needs --users, and JSON with $userStreamAcl and $systemStreamAcl')
  return { data, port, host, users, certificate, key, settings, exitWithParent: values['exit-with-parent'] }
}

async function secure(
  data: string,
  host: string,
  { users, certificate, key }: AccessOptions,
): Promise<Pick<ServeOptions, 'accounts' | 'tls'>> {
  if (users === undefined) return { accounts: undefined, tls: undefined }
  const accounts = new Accounts(readUsers(users))
  if (certificate !== undefined && key !== undefined) return { accounts, tls: readCertificate(certificate, key) }
  const own = await ownCertificate(data, [...new Set(['localhost', '127.0.0.1', '::1', host])])
  say('info', 'event-store-vouches-for-itself', { certificate: own.path })
  return { accounts, tls: own }
}

/** Logs the repairs of the start after the last end of the node, and the contents of the store. */
function reportStart(store: StreamStore, milliseconds: number): void {
  const { tornBytes, appendsReadAgain, isIndexBuilt } = store.recovery
  const wasDamaged = tornBytes > 0 || (isIndexBuilt && appendsReadAgain > 0)
  say(wasDamaged ? 'warn' : 'info', 'event-store-recovered', {
    tornBytes,
    appendsReadAgain,
    index: isIndexBuilt ? 'built' : 'kept',
    streams: store.index.streamCount,
    events: store.index.eventCount,
    bytes: store.log.durableEnd,
    milliseconds: Math.round(milliseconds),
  })
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
