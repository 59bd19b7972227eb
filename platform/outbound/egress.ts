import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { Pool, type Dispatcher } from 'undici'
import { certificateProblem } from '../kit/certificate-errors.ts'
import { readJsonText } from '../kit/json-reading.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { EgressError, toEgressError } from './egress-error.ts'
import type { Logger } from '../observability/logging.ts'
import { connectToMailServer, createConnector } from './connection.ts'
import {
  askNameServers,
  resolveHost,
  type ResolveHost,
  parseEgressAllow,
  portOf,
  type OutboundRules,
} from './addresses.ts'
import { exemptOrigins, ownStoreOf, type EgressPurpose } from './exempt-addresses.ts'
import { skipInterimAnswers } from './interim-answers.ts'
import { createOwnServers, type OwnServerSettings } from './own-servers.ts'
import { OutsideCalls, type CallEnd, type OpenCall, type OutsideSystem, type UncountedSystem } from './outside-calls.ts'
import { drain, limitBytes, readAll } from './response-body.ts'

export interface EgressRequest {
  readonly purpose: EgressPurpose
  /** Concurrency key: separates callers of one host. Each has its own circuit and connections. */
  readonly lane?: string | undefined
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | Readable | null
  /** For everything, from name resolution to the last byte of the answer. */
  readonly timeoutMs: number
  /** Limit of the answer's body. A longer one rejects with `body_too_large`. */
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

/** Read the body to its end or discard it. Otherwise its connection stays busy until the time limit. */
export interface EgressResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Past the limits it is destroyed with an `EgressError`. */
  readonly body: Readable
  bytes(): Promise<Buffer>
  text(): Promise<string>
  /** Throws `SyntaxError` if the body is not JSON. */
  json(): Promise<unknown>
  /**
   * Reads and drops a short answer, so the next call can use its connection. Ends the connection of any other. Never
   * rejects.
   */
  discard(): Promise<void>
}

export interface Egress {
  /** Resolves for every HTTP status, including redirects, which are not followed. Rejects with `EgressError`. */
  request(url: string | URL, request: EgressRequest): Promise<EgressResponse>
  /**
   * Milliseconds until a call to this address is allowed; 0 if it is allowed now. For use before an attempt is
   * recorded.
   */
  openForMs(url: string | URL, purpose: EgressPurpose, lane?: string): number
  /**
   * Opens an unencrypted connection to the server of SMTP_URL, and to no other. The protocol, its limits and its
   * circuit are the caller's. Rejects with `EgressError`.
   */
  connectToMailServer(): Promise<Socket>
  /** Outcomes of calls to the systems outside. Whoever opens a connection to the mail server notes its calls here. */
  readonly calls: OutsideCalls
  /** Logs what an operator must set, if the certificate of the server of this variable was refused. */
  noteRefusedCertificate(variable: string, error: unknown): void
  close(): Promise<void>
}

type EgressConfiguration = OwnServerSettings &
  Pick<Configuration, 'profile' | 'egressAllow' | 'webhookWorkersPerEndpoint' | 'witnesses'>

type Caller = Pick<EgressRequest, 'purpose' | 'lane'>

export interface EgressOptions {
  readonly configuration: EgressConfiguration
  /** While true, no system outside is called. Own services and the own object store are. Default: never. */
  readonly isHeld?: () => boolean
  /** Logs each refused address: in production, a tenant's delivery does not contain the reason. */
  readonly logger?: Logger
  /** Default: tenants' names by the name servers in production, other names by the operating system. */
  readonly resolve?: ResolveHost
  /** For tenants' names. Default: those of the machine. */
  readonly nameServers?: readonly string[]
  /** Default: one that nobody reads. */
  readonly calls?: OutsideCalls
  readonly breaker?: { readonly threshold: number; readonly openMs: number }
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
}

/** Unused pools close their connections by themselves. */
const mostPools = 2_048
const connectionsPerOrigin = 32

/** A held call is refused like one of an open circuit, which counts as no attempt. Milliseconds until the next one. */
const heldMs = 10_000

/** Calls that stay inside the platform. */
const ownPurposes: ReadonlySet<EgressPurpose> = new Set(['service', 'image'])

/** The variables with the addresses of outside servers. Tenants gave the other addresses. */
const variables: { readonly [Purpose in EgressPurpose]?: string } = {
  provider: 'PROVIDER_BASE_URL',
  identity: 'KEYCLOAK_BASE_URL',
  mail: 'SES_ENDPOINT',
  chat: 'SLACK_API_URL',
  witness: 'WITNESSES',
  traces: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  'master-key': 'TRANSIT_URL',
}

/** The called systems, by the purpose of a call. The export of spans makes no spans. */
const systems: { readonly [Purpose in EgressPurpose]: OutsideSystem | UncountedSystem | undefined } = {
  provider: 'provider',
  identity: 'identity_provider',
  mail: 'mail',
  chat: 'chat',
  webhook: 'webhook',
  'client-keys': 'client_keys',
  image: 'image',
  service: 'service',
  witness: 'witness',
  traces: undefined,
  'master-key': undefined,
}

/** These calls get the header `traceparent` of W3C Trace Context, but never `tracestate` and `baggage`. */
const continuing: ReadonlySet<EgressPurpose> = new Set(['provider', 'mail', 'webhook', 'service'])

/**
 * The only way for outbound calls: address check on connecting, no redirects, limits on time and bytes, one circuit per
 * purpose, concurrency key, scheme, host and port.
 */
export function createEgress({
  configuration,
  logger,
  resolve: givenResolve,
  nameServers,
  calls = new OutsideCalls(),
  breaker: limits,
  isHeld = () => false,
  now = () => performance.now(),
}: EgressOptions): Egress {
  const rules: OutboundRules = { profile: configuration.profile, allow: parseEgressAllow(configuration.egressAllow) }
  const breaker = createCircuitBreaker({ threshold: 5, openMs: 5000, ...limits, now })
  const pools = new LRUCache<string, Pool>({
    max: mostPools,
    dispose: (pool) => void pool.close().catch(() => undefined),
  })
  const exempt = exemptOrigins(configuration)
  const resolve = givenResolve ?? resolveHost
  const own = createOwnServers(configuration, { resolve, now })
  const ownStore = ownStoreOf(configuration)

  return {
    async request(given, request) {
      const url = parseUrl(given)
      const circuit = circuitOf(url, request)
      const waitMs = heldForMs(request.purpose) || breaker.waitMs(circuit)
      if (waitMs > 0) throw ofHost(url, new EgressError('circuit_open', { retryAfterMs: waitMs }))
      const system = systems[request.purpose]
      const call = system === undefined ? undefined : calls.begin(system, url.host)
      try {
        const response = await send(url, request, call)
        breaker.report(circuit, 'success')
        return response
      } catch (error) {
        const failure = ofHost(url, toEgressError(error))
        call?.end({ error: failure })
        if (failure.code === 'address_forbidden')
          logger?.warn(
            {
              component: 'egress',
              reason: request.purpose,
              ...(request.lane === undefined ? {} : { subscription: request.lane }),
            },
            'refused a call to a forbidden address',
          )
        const variable = variables[request.purpose]
        if (variable !== undefined) noteRefusedCertificate(variable, failure)
        breaker.report(circuit, failure.isOfTheServer ? 'failure' : 'unknown')
        throw failure
      }
    },
    async connectToMailServer() {
      const waitMs = heldForMs('mail')
      if (waitMs > 0) throw new EgressError('circuit_open', { retryAfterMs: waitMs })
      return connectToMailServer(configuration.smtpUrl, { rules, resolve, own: undefined })
    },
    calls,
    noteRefusedCertificate,
    openForMs: (given, purpose, lane) =>
      heldForMs(purpose) || breaker.openForMs(circuitOf(parseUrl(given), { purpose, lane })),
    async close() {
      const open = [...pools.values()]
      pools.clear()
      await Promise.allSettled(open.map((pool) => pool.destroy()))
    },
  }

  function heldForMs(purpose: EgressPurpose): number {
    return isHeld() && !ownPurposes.has(purpose) ? heldMs : 0
  }

  function noteRefusedCertificate(variable: string, error: unknown): void {
    const reason = certificateProblem(variable, error)
    if (reason !== undefined) logger?.warn({ component: 'egress', reason }, 'a certificate was refused')
  }

  async function send(
    url: URL,
    { method = 'GET', headers: given = {}, body = null, timeoutMs, maxBytes, purpose, lane, signal }: EgressRequest,
    call: OpenCall | undefined,
  ): Promise<EgressResponse> {
    const ending = endAfter(timeoutMs, signal)
    const traceparent = continuing.has(purpose) ? call?.traceparent : undefined
    const headers = traceparent === undefined ? given : { ...given, traceparent }
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
      // The time limit applies until the last byte.
      answer.body.once('close', () => {
        ending.release()
        call?.end(endOf(answer))
      })
      return toResponse(answer, maxBytes)
    } catch (error) {
      ending.release()
      throw error
    }
  }

  /** A name in EGRESS_ALLOW is the operator's, and may be in the hosts file. */
  function resolveOfTenant(host: string, port: number): ReturnType<ResolveHost> {
    const isOfOperator = rules.profile === 'development' || rules.allow.hasHost(host, port)
    return givenResolve !== undefined || isOfOperator ? resolve(host) : askNameServers(host, nameServers)
  }

  function poolOf(url: URL, { purpose, lane }: Caller): Pool {
    const isExempt = exempt[purpose].has(url.origin)
    const via = purpose === 'image' && url.origin === ownStore?.publicOrigin ? ownStore.endpoint : undefined
    const key = `${isExempt ? 'configured' : 'checked'} ${url.origin}${inLane(lane)}${via === undefined ? '' : ' via the endpoint'}`
    const known = pools.get(key)
    if (known !== undefined) return known
    const connector = createConnector({
      port: portOf(via ?? url),
      rules,
      resolve: isExempt ? resolve : (host) => resolveOfTenant(host, portOf(url)),
      own: isExempt ? undefined : own,
      via,
    })
    const connect: typeof connector = (asked, callback) =>
      connector(asked, (...result) => {
        if (result[0] === null) skipInterimAnswers(result[1])
        callback(...result)
      })
    const connections = lane === undefined ? connectionsPerOrigin : configuration.webhookWorkersPerEndpoint
    const pool = new Pool(url.origin, { connect, connections, maxHeaderSize: 32_768, pipelining: 1 })
    pools.set(key, pool)
    return pool
  }
}

interface Ending {
  readonly signal: AbortSignal
  /**
   * Rejects if the call ended before it had a connection. Until then undici ignores the signal; afterwards it sends
   * nothing.
   */
  readonly unsent: Promise<never>
  release(): void
}

/**
 * One signal for the time limit and the caller's signal. `AbortSignal.any` and `.timeout` take 15 µs per call, this
 * takes 3.
 */
function endAfter(timeoutMs: number, signal: AbortSignal | undefined): Ending {
  const ending = new AbortController()
  const { promise: unsent, reject } = Promise.withResolvers<never>()
  const end = (error: EgressError): void => {
    ending.abort(error)
    // A call that was sent has already rejected by then.
    setImmediate(() => reject(new EgressError(error.code, { cause: error.cause })))
  }
  const giveWay = (): void => end(endedBy(signal?.reason))
  // After a standstill of the process, timers run before answers that have already arrived. So answers are read first.
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

/**
 * A caller's own time limit counts against the server, as ours does. Any other end of a call is not the server's fault.
 */
function endedBy(reason: unknown): EgressError {
  const isLate = reason instanceof Error && reason.name === 'TimeoutError'
  return new EgressError(isLate ? 'timeout' : 'aborted', { cause: reason, mayHaveBeenSent: true })
}

function toResponse(answer: Dispatcher.ResponseData, maxBytes: number): EgressResponse {
  // If nobody reads an answer, its interruption must not become an error of the process.
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

/** An answer that broke off counts as none. A body that we discard does not. */
function endOf({ statusCode, body: { errored } }: Dispatcher.ResponseData): CallEnd {
  const isBroken = errored !== null && toEgressError(errored).isOfTheServer
  return isBroken ? { error: errored } : { status: statusCode }
}

function ofHost({ host }: URL, failure: EgressError): EgressError {
  failure.host = host
  return failure
}

function parseUrl(given: string | URL): URL {
  const url = typeof given === 'string' ? URL.parse(given) : given
  if (url === null) throw new EgressError('address_forbidden')
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:'
  if (!isHttp || url.username !== '' || url.password !== '') throw new EgressError('address_forbidden')
  return url
}

/**
 * The purpose is part of the key: webhooks of tenants must not block our own calls to the same host. So is the
 * concurrency key: one tenant's failures at a shared host must not affect the others.
 */
function circuitOf(url: URL, { purpose, lane }: Caller): string {
  return `${purpose} ${url.origin}${inLane(lane)}`
}

function inLane(lane: string | undefined): string {
  return lane === undefined ? '' : ` ${lane}`
}
