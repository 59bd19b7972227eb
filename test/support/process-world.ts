import { randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { listenOnLoopback } from '../../embedded/children/loopback-server.ts'
import { loadConfiguration, type Configuration } from '../../platform/configuration/configuration.ts'
import { createEgress, type Egress } from '../../platform/outbound/egress.ts'
import type { EgressPurpose } from '../../platform/outbound/exempt-addresses.ts'
import { createFailpoint } from '../../platform/lifecycle/graceful-stop.ts'
import { connectObjectStore, type ObjectStore } from '../../platform/storage/object-store.ts'
import { createCaseLookup } from '../../processes/adapters/case-lookup.ts'
import { createConsentCheck } from '../../processes/adapters/consent-check.ts'
import { createMockIdentityProvider } from '../../processes/adapters/mock-identity-provider.ts'
import { createChatSender } from '../../processes/adapters/chat-sender.ts'
import { createImageFetch } from '../../processes/adapters/image-fetch.ts'
import { createMailSender } from '../../processes/adapters/mail-sender.ts'
import { createPlatformToken } from '../../processes/adapters/platform-token.ts'
import { createProvider } from '../../processes/adapters/provider.ts'
import { createRecipientLookup } from '../../processes/adapters/recipient-lookup.ts'
import { createReviewSupersession } from '../../processes/adapters/review-supersession.ts'
import { createWebhookSender } from '../../processes/adapters/webhook-sender.ts'
import { createWebhookSignatures } from '../../processes/adapters/webhook-signatures.ts'
import type { ProcessDependencies } from '../../processes/dependencies.ts'
import { leaseUntil } from '../../engine/processes/step-run.ts'
import type { Process, TodoRow } from '../../engine/processes/process.ts'
import { v4 } from 'uuid'
import { runStep, type StepResult } from '../../engine/processes/step-run.ts'
import { createExportRuns } from '../../processes/audit/export-runs.ts'
import type { PatientExports } from '../../contracts/audit/export.ts'
import { createDeliveryBodies } from '../../processes/webhooks/delivery-body.ts'
import { openDecisionWorld, type DecisionWorld, type DecisionWorldOptions } from '../engine/commands/decision-world.ts'
import { ids } from '../streams/facts.ts'
import { hostedObjectStore, hostedProvider } from './hosted-stand-ins.ts'
import { providerAt, type TestProvider } from './provider.ts'

/** Nothing listens here. */
const closed = 'http://127.0.0.1:1'

const noExports: PatientExports = {
  files: () => {
    throw new Error('nothing is exported here')
  },
}

/** The dependencies of processes, with the real adapters. Without an object store, an unreachable one. */
export function processDependencies(world: DecisionWorld, egress: Egress, objects?: ObjectStore): ProcessDependencies {
  const { configuration, now } = world
  const calls = { egress, token: createPlatformToken(egress, configuration, now) }
  const account = { accessKeyId: 'a', secretAccessKey: 'b' }
  const stored = objects ?? connectObjectStore({ endpoint: closed, region: 'r', bucket: 'images', ...account, now })
  return {
    ...world,
    objects: stored,
    provider: createProvider(egress, configuration, now),
    images: createImageFetch(egress),
    consent: createConsentCheck(calls, configuration.consentBaseUrl ?? configuration.baseUrl),
    cases: createCaseLookup(calls, configuration.clinicalBaseUrl ?? configuration.baseUrl),
    reviews: createReviewSupersession(calls, configuration.aiReviewBaseUrl),
    webhooks: createWebhookSender(egress, configuration),
    signatures: createWebhookSignatures(world.vault),
    bodies: createDeliveryBodies({ ...world, objects: stored }),
    recipients: createRecipientLookup(calls, configuration.usersBaseUrl ?? configuration.baseUrl),
    mails: createMailSender(egress, configuration),
    chats: createChatSender(egress, configuration, now),
    exports: createExportRuns({ objects: stored, exports: noExports, newId: v4, now }),
    patientStreams: () => {
      throw new Error('no patient is erased here')
    },
    usersOfPatient: async () => [],
    identityProvider: createMockIdentityProvider(),
    failpoint: createFailpoint({ failpoint: undefined }),
    random: () => 0.5,
  }
}

export interface Asked {
  /** Method and path, without the query. */
  readonly route: string
  readonly token: string
  readonly body: string
}

export interface Reply {
  readonly status: number
  readonly body?: unknown
  /** Replaces the body by raw text. */
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * The answers of the other side. `cut` breaks the connection; a promise that never settles leaves it without an answer.
 */
export type Answering = (asked: Asked) => Reply | 'cut' | Promise<Reply | 'cut'>

export interface OutsideServer {
  readonly url: string
  readonly asked: readonly string[]
  close(): Promise<void>
}

/** An HTTP server on loopback with answers from the test. */
export async function startOutsideServer(answer: Answering): Promise<OutsideServer> {
  const asked: string[] = []
  async function reply(one: Asked, response: ServerResponse): Promise<void> {
    asked.push(one.route)
    const answered = await answer(one)
    if (answered === 'cut') {
      response.destroy()
      return
    }
    const { status, body = {}, text = JSON.stringify(body), headers = {} } = answered
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  }
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', closed)
    const head = { route: `${request.method} ${pathname}`, token: request.headers.authorization ?? '' }
    textOf(request)
      .then((body) => reply({ ...head, body }, response))
      .catch(() => response.destroy())
  })
  const port = await listenOnLoopback(server, 'outside server', 0)
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The answers of the clinical and the consent service. */
interface Services {
  /** Null while the case is not known. */
  patientId: string | null
  /** Null while the consent is unknown. */
  consent: 'granted' | 'denied' | 'withdrawn' | null
  /** Runs before either one answers. */
  before: (route: string) => Promise<void> | void
}

export interface ProcessWorld extends DecisionWorld {
  readonly deps: ProcessDependencies
  readonly provider: TestProvider
  readonly services: Services
  /** Services and provider in their initial state. */
  reset(): Promise<void>
  /** The same world with other addresses and separate connections and circuits. */
  rewired(changes: Partial<Configuration>): ProcessDependencies
  /** The same world with one closed address and an open circuit for it. */
  withOpenCircuit(
    address: 'providerBaseUrl' | 'clinicalBaseUrl' | 'consentBaseUrl' | 's3Endpoint',
  ): Promise<ProcessDependencies>
}

const purposes = {
  providerBaseUrl: 'provider',
  clinicalBaseUrl: 'service',
  consentBaseUrl: 'service',
  s3Endpoint: 'image',
} as const

/** A world for decisions with a provider simulator, an object store, and services whose answers the test sets. */
export async function openProcessWorld(options: DecisionWorldOptions = {}): Promise<ProcessWorld> {
  const account = { accessKeyId: 'test', secretAccessKey: randomUUID() }
  const password = randomUUID()
  const controlSecret = randomUUID()
  const services: Services = { patientId: ids.patient, consent: 'granted', before: () => undefined }
  const [world, simulator, store, server] = await Promise.all([
    openDecisionWorld(options),
    hostedProvider({ login: 'platform', password, controlSecret }),
    hostedObjectStore({ bucket: 'assessments', ...account }),
    startOutsideServer((asked) => serviceAnswer(services, asked)),
  ])
  const configuration = loadConfiguration({
    PROVIDER_BASE_URL: simulator.url,
    PROVIDER_LOGIN: 'platform',
    PROVIDER_PASSWORD: password,
    S3_ENDPOINT: store.endpoint,
    S3_ACCESS_KEY_ID: account.accessKeyId,
    S3_SECRET_ACCESS_KEY: account.secretAccessKey,
    BASE_URL: server.url,
  })
  // The store checks presigned addresses with its own clock, which does not stand still.
  const objects = connectObjectStore({
    endpoint: store.endpoint,
    region: 'us-east-1',
    bucket: 'assessments',
    ...account,
    now: () => new Date(),
  })
  const opened: Egress[] = []
  const wire = (changes: Partial<Configuration>, breaker?: { threshold: number; openMs: number }) => {
    const wired = { ...configuration, ...changes }
    const egress = createEgress({
      configuration: wired,
      now: () => world.now().getTime(),
      ...(breaker === undefined ? {} : { breaker }),
    })
    opened.push(egress)
    return { egress, deps: processDependencies({ ...world, configuration: wired }, egress, objects) }
  }
  const provider = providerAt(simulator.url, controlSecret)
  return {
    ...world,
    configuration,
    deps: wire({}).deps,
    provider,
    services,
    reset: async () => {
      Object.assign(services, { patientId: ids.patient, consent: 'granted', before: () => undefined })
      await provider.reset()
    },
    rewired: (changes) => wire(changes).deps,
    withOpenCircuit: async (address) => {
      const { egress, deps } = wire({ [address]: closed }, { threshold: 1, openMs: 3_600_000 })
      await openCircuit(egress, purposes[address])
      return deps
    },
    close: async () => {
      await Promise.all(opened.map((egress) => egress.close()))
      objects.close()
      await Promise.all([world.close(), simulator.stop(), store.stop(), server.close()])
    },
  }
}

async function openCircuit(egress: Egress, purpose: EgressPurpose): Promise<void> {
  await egress.request(closed, { purpose, timeoutMs: 5_000, maxBytes: 1 }).catch(() => undefined)
  if (egress.openForMs(closed, purpose) === 0) throw new Error('the circuit is not open')
}

async function serviceAnswer(services: Services, { route }: Asked): Promise<Reply> {
  if (route === 'POST /v1/auth/oauth/token') return { status: 200, body: { access_token: 'token', expires_in: 3600 } }
  await services.before(route)
  if (route === 'GET /v1/consent-records') {
    return services.consent === null
      ? { status: 503 }
      : { status: 200, body: { status: services.consent, record: { id: ids.consent } } }
  }
  return services.patientId === null ? { status: 404 } : { status: 200, body: { patient_id: services.patientId } }
}

/** Runs one step as a worker, with a lease of 20 s. Its stop or its time limit aborts `signal`. */
export function workOff(
  world: Pick<ProcessWorld, 'now' | 'deps'>,
  process: Process<ProcessDependencies>,
  todo: TodoRow,
  {
    deps = world.deps,
    signal = new AbortController().signal,
    mayCallAgain = false,
  }: { deps?: ProcessDependencies; signal?: AbortSignal; mayCallAgain?: boolean } = {},
): Promise<StepResult> {
  const step = process.steps[todo.step]
  if (step === undefined) throw new Error(`process ${process.name} has no step ${todo.step}`)
  const surroundings = { now: world.now, endedLeases: [], mayCallAgain, signal }
  return runStep((due, context) => step(due, deps, context), todo, surroundings, {
    leaseUntil: leaseUntil(world.now(), 20_000),
    timeoutMs: 30_000,
    abandonMs: 40_000,
  })
}
