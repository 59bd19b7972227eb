import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { closeGently } from '../../platform/kit/early-answers.ts'
import { InvalidControl, isSame } from '../children/remote-control.ts'
import { pathOf } from '../children/request-path.ts'
import { type CallName, parseFaults, parseResults } from './controls.ts'
import type { Memory } from './memory.ts'
import { MalformedForm, readForm } from './multipart.ts'
import { answerCall, type ProviderSettings } from './session-api.ts'

type Route = { call: CallName; caseId?: number }

const CASE_ROUTE = /^\/api5\/case\/(\d{1,15})\/(process|result)$/
const PLAIN_CALLS: readonly CallName[] = ['login', 'logout', 'case', 'image']

/** The session API under `/api5`, the remote control under `/control`, and `/health` for containers. */
export function providerServer(
  memory: Memory,
  settings: ProviderSettings,
  onFailure: (error: unknown) => void,
): Server {
  return createServer((request, response) => {
    answer(memory, settings, request, response).catch((error: unknown) => {
      if (response.destroyed || request.errored !== null) return
      const isCallers = error instanceof InvalidControl || error instanceof MalformedForm
      if (!isCallers) onFailure(error)
      send(response, isCallers ? 400 : 500, JSON.stringify({ error: isCallers ? error.message : 'internal error' }))
    })
  })
}

async function answer(
  memory: Memory,
  settings: ProviderSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = pathOf(request)
  if (path === '/health') {
    request.resume()
    send(response, 200, '{"status":"ok"}')
    return
  }
  if (path === '/control' || path.startsWith('/control/')) {
    const given = request.headers['x-control-secret']
    if (typeof given !== 'string' || !isSame(given, settings.controlSecret)) {
      request.resume()
      send(response, 401, '{"error":"unauthorized"}')
      return
    }
    await control(memory, `${request.method} ${path}`, request, response)
    return
  }
  const route = routeOf(request.method ?? '', path)
  if (route === undefined) {
    request.resume()
    send(response, 404, '{"error":"no such call"}')
    return
  }
  const now = Date.now()
  const form = await readForm(request.headers['content-type'] ?? '', request)
  const { status, body, headers, delayMs } = answerCall(memory, settings, {
    call: route.call,
    caseId: route.caseId,
    checksum: new URLSearchParams(request.url?.slice(path.length)).get('checksum') ?? undefined,
    token: (request.headers.authorization ?? '').replace(/^Bearer /i, ''),
    form,
    now,
  })
  if (delayMs > 0) await sleep(delayMs, undefined, { ref: false })
  send(response, status, body, headers)
}

function routeOf(method: string, path: string): Route | undefined {
  const [, caseId, action] = CASE_ROUTE.exec(path) ?? []
  if (caseId !== undefined) {
    const call = action === 'process' ? 'process' : 'result'
    return method === (call === 'process' ? 'POST' : 'GET') ? { call, caseId: Number(caseId) } : undefined
  }
  const call = PLAIN_CALLS.find((name) => path === `/api5/${name}`)
  return call === undefined || method !== 'POST' ? undefined : { call }
}

async function control(
  memory: Memory,
  route: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await text(request)
  switch (route) {
    case 'POST /control/faults': {
      const faults = parseFaults(body)
      memory.atomically(() => memory.addFaults(faults))
      send(response, 200, JSON.stringify(faults))
      return
    }
    case 'POST /control/results': {
      const results = parseResults(body)
      memory.atomically(() => memory.addResultControls(results))
      send(response, 200, JSON.stringify(results))
      return
    }
    case 'GET /control/calls':
      send(response, 200, memory.callsJson())
      return
    case 'DELETE /control':
      memory.atomically(() => memory.reset())
      response.writeHead(204, mark).end()
      return
    default:
      send(response, 404, '{"error":"no such control"}')
  }
}

/** In every answer, so that a client can distinguish the simulator from a real provider. */
const mark = { 'x-provider-simulator': 'true' }

function send(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  closeGently(response)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...mark,
    ...headers,
  })
  response.end(body)
}
