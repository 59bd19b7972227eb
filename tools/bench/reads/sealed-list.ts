import { createSecretKey } from 'node:crypto'
import { Type } from 'typebox'
import { textAt } from '../../../app/demo/members.ts'
import { translateStageError } from '../../../app/stage-errors.ts'
import { PatientRecord, toPatientRecord } from '../../../contracts/clinical/patients.ts'
import { defineProjector, defineTable, type ViewOf } from '../../../engine/projections/projector.ts'
import { prepareProjector } from '../../../engine/projections/schema.ts'
import { listRoute } from '../../../engine/reads/list-route.ts'
import { opened, openedView, type Keys } from '../../../engine/reads/opened.ts'
import { atRevision, readRoute } from '../../../engine/reads/read-route.ts'
import { pageOf, rowsOfTenant, sortOrder, tableOf, viewByIds, viewsOf } from '../../../engine/reads/tenant-rows.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { createActorReader } from '../../../platform/http/actor-readers.ts'
import { createApplication } from '../../../platform/http/application.ts'
import { createCursors, type PageRequest } from '../../../platform/http/cursors.ts'
import { Uuid } from '../../../platform/http/members.ts'
import { problem } from '../../../platform/http/problems.ts'
import type { Service } from '../../../platform/http/service.ts'
import { createTokenIssuer } from '../../../platform/http/tokens.ts'
import type { SubjectKey } from '../../../platform/kit/key-vault.ts'
import { tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'
import { createHealth } from '../../../platform/observability/health.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { createMetrics } from '../../../platform/observability/metrics.ts'
import { patientsProjector, patientsTable } from '../../../projections/clinical/patients.projector.ts'
import { PatientIdentifier } from '../../../streams/patient/events.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { createApiClient } from '../../../test/support/raw-api.ts'
import { bearerOf } from '../commands/assessments.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { gets } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'

const inFlight = 16
const patients = 50
const sides = ['sealed', 'first', 'clear'] as const

/** The same rows as `patients.patients`, with personal members in the clear. */
const clearTable = defineTable({
  name: 'patients',
  columns: {
    patient_id: 'uuid',
    org_id: 'uuid',
    given_name: 'text',
    family_name: 'text',
    dob: 'text',
    identifiers: { type: 'jsonb', schema: Type.Array(PatientIdentifier) },
    registered_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['patient_id'],
})
const clearProjector = defineProjector<never>()({ name: 'clear', version: 1, tables: [clearTable], handlers: {} })

const p = tableOf(patientsProjector, patientsTable, 'p')
const c = tableOf(clearProjector, clearTable, 'c')

/**
 * The same two routes over sealed rows and over rows in the clear. No route of the platform lists patients without an identifier,
 * so the benchmark declares one, in its own process. `first` imports each key anew, so it opens each member in each answer.
 */
export const sealedList: Benchmark = {
  name: 'sealed-list',
  goals: ['41'],
  about: 'list of 50 patients and GET by id with sealed members, over the same rows in the clear, 16 connections',
  run: async ({ quick }, { compare }) => {
    const [ofLists, ofIds] = quick ? [300, 3_000] : [2_000, 20_000]
    await withScope(async ({ folder, started, atEnd }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'] }))
      const orgId = tenantOfFact(platform.credentials.org_id)
      const ids = await register(platform)
      const pool = createPool({ url: platform.databaseUrl })
      atEnd(() => pool.end())
      await copyInTheClear(pool, platform, orgId)
      const { baseUrl } = await started(serve(pool, platform))
      const driver = await started(startDriver())
      const job = (paths: readonly string[], count: number) =>
        gets({ baseUrl, paths, headers: platform.headers, count, inFlight })
      const answers = await Promise.all(
        sides.map(async (side) => {
          const answer = await fetch(`${baseUrl}/v1/clinical-api/${side}?limit=50`, { headers: platform.headers })
          return (await answer.text()).replaceAll(side, 'side')
        }),
      )
      if (new Set(answers).size !== 1 || !answers[0]?.includes(`Example ${patients - 1}`))
        throw new Error(`the lists differ: ${answers.join('\n')}`)
      const measure = (side: (typeof sides)[number]) => async () => {
        const figures: number[] = []
        for (const [paths, count] of [
          [[`/v1/clinical-api/${side}?limit=50`], ofLists],
          [ids.map((id) => `/v1/clinical-api/${side}/${id}`), ofIds],
        ] as const) {
          const before = process.cpuUsage()
          const { perSecond } = await driver.run(job(paths, count))
          const { user, system } = process.cpuUsage(before)
          figures.push(perSecond, (count * 1e6) / (user + system))
        }
        return figures
      }
      for (const [side, about, goal] of [
        ['sealed', 'polled', atLeast(0.85, { reached: 0.75 })],
        ['first', 'for the first time', { kind: 'none' }],
      ] as const)
        await compare({
          goal: '41',
          figures: ['list of 50 patients', 'GET by id'].flatMap((name) =>
            ['per second', 'per second of processor time'].map((unit) => ({ name: `${name}, ${about}`, unit, goal })),
          ),
          ours: { name: side, measure: measure(side) },
          other: { name: 'clear', measure: measure('clear') },
        })
    })
  },
}

/** Registers the patients. Resolves to their ids when the row of each exists. */
async function register(platform: BenchPlatform): Promise<readonly string[]> {
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const ids: string[] = []
  for (let number = 0; number < patients; number += 1) {
    const identifiers = [{ scheme: 'urn:oid:1.2.36.146.595.217.0.1', value: `12345-${number}` }]
    const body = { given_name: 'Ada', family_name: `Example ${number}`, dob: '1980-02-29', identifiers }
    ids.push(textAt((await expecting(201, api.call('/v1/clinical-api/patients', { body }))).body, 'id'))
  }
  return ids
}

async function copyInTheClear(pool: Pool, { vault }: BenchPlatform, orgId: TenantId): Promise<void> {
  await inTransaction(pool, (client) => prepareProjector(client, clearProjector))
  const rows = await opened(vault, await viewsOf(pool, rowsOfTenant(p, orgId)))
  for (const { person, ...row } of rows)
    await pool.query('insert into clear.patients values ($1, $2, $3, $4, $5, $6, $7, $8, $9)', [
      row.patientId,
      orgId,
      person?.givenName,
      person?.familyName,
      person?.dob,
      JSON.stringify(person?.identifiers),
      row.registeredAt,
      row.updatedAt,
      row.streamRevision,
    ])
}

/** An API of this process with the routes of both sides. It takes the tokens of the platform. */
async function serve(pool: Pool, { vault, baseUrl }: BenchPlatform) {
  const configuration = loadConfiguration({ BASE_URL: baseUrl })
  const health = createHealth({ profile: configuration.profile })
  const tokens = createTokenIssuer({
    keys: vault,
    issuer: `${baseUrl}/v1/auth`,
    audience: baseUrl,
    ttlSeconds: configuration.tokenTtlSeconds,
  })
  const app = await createApplication({
    configuration: { ...configuration, rateLimits: 'off' },
    logger: createLogger({ level: 'silent' }),
    health,
    metrics: createMetrics({ health }),
    services: [routesOver(pool, vault)],
    verifyToken: (token) => tokens.verify(token),
    actors: createActorReader({
      configuration,
      now: () => new Date(),
      ownKeys: async () => [],
      resolve: () => Promise.reject(problem('actor-context-unavailable')),
    }),
    translateError: translateStageError,
    pseudonymOf: (text) => text,
    readYourWrites: async () => ({ caughtUp: true }),
  })
  return { baseUrl: await app.listen({ host: '127.0.0.1', port: 0 }), stop: () => app.close() }
}

function withPerson({ givenName, familyName, dob, identifiers, ...row }: ViewOf<typeof clearTable>) {
  return { ...row, person: { givenName, familyName, dob, identifiers } }
}

function routesOver(pool: Pool, vault: BenchPlatform['vault']): Service {
  const deps = { cursors: createCursors({ key: new Uint8Array(32) }) }
  const sealedRow = viewByIds((tenant: TenantId, id: string) => rowsOfTenant(p, tenant).where(p.patientId, id))
  const clearRow = viewByIds((tenant: TenantId, id: string) => rowsOfTenant(c, tenant).where(c.patientId, id))
  const sealedOrder = sortOrder('asc', p.registeredAt, p.patientId)
  const clearOrder = sortOrder('asc', c.registeredAt, c.patientId)
  const openedBy = (keys: Keys) => ({
    find: async (tenant: TenantId, id: string) => openedView(keys, await sealedRow(pool, tenant, id)),
    list: async (tenant: TenantId, page: PageRequest) => {
      const found = await pageOf(pool, sealedOrder, rowsOfTenant(p, tenant), page)
      return { ...found, rows: await opened(keys, found.rows) }
    },
  })
  const imported = (key: SubjectKey) => (key === 'destroyed' ? key : createSecretKey(key.export()))
  const sources = {
    sealed: openedBy(vault),
    first: openedBy({
      cachedSubjectKey: () => undefined,
      subjectKeyForReading: async (orgId, subjectId) => imported(await vault.subjectKeyForReading(orgId, subjectId)),
    }),
    clear: {
      find: async (tenant: TenantId, id: string) => withPerson(await clearRow(pool, tenant, id)),
      list: async (tenant: TenantId, page: PageRequest) => {
        const found = await pageOf(pool, clearOrder, rowsOfTenant(c, tenant), page)
        return { ...found, rows: found.rows.map(withPerson) }
      },
    },
  }
  return {
    prefix: 'clinical-api',
    documentedAt: 'prefixed',
    routes(app) {
      for (const side of sides) {
        const { find, list } = sources[side]
        const shared = { access: { scopes: ['patients:read'] }, servedBy: [], summary: side } as const
        listRoute(app, deps, {
          ...shared,
          path: `/${side}`,
          operationId: `list-${side}`,
          list: side,
          sort: 'registered_at',
          pageName: `${side}-page`,
          item: PatientRecord,
          rows: ({ tenant }, page) => list(tenant, page),
          placeOf: sealedOrder.placeOf,
          toItem: toPatientRecord,
          shows: ({ patientId }) => ({ patientId }),
        })
        readRoute(app, {
          ...shared,
          path: `/${side}/:id`,
          operationId: `get-${side}`,
          params: { id: Uuid },
          reply: PatientRecord,
          shows: ({ id: patientId }) => ({ patientId }),
          find: async ({ tenant, params }) => atRevision(await find(tenant, params.id), toPatientRecord),
        })
      }
    },
  }
}
