import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { hostname } from 'node:os'
import { lockDataFolder } from '../../embedded/children/data-folder-lock.ts'
import { stopListening } from '../../embedded/children/loopback-server.ts'
import {
  formatNote,
  formatVkey,
  NoteError,
  parseVkey,
  signatureTypes,
} from '../../platform/transparency-log/signed-note.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { judge, readRequest, type Verdict } from './add-checkpoint.ts'
import { keepKey, originHash, readLatest, storeLatest } from './witness-files.ts'

export interface WitnessOrder {
  readonly dataDir: string
  /** Keys of the logs that it watches. A log may have several keys. */
  readonly logs: readonly string[]
  readonly port: number
  readonly name: string | undefined
}

export interface RunningWitness {
  readonly address: string
  readonly vkey: string
  stop(): Promise<void>
}

interface WitnessOptions {
  readonly host: string
  readonly logger: Logger
  readonly now: () => Date
}

const mostBodyBytes = 100_000
const mostConnections = 200
/** For the whole request of a caller that is too slow, in milliseconds. */
const requestTimeoutMs = 10_000

/** A witness of C2SP tlog-witness with a data folder of its own. It signs a checkpoint only if its log never went back. */
export async function startWitness(
  { dataDir, logs, port, name }: WitnessOrder,
  { host, logger, now }: WitnessOptions,
): Promise<RunningWitness> {
  const logKeys = logs.map(readLogKey)
  const lock = await lockDataFolder(dataDir)
  const witness = await keepKey(dataDir, name).catch((error: unknown) => {
    lock.release()
    throw error
  })
  let queue: Promise<unknown> = Promise.resolve()

  /** One at a time: between the comparison with the last checkpoint and its replacement there must be no other. */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = queue.then(work)
    queue = done.catch(() => undefined)
    return done
  }

  async function addCheckpoint(body: string): Promise<Verdict> {
    const asked = readRequest(body)
    return inTurn(async () => {
      const latest = await readLatest(dataDir, originHash(asked.checkpoint.origin))
      const verdict = judge(asked, latest, logKeys, witness, Math.floor(now().getTime() / 1_000))
      if (verdict.status === 200) await storeLatest(dataDir, verdict.signed)
      // Our answer to these is what an investigation needs.
      else if (verdict.status === 409 || verdict.status === 422)
        logger.warn({ component: 'witness', status: verdict.status, count: asked.checkpoint.size }, 'did not sign')
      return verdict
    })
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request
    const [, hash] = /^\/([0-9a-f]{64})\/checkpoint$/.exec(url) ?? []
    if (method === 'GET' && hash !== undefined) {
      const latest = await readLatest(dataDir, hash)
      return latest === undefined
        ? send(response, 404, 'nothing signed\n')
        : send(response, 200, formatNote(latest.note))
    }
    if (url !== '/add-checkpoint') return send(response, 404, 'not found\n')
    if (method !== 'POST') return send(response, 405, 'POST only\n')
    const body = await readBody(request)
    if (body === undefined) return send(response, 413, 'too large\n')
    const { status, body: text } = await addCheckpoint(body)
    send(response, status, text, status === 409 ? 'text/x.tlog.size' : undefined)
  }

  const server = createServer(
    { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs },
    (request, response) => {
      answer(request, response).catch((error: unknown) => {
        if (error instanceof NoteError) return send(response, 400, `${error.message}\n`)
        logger.error({ component: 'witness', err: error }, 'a request failed')
        send(response, 500, 'error\n')
      })
    },
  )
  server.maxConnections = mostConnections
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      lock.release()
      reject(error)
    })
    server.listen({ port, host }, resolve)
  })
  const bound = server.address()
  const shown = host === '0.0.0.0' || host === '::' ? hostname() : host
  return {
    address: `http://${shown.includes(':') ? `[${shown}]` : shown}:${typeof bound === 'object' ? bound?.port : port}`,
    vkey: formatVkey(witness.key),
    async stop() {
      await stopListening(server)
      await queue
      lock.release()
    },
  }
}

function readLogKey(vkey: string) {
  try {
    const key = parseVkey(vkey)
    if (key.type === signatureTypes.ed25519) return key
  } catch {
    // Reported below.
  }
  throw new ConfigurationError('--log takes the key of a log, <name>+<id>+<base64>, as /v1/audit/log/key answers it')
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue
    bytes += chunk.length
    if (bytes > mostBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function send(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  if (response.headersSent) return
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text)
}
