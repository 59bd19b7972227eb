import { randomBytes, randomUUID } from 'node:crypto'
import { at, textAt } from '../../../app/demo/members.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { rawResponseRoute } from '../../../commands/ai-review/raw-response-route.ts'
import { aiReviewWriteRoutes } from '../../../commands/ai-review/routes.ts'
import type { Configuration } from '../../../platform/configuration/configuration.ts'
import { createPool } from '../../../platform/database/database.ts'
import type { ObjectStore } from '../../../platform/storage/object-store.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import { aiReviewChannel } from '../../../processes/ai-review/ai-review.channel.ts'
import type { StepResult } from '../../../engine/processes/step-run.ts'
import { aiReviewsProjector } from '../../../projections/ai-review/ai-reviews.projector.ts'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { aiReviewReadRoutes } from '../../../read-api/ai-review/routes.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { silentLogger } from '../../../tools/equality/contents.ts'
import { startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { requestOfAnotherService, runReviewStep, type Running } from '../../processes/ai-review/review-steps.ts'
import { caseFact, ids } from '../../streams/facts.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'

export const scopesOfReviews = [
  'ai-review:create',
  'ai-review:read',
  'ai-review:read-raw',
  'ai-review:supersede',
  'ai-review:cancel',
]

interface PublicEvent {
  readonly type: string
  readonly data: unknown
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

interface Request {
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly scopes?: readonly string[]
  /** Of the token. */
  readonly orgId?: string
  /** Of the token. */
  readonly productId?: string | null
  /** The routes of another process. */
  readonly through?: TestApplication
}

/** The AI-review service over HTTP in this process. The test runs the steps of its process, and moves the clock. */
export interface ReviewApi {
  readonly world: ProcessWorld
  post(path: string, request?: Request): Promise<Answer>
  /** Waits until the read model contains everything recorded before. */
  get(path: string, request?: Request): Promise<Answer>
  head(path: string, request?: Request): Promise<Answer>
  /** The routes of another process, maybe with other settings or another object store. */
  startRoutes(store: EventStore, changes?: Partial<Configuration>, objects?: ObjectStore): Promise<TestApplication>
  /** A new case, of the patient that all tests share unless another one is named. */
  newCase(patientId?: string): Promise<string>
  /** An image in the object store, with an address that it accepts for ten minutes. */
  image(changes?: object): Promise<object>
  /** A new review of a new case; its id. */
  requested(changes?: object): Promise<string>
  /** A requested review after so many steps of its start job, which are a case, an image and `process`. */
  startedBy(calls: number): Promise<string>
  review(id: string): Promise<unknown>
  /** Runs a step as if it were due now. */
  run(step: 'start' | 'poll', id: string, running?: Running): Promise<StepResult>
  /** The review that a request event of another service makes. Its id. */
  requestedByEvent(caseId: string, running?: Running): Promise<string>
  /** The types of the public events of a review, by the translation of its channel. */
  published(id: string): Promise<readonly string[]>
  /** The last one. */
  lastPublished(id: string): Promise<PublicEvent>
  /** Calls to the provider without logins, as `case 200`. */
  calls(): Promise<readonly string[]>
  close(): Promise<void>
}

export async function openReviewApi(): Promise<ReviewApi> {
  const [world, database] = await Promise.all([openProcessWorld({ hasOwnNode: true }), freshDatabase()])
  const { store, orgId } = world
  const pool = createPool({ url: database.url, max: 4 })
  await ensureRuntimeSchema(pool)
  const filter = { streamPrefixes: projectedStreams }
  const projectors = [aiReviewsProjector]
  const runner = new ProjectionRunner({ eventStore: store, pool, projectors, filter, logger: silentLogger })
  runner.start()
  await runner.caughtUp()
  const reads = new ReadPositions({ pool, projectors, runner })
  const isCurrent = (name: string) => reads.requireHead((asked) => store.head(filter, asked), name, 15_000)
  const positionOf = (name: string) => reads.storedPosition(name)
  const cursors = createCursors({ key: randomBytes(32) })
  const opened: TestApplication[] = []

  const startRoutes: ReviewApi['startRoutes'] = async (through, changes = {}, objects = world.deps.objects) => {
    const configuration = { ...world.deps.configuration, ...changes }
    const deps = { ...world.deps, objects, configuration, store: through, pool, cursors, isCurrent, positionOf }
    const t = await startApplication({
      services: [
        {
          prefix: 'ai-review',
          documentedAt: 'bare',
          routes: (app) => {
            aiReviewWriteRoutes(app, deps)
            rawResponseRoute(app, deps)
            aiReviewReadRoutes(app, deps)
          },
        },
      ],
      isCurrent,
      checkReplies: true,
    })
    opened.push(t)
    return t
  }
  const own = await startRoutes(store)

  async function call(method: 'GET' | 'HEAD' | 'POST', path: string, request: Request = {}): Promise<Answer> {
    const { body: payload, scopes = scopesOfReviews, through = own, productId = ids.product } = request
    const token = await through.token({ orgId: request.orgId ?? orgId, productId, scopes, trustedActorContext: true })
    const headers = { ...request.headers, ...token }
    const options = { method, url: `/v1/ai-reviews${path}`, headers }
    const answer = await through.app.inject(payload === undefined ? options : { ...options, payload })
    const body: unknown = answer.body === '' ? undefined : JSON.parse(answer.body)
    return { status: answer.statusCode, headers: answer.headers, body }
  }

  async function publicEvents(id: string): Promise<PublicEvent[]> {
    const events: PublicEvent[] = []
    for await (const event of world.otherStore.readStream(aiReviews.of(orgId, id).stream))
      events.push(...((await aiReviewChannel.translate[event.type]?.(event, world.deps)) ?? []))
    return events
  }

  const api: Omit<ReviewApi, 'world'> = {
    startRoutes,
    post: (path, request) => call('POST', path, request),
    async get(path, request) {
      if (!(await isCurrent(aiReviewsProjector.name))) throw new Error('the read model does not catch up')
      return call('GET', path, request)
    },
    head: (path, request) => call('HEAD', path, request),
    async newCase(patientId = ids.patient) {
      const caseId = randomUUID()
      const fact = caseFact('CaseOpened', { caseId, patientId, organisationId: orgId, assessmentId: null })
      await store.append(cases.of(orgId, caseId), 'no_stream', [fact], contextOf(world))
      return caseId
    },
    async image(changes = {}) {
      const imageId = randomUUID()
      const key = `images/2026-03-01/${orgId}/${ids.assessment}/${imageId}/${randomUUID()}`
      await world.deps.objects.put(key, Buffer.from(`bytes ${imageId}`), 'image/jpeg')
      const { url: presignedUrl } = await world.deps.objects.presignRead(key, 600)
      const presignedUrlExpiresAt = new Date(world.now().getTime() + 600_000).toISOString()
      return { imageId, imageType: 'DERMOSCOPIC', presignedUrl, presignedUrlExpiresAt, ...changes }
    },
    async requested(changes = {}) {
      const body = { caseId: await api.newCase(), images: [await api.image()], ...changes }
      const answer = await api.post('', { body })
      if (answer.status !== 202) throw new Error(`the request was answered with ${answer.status}`)
      return textAt(answer.body, 'aiReviewId')
    },
    async startedBy(calls) {
      const id = await api.requested()
      for (let made = 0; made < calls; made += 1) await api.run('start', id)
      return id
    },
    review: async (id) => (await api.get(`/${id}`)).body,
    run: (step, id, running) => runReviewStep(world, step, id, running),
    async requestedByEvent(caseId, running) {
      await runReviewStep(world, 'claim-foreign', await requestOfAnotherService(world, caseId), running)
      return textAt((await api.get(`?caseId=${caseId}`)).body, 'data', 0, 'id')
    },
    published: async (id) => (await publicEvents(id)).map(({ type }) => type),
    async lastPublished(id) {
      const last = (await publicEvents(id)).at(-1)
      if (last === undefined) throw new Error('the review has no public event')
      return last
    },
    calls: async () => (await world.provider.caseCalls()).map((made) => `${made.call} ${made.status}`),
    async close() {
      for (const { app } of opened) await app.close()
      reads.close()
      await runner.close()
      await pool.end()
      await Promise.all([world.close(), database.drop()])
    },
  }
  return { ...api, world }
}

/** Status, code of the problem, and the first pointer. */
export function refusalOf({ status, body }: Answer): string {
  const parts = [status, at(body, 'code'), at(body, 'errors', 0, 'pointer')]
  return parts.filter((part) => typeof part === 'string' || typeof part === 'number').join(' ')
}
