import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { superLinearPatterns } from '../../architecture/linear-patterns.ts'
import { startInProcessPlatform, type InProcessPlatform } from '../../support/in-process-platform.ts'
import {
  assessmentBody,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
  reviewOfCase,
} from '../../support/main-job.ts'
import { kindsOfLoad, loadsOfSchema, type Load } from './hostile-requests.ts'
import { startRawClient, type RawClient } from './raw-client.ts'
import { parseTimeOf, standstillOf } from './standstill.ts'

interface Route {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly takesPrefer: boolean
  /** Needs no token. */
  readonly isPublic: boolean
}

/**
 * Limit of a blocked event loop: this multiple of the time of `JSON.parse` for the same bytes, or for a text of average
 * size. A third of it is for other programs: they halve the speed of a core, and the parser was timed at the best moment.
 */
const multiple = 45
const averageText = JSON.stringify(Array.from({ length: 30_000 }, (_, n) => `item ${n}`))
/** The shortest of several runs counts, because noise of the machine only adds time. */
const mostRuns = 8
/** A time of so many limits cannot be noise. */
const beyondNoise = 5
const atOnce = 8
/** A busy machine repeats many requests alone. Only a test that hangs takes longer. */
const longestMs = 900_000
/** Routes that get every load: one for each way to read a body, a list, and (below) all that read Prefer. */
const representatives: ReadonlySet<string> = new Set([
  'POST /v1/auth/oauth/token',
  'POST /v1/clinical-api/assessments',
  'POST /v1/clinical-api/assessments/{id}/submit',
  'POST /v1/patients/{patientId}/consents',
  'GET /v1/clinical-api/patients',
])
const isRepresentative = ({ method, path }: Route) => representatives.has(`${method} ${path}`)
/**
 * Of the other routes, a run attacks one in three, beginning with a random one of the first three. `HOSTILE_ROUTES=2/3`
 * repeats the run that printed it, and `HOSTILE_ROUTES=1/1` attacks all.
 */
const sampled = process.env['HOSTILE_ROUTES'] ?? `${randomInt(3) + 1}/3`
const [firstRoute = 1, everyRoute = 1] = sampled.split('/').map(Number)
/** One handler answers them for the host and for each service. Those of one service stand for all. */
const isRepeated = (path: string) => /\/(health(\/\w+)?|metrics)$/.test(path) && !path.startsWith('/v1/clinical-api/')

let world: InProcessPlatform
let client: RawClient
let document: unknown
let routes: readonly Route[]
/** Those that this run attacks. */
let attacked: readonly Route[]
let token: string
let admin: string
let port: number
let averageTime: number
const ids = new Map<string, string>()

beforeAll(async () => {
  world = await startInProcessPlatform({})
  client = startRawClient()
  const { api, terms, platform } = world
  const { base_url: baseUrl, org_id: orgId } = platform.credentials
  port = Number(new URL(baseUrl).port)
  token = world.token
  admin = actorContext(orgId, ['consents:admin'])
  document = await (await fetch(`${baseUrl}/openapi.json`)).json()
  routes = routesOf(document)
  attacked = routes.filter((route, place) => getsAll(route) || place % everyRoute === firstRoute - 1)
  process.stdout.write(`HOSTILE_ROUTES=${sampled}: ${attacked.length} of ${routes.length} routes\n`)
  averageTime = parseTimeOf(averageText)

  const patientId = await registerPatient(api)
  const assessmentId = await requestAssessment(api, assessmentBody(patientId, [await photograph()]))
  const record = await endOf(api, assessmentId)
  const review = await reviewOfCase(api, textAt(record, 'case_id'))
  const webhook = await expecting(
    201,
    api.call('/v1/clinical-api/webhook-subscriptions', {
      body: { url: 'http://127.0.0.1:1/', event_types: ['assessment.failed'] },
    }),
  )
  ids
    .set('patients', patientId)
    .set('assessments', assessmentId)
    .set('cases', textAt(record, 'case_id'))
    .set('ai-reviews', textAt(review, 'id'))
  ids
    .set('images', textAt(record, 'images', 0, 'id'))
    .set('consent-types', terms.consent_type_id)
    .set('webhook-subscriptions', textAt(webhook.body, 'id'))
    .set('events', 'assessment')
})

afterAll(async () => {
  await client.close()
  await world.close()
})

function routesOf(openapi: unknown): Route[] {
  const documented = Object.entries(Object(at(openapi, 'paths')) as Record<string, unknown>).flatMap(
    ([path, operations]) =>
      Object.entries(Object(operations) as Record<string, unknown>).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        isPublic: at(operation, 'security', '0') === undefined,
        body: at(operation, 'requestBody', 'content', 'application/json', 'schema'),
        takesPrefer: Object.values(Object(at(operation, 'parameters') ?? []) as object).some(
          (parameter) => at(parameter, 'name') === 'prefer',
        ),
      })),
  )
  const hidden = ['/openapi.json', '/docs', '/docs/static/index.css', '/no/such/address'].map((path) => ({
    method: 'GET',
    path,
    body: undefined,
    takesPrefer: false,
    isPublic: true,
  }))
  return [...documented, ...hidden].filter(({ path }) => !isRepeated(path))
}

/** Reads name records that exist, so that all their headers are read. Writes name none, so that nothing changes. */
function pathOf({ method, path }: Route, parameter: string | undefined): string {
  return path.replace(/([^/]+)\/\{[^}]+\}/g, (_, collection: string) => {
    const known = method === 'GET' ? ids.get(collection) : undefined
    return `${collection}/${parameter ?? known ?? '0190b0a0-0000-7000-8000-00000000dead'}`
  })
}

async function send(route: Route, load: Load, isAuthorized: boolean): Promise<number> {
  const body = load.body === undefined ? undefined : Buffer.from(load.body)
  const { contentType = '', announcedBytes = body?.length } = load
  const headers = {
    host: 'localhost',
    connection: 'close',
    ...(isAuthorized ? { authorization: `Bearer ${token}`, 'x-actor-context': admin } : {}),
    ...(body === undefined ? {} : { 'content-type': contentType, 'content-length': String(announcedBytes) }),
    ...load.headers,
  }
  const address = `${pathOf(route, load.parameter)}${load.query === undefined ? '' : `?${load.query}`}`
  const head = [
    `${route.method} ${address} HTTP/1.1`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ].join('\r\n')
  return client.send({ port, head: `${head}\r\n\r\n`, body })
}

const parseTimes = new Map<string, number>()

function limitOf({ body, headers }: Load): number {
  // The head of a request has at most 16 KiB.
  if (body === undefined || headers !== undefined) return (multiple * averageTime) / 3
  const known = parseTimes.get(body) ?? Math.max(averageTime, parseTimeOf(body), parseTimeOf(JSON.stringify(body)))
  parseTimes.set(body, known)
  return multiple * known
}

interface Attack {
  readonly route: Route
  readonly load: Load
  readonly isAuthorized: boolean
}

/** Requests that blocked the event loop for too long in every run, and the statuses of all answers. */
async function attack(attacks: readonly Attack[]) {
  const slow: string[] = []
  const statuses: string[] = []
  const run = async ({ route, load, isAuthorized }: Attack) =>
    void statuses.push(`${nameOf(route, load)}: ${await send(route, load, isAuthorized)}`)
  for (let from = 0; from < attacks.length; from += atOnce) {
    const batch = attacks.slice(from, from + atOnce)
    const strictest = Math.min(...batch.map(({ load }) => limitOf(load)))
    // Concurrent requests only add to each other's time, so a quick batch needs no single runs.
    if ((await standstillOf(async () => void (await Promise.all(batch.map(run))))) <= strictest) continue
    for (const one of batch) {
      const limit = limitOf(one.load)
      let least = Number.POSITIVE_INFINITY
      for (let time = 0; time < mostRuns && least > limit; time += 1) {
        least = Math.min(least, await standstillOf(() => run(one)))
        if (least > beyondNoise * limit) break
      }
      if (least > limit)
        slow.push(
          `${nameOf(one.route, one.load)} blocked the event loop for ${Math.round(least)} ms, more than ${Math.round(limit)}`,
        )
    }
  }
  return { slow, statuses }
}

const getsAll = (route: Route) => route.takesPrefer || isRepresentative(route)

/** One load of each kind, in turn, or all of them. A body only where the platform reads one, and for representatives. */
function loadsOf(route: Route, place: number, isAuthorized: boolean): readonly Load[] {
  const { method, takesPrefer, isPublic } = route
  const loads = getsAll(route) ? kindsOfLoad.flat() : kindsOfLoad.flatMap((kind) => kind[place % kind.length] ?? [])
  const isRead = isAuthorized ? method !== 'GET' || takesPrefer : method !== 'GET' && isPublic
  return isRead || isRepresentative(route) ? loads : loads.filter(({ body }) => body === undefined)
}

function nameOf({ method, path }: Route, { name }: Load): string {
  return `${method} ${path}: ${name}`
}

test('no request without a token blocks the event loop', { timeout: longestMs }, async () => {
  const { slow, statuses } = await attack(
    attacked.flatMap((route, place) =>
      loadsOf(route, place, false).map((load) => ({ route, load, isAuthorized: false })),
    ),
  )
  expect(slow).toEqual([])
  const kindsWithoutBody = kindsOfLoad.filter((kind) => kind.every(({ body }) => body === undefined))
  expect(kindsWithoutBody.length).toBeGreaterThan(5)
  expect(statuses.length).toBeGreaterThanOrEqual(attacked.length * kindsWithoutBody.length)
  expect(attacked.length).toBeGreaterThan(50)
  expect(attacked.filter(isRepresentative)).toHaveLength(representatives.size)
})

// So no request above needs a body to a route that needs a token.
test('no route that needs a token awaits the body of a request without one', async () => {
  const closed = routes.filter(({ method, isPublic }) => method !== 'GET' && !isPublic)
  expect(closed.length).toBeGreaterThan(50)
  const load = { name: 'a stalled body', contentType: 'application/json', body: '{', announcedBytes: 1_000_000 }
  const { statuses } = await attack(closed.map((route) => ({ route, load, isAuthorized: false })))
  expect(statuses.filter((status) => !status.endsWith(' 401'))).toEqual([])
})

test('no request of a client blocks the event loop', { timeout: longestMs }, async () => {
  const { slow, statuses } = await attack(
    attacked.flatMap((route, place) =>
      [...loadsOf(route, place, true), ...loadsOfSchema(document, route.body)].map((load) => ({
        route,
        load,
        isAuthorized: true,
      })),
    ),
  )
  expect(slow).toEqual([])
  expect(statuses.filter((status) => / 5\d\d$/.test(status))).toEqual([])
  // The header Prefer is read where the answer is a record.
  const preferring = routes
    .filter(({ method, takesPrefer }) => method === 'GET' && takesPrefer)
    .map(({ method, path }) => `${method} ${path}: a name and blanks in prefer: 200`)
  expect(preferring.length).toBeGreaterThan(1)
  expect(statuses).toEqual(expect.arrayContaining(preferring))
})

test('no header of a successful write blocks the event loop', async () => {
  const writes = routes.filter(({ method, path }) => method === 'POST' && path === '/v1/clinical-api/cases')
  const body = JSON.stringify({ patient_id: ids.get('patients') })
  const preferring = kindsOfLoad.flat().filter(({ headers }) => headers !== undefined && 'prefer' in headers)
  const { slow, statuses } = await attack(
    writes.flatMap((route) =>
      preferring.map((load) => ({
        route,
        load: { ...load, contentType: 'application/json', body },
        isAuthorized: true,
      })),
    ),
  )
  expect(slow).toEqual([])
  expect(statuses.filter((status) => !status.endsWith(' 201'))).toEqual([])
  expect(statuses.length).toBeGreaterThanOrEqual(4)
})

test('no pattern of a schema takes more than linear time', () => {
  expect(JSON.stringify(document)).toContain('"pattern"')
  expect(superLinearPatterns(document)).toEqual([])
})
