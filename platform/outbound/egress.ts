import type { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { Pool, type Dispatcher } from 'undici'
import { readJsonText } from '../kit/json-reading.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { EgressError, toEgressError } from './egress-error.ts'
import type { Logger } from '../observability/logging.ts'
import { createConnector } from './connection.ts'
import { resolveHost, type ResolveHost, parseEgressAllow, portOf, type OutboundRules } from './addresses.ts'
import { createOwnServers, type OwnServerSettings } from './own-servers.ts'
import { drain, limitBytes, readAll } from './response-body.ts'

/**
 * Why a call is made. Addresses that the configuration names (`service`: own services and object store, `provider`,
 * `image`: object store) are exempt from the public-only rule for that purpose. A webhook's address never is. No other address
 * may lead to a server of the platform's own, in any profile, whatever EGRESS_ALLOW names.
 */
export type EgressPurpose = 'webhook' | 'image' | 'service' | 'provider'

export interface EgressRequest {
  readonly purpose: EgressPurpose
  /** Whom the call is for, where many call one host: each has a circuit and connections of its own. */
  readonly lane?: string | undefined
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | Readable | null
  /** For everything, from resolving the name to the last byte of the answer. */
  readonly timeoutMs: number
  /** Of the answer's body; more rejects with `body_too_large`. */
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

/** The body has to be read to its end or discarded, or its connection stays busy until the time limit. */
export interface EgressResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Rejects or is destroyed with an `EgressError` past the limits. */
  readonly body: Readable
  bytes(): Promise<Buffer>
  text(): Promise<string>
  /** Throws `SyntaxError` for what is not JSON. */
  json(): Promise<unknown>
  /** Drops a short answer, so that its connection serves the next call, and ends the connection of any other. Never rejects. */
  discard(): Promise<void>
}

export interface Egress {
  /** Resolves for every HTTP status, redirects included: they are not followed. Rejects with `EgressError`. */
  request(url: string | URL, request: EgressRequest): Promise<EgressResponse>
  /** Milliseconds until a call to this address may be made again, 0 when it may: asked before an attempt is recorded. */
  openForMs(url: string | URL, purpose: EgressPurpose, lane?: string): number
  close(): Promise<void>
}

type EgressConfiguration = OwnServerSettings &
  Pick<Configuration, 'profile' | 'egressAllow' | 'webhookWorkersPerEndpoint'>

type Caller = Pick<EgressRequest, 'purpose' | 'lane'>

export interface EgressOptions {
  readonly configuration: EgressConfiguration
  /** Of each refused address: deliveries of a tenant name no reason for it in production. */
  readonly logger?: Logger
  readonly resolve?: ResolveHost
  readonly breaker?: { readonly threshold: number; readonly openMs: number }
  /** Milliseconds of a clock that does not jump. */
  readonly now?: () => number
}

/** Those that are not used lose their connections by themselves. */
const mostPools = 2_048
const connectionsPerOrigin = 32

/** The one way out: address check at connect time, no redirects, limits on time and bytes, a circuit per purpose, lane, scheme, host and port. */
export function createEgress({
  configuration,
  logger,
  resolve = resolveHost,
  breaker: limits,
  now = () => performance.now(),
}: EgressOptions): Egress {
  const rules: OutboundRules = { profile: configuration.profile, allow: parseEgressAllow(configuration.egressAllow) }
  const breaker = createCircuitBreaker({ threshold: 5, openMs: 5000, ...limits, now })
  const pools = new LRUCache<string, Pool>({
    max: mostPools,
    dispose: (pool) => void pool.close().catch(() => undefined),
  })
  const exempt = exemptOrigins(configuration)
  const own = createOwnServers(configuration, { resolve, now })
  const ownStore = ownStoreOf(configuration)

  return {
    async request(given, request) {
      const url = parseUrl(given)
      const circuit = circuitOf(url, request)
      const waitMs = breaker.waitMs(circuit)
      if (waitMs > 0) throw new EgressError('circuit_open', { retryAfterMs: waitMs })
      try {
        const response = await send(url, request)
        breaker.report(circuit, 'success')
        return response
      } catch (error) {
        const failure = toEgressError(error)
        if (failure.code === 'address_forbidden')
          logger?.warn(
            {
              component: 'egress',
              reason: request.purpose,
              ...(request.lane === undefined ? {} : { subscription: request.lane }),
            },
            'refused a call to a forbidden address',
          )
        breaker.report(circuit, failure.isOfTheServer ? 'failure' : 'unknown')
        throw failure
      }
    },
    openForMs: (given, purpose, lane) => breaker.openForMs(circuitOf(parseUrl(given), { purpose, lane })),
    async close() {
      const open = [...pools.values()]
      pools.clear()
      await Promise.allSettled(open.map((pool) => pool.destroy()))
    },
  }

  async function send(
    url: URL,
    { method = 'GET', headers = {}, body = null, timeoutMs, maxBytes, purpose, lane, signal }: EgressRequest,
  ): Promise<EgressResponse> {
    const ending = endAfter(timeoutMs, signal)
    const asked = {
      path: `${url.pathname}${url.search}`,
      method,
      headers,
      body,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      signal: ending.signal,
    }
    try {
      const answer = await Promise.race([poolOf(url, { purpose, lane }).request(asked), ending.unsent])
      // The time limit holds until the last byte.
      answer.body.once('close', () => ending.release())
      return toResponse(answer, maxBytes)
    } catch (error) {
      ending.release()
      throw error
    }
  }

  function poolOf(url: URL, { purpose, lane }: Caller): Pool {
    const isExempt = exempt[purpose].has(url.origin)
    const via = purpose === 'image' && url.origin === ownStore?.publicOrigin ? ownStore.endpoint : undefined
    const key = `${isExempt ? 'configured' : 'checked'} ${url.origin}${inLane(lane)}${via === undefined ? '' : ' via the endpoint'}`
    const known = pools.get(key)
    if (known !== undefined) return known
    const connect = createConnector({ port: portOf(via ?? url), rules, resolve, own: isExempt ? undefined : own, via })
    const connections = lane === undefined ? connectionsPerOrigin : configuration.webhookWorkersPerEndpoint
    const pool = new Pool(url.origin, { connect, connections, maxHeaderSize: 32_768, pipelining: 1 })
    pools.set(key, pool)
    return pool
  }
}

interface Ending {
  readonly signal: AbortSignal
  /** Rejects where the call ended before it had a connection: undici heeds the signal only once there is one, and then sends nothing. */
  readonly unsent: Promise<never>
  release(): void
}

/** One signal of the time limit and the caller's: `AbortSignal.any` and `.timeout` take 15 µs of each call, this takes 3. */
function endAfter(timeoutMs: number, signal: AbortSignal | undefined): Ending {
  const ending = new AbortController()
  const { promise: unsent, reject } = Promise.withResolvers<never>()
  const end = (error: EgressError): void => {
    ending.abort(error)
    // What was sent has rejected by then.
    setImmediate(() => reject(new EgressError(error.code, { cause: error.cause })))
  }
  const giveWay = (): void => end(endedBy(signal?.reason))
  // Of a process that stood still, timers come before the answers that have arrived meanwhile: those are read first.
  const timer = setTimeout(
    () => setImmediate(() => end(new EgressError('timeout', { mayHaveBeenSent: true }))),
    timeoutMs,
  ).unref()
  if (signal?.aborted === true) giveWay()
  else signal?.addEventListener('abort', giveWay, { once: true })
  return {
    signal: ending.signal,
    unsent,
    release() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveWay)
    },
  }
}

/** A caller's own time limit speaks against the server as ours does; whatever else ends a call is no matter of the server. */
function endedBy(reason: unknown): EgressError {
  const isLate = reason instanceof Error && reason.name === 'TimeoutError'
  return new EgressError(isLate ? 'timeout' : 'aborted', { cause: reason, mayHaveBeenSent: true })
}

function toResponse(answer: Dispatcher.ResponseData, maxBytes: number): EgressResponse {
  // What breaks an answer off that nobody reads is no error of the process.
  answer.body.on('error', () => undefined)
  let limited: Readable | undefined
  const body = (): Readable => (limited ??= limitBytes(answer.body, answer.headers['content-length'], maxBytes))
  return {
    status: answer.statusCode,
    headers: answer.headers,
    get body() {
      return body()
    },
    bytes: () => readAll(body()),
    text: async () => (await readAll(body())).toString('utf8'),
    json: async () => readJsonText((await readAll(body())).toString('utf8')),
    discard: () => drain(limited ?? answer.body),
  }
}

function parseUrl(given: string | URL): URL {
  const url = typeof given === 'string' ? URL.parse(given) : given
  if (url === null) throw new EgressError('address_forbidden')
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:'
  if (!isHttp || url.username !== '' || url.password !== '') throw new EgressError('address_forbidden')
  return url
}

function exemptOrigins(configuration: EgressConfiguration): Readonly<Record<EgressPurpose, ReadonlySet<string>>> {
  const {
    s3Endpoint,
    s3PublicEndpoint,
    providerBaseUrl,
    baseUrl,
    authBaseUrl,
    clinicalBaseUrl,
    consentBaseUrl,
    aiReviewBaseUrl,
  } = configuration
  return {
    webhook: new Set(),
    image: originsOf(s3Endpoint, s3PublicEndpoint),
    provider: originsOf(providerBaseUrl),
    service: originsOf(baseUrl, authBaseUrl, clinicalBaseUrl, consentBaseUrl, aiReviewBaseUrl, s3Endpoint),
  }
}

interface OwnStore {
  readonly publicOrigin: string
  readonly endpoint: URL
}

/** S3_PUBLIC_ENDPOINT is an address for clients. A processor may not reach it (in a container it is the container itself), so it reads at S3_ENDPOINT. */
function ownStoreOf({ s3Endpoint, s3PublicEndpoint }: EgressConfiguration): OwnStore | undefined {
  if (s3Endpoint === undefined || s3PublicEndpoint === undefined) return undefined
  return { publicOrigin: new URL(s3PublicEndpoint).origin, endpoint: new URL(s3Endpoint) }
}

function originsOf(...addresses: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(addresses.flatMap((address) => (address === undefined ? [] : [new URL(address).origin])))
}

/**
 * The purpose is part of it: what tenants have their webhooks call must not keep us from calling the same host ourselves.
 * So is the lane: what one tenant's path does at a host that tenants share is no matter of the others.
 */
function circuitOf(url: URL, { purpose, lane }: Caller): string {
  return `${purpose} ${url.origin}${inLane(lane)}`
}

function inLane(lane: string | undefined): string {
  return lane === undefined ? '' : ` ${lane}`
}
