import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readSystems, storeOutsideCalls } from '../../../app/operations/outside-systems.ts'
import { readProcesses, showSignsOfLife } from '../../../app/operations/signs-of-life.ts'
import { probeSystems, systemProbes } from '../../../app/operations/system-probes.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { appTables } from '../../../app/runtime-tables.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { contractVersion } from '../../../platform/http/common-headers.ts'
import { createHealth } from '../../../platform/observability/health.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { OutsideCalls } from '../../../platform/outbound/outside-calls.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { eventually } from '../../support/eventually.ts'

const logger = createLogger({ level: 'silent' })
let database: FreshDatabase
let pool: Pool
const closers: (() => Promise<void>)[] = []

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 4 })
  await ensureRuntimeSchema(pool, appTables)
})
beforeEach(async () => {
  await pool.query('truncate runtime.outside_systems, runtime.processes')
})
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const systemNamed = async (name: string) => (await readSystems(pool)).find((system) => system.name === name)

describe('systems outside', () => {
  /** A process that stores what it sees. */
  function process() {
    const calls = new OutsideCalls()
    const stored = storeOutsideCalls({ calls, pool, logger, everyMs: 20 })
    closers.push(() => stored.close())
    return { calls, fail: () => calls.begin('chat').end({ status: 503 }) }
  }

  it('fail after three calls in a row that failed, in any processes, until one succeeds in any', async () => {
    expect(await systemNamed('chat')).toMatchObject({ status: 'unused', failures: 0, lastSuccessAt: null })
    const one = process()
    const other = process()
    one.fail()
    one.fail()
    const two = { status: 'ok', failures: 2 }
    await eventually(async () => expect(await systemNamed('chat')).toMatchObject(two))
    other.fail()
    const failing = { status: 'failing', failures: 3, error: { class: 'Answer', code: '503', host: null } }
    await eventually(async () => expect(await systemNamed('chat')).toMatchObject(failing))
    expect((await systemNamed('chat'))?.failingSince).toBeInstanceOf(Date)
    other.calls.begin('chat').end({ status: 200 })
    const well = { status: 'ok', failures: 0, failingSince: null, error: null }
    await eventually(async () => expect(await systemNamed('chat')).toMatchObject(well))
    expect((await systemNamed('chat'))?.lastSuccessAt).toBeInstanceOf(Date)
  })

  it('keep their news while the database is away', async () => {
    const calls = new OutsideCalls()
    const away = createPool({ url: 'postgres://nobody@127.0.0.1:1/none', max: 1 })
    const lost = storeOutsideCalls({ calls, pool: away, logger, everyMs: 10 })
    for (let time = 0; time < 3; time += 1) calls.begin('mail').end({ status: 500 })
    await lost.first
    await lost.close()
    await away.end()
    await storeOutsideCalls({ calls, pool, logger }).close()
    expect(await systemNamed('mail')).toMatchObject({ status: 'failing', failures: 3 })
  })

  it('are called again by themselves after a call without an answer, until they answer', async () => {
    let isHanging = true
    const server = createServer((_, response) => {
      if (!isHanging) response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const calls = new OutsideCalls()
    const objects = connectObjectStore({
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: 'local',
      bucket: 'bucket',
      accessKeyId: 'access',
      secretAccessKey: 'secret',
      now: () => new Date(),
      calls,
    })
    const probes = systemProbes({ objects, processor: undefined, identityProvider: undefined })
    const running = [probeSystems({ calls, probes, logger }), storeOutsideCalls({ calls, pool, logger, everyMs: 50 })]
    closers.push(...running.map((each) => () => each.close()), async () => {
      objects.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => void server.close(() => resolve()))
    })
    const caller = new AbortController()
    // A piece of work that waits much longer than operators should.
    const work = objects.head('image', caller.signal).catch(() => undefined)
    const failing = { status: 'failing', error: { class: 'DOMException', code: 'timeout' } }
    await eventually(async () => expect(await systemNamed('object_store')).toMatchObject(failing))
    isHanging = false
    caller.abort()
    await work
    const well = { status: 'ok', failures: 0 }
    await eventually(async () => expect(await systemNamed('object_store')).toMatchObject(well))
  })
})

describe('processes', () => {
  it('show that they run with their checks, and leave the list at an orderly stop', async () => {
    const health = createHealth({ profile: 'production' })
    let status: 'ok' | 'failing' = 'ok'
    health.register({ name: 'database', gatesReadiness: true, run: () => ({ status: 'ok' }) })
    health.register({ name: 'provider', gatesReadiness: false, run: () => ({ status, detail: 'a detail' }) })
    const clock = { at: new Date('2030-01-01T00:00:00.000Z') }
    const given = { id: randomUUID(), roles: ['api'], health, pool, logger, now: () => clock.at, everyMs: 10 }
    const life = showSignsOfLife(given)
    await life.first
    const checks = (provider: object) => [
      { name: 'database', status: 'ok', detail: null, since: '2030-01-01T00:00:00.000Z' },
      { name: 'provider', detail: 'a detail', ...provider },
    ]
    const [process] = await readProcesses(pool)
    expect(process).toMatchObject({ id: given.id, roles: ['api'], version: contractVersion, profile: 'production' })
    expect(process).toMatchObject({ startedAt: clock.at, status: 'running' })
    expect(process?.checks).toEqual(checks({ status: 'ok', since: '2030-01-01T00:00:00.000Z' }))
    clock.at = new Date('2030-01-01T00:00:05.000Z')
    status = 'failing'
    await eventually(async () => {
      const [later] = await readProcesses(pool)
      expect(later?.checks).toEqual(checks({ status: 'failing', since: '2030-01-01T00:00:05.000Z' }))
    })
    await life.close()
    expect(await readProcesses(pool)).toEqual([])
  })

  it('are silent after 15 seconds, and forgotten after ten minutes', async () => {
    const [running = '', silent = '', forgotten = ''] = Array.from({ length: 3 }, () => randomUUID() as string)
    const insert = (id: string, seconds: number) =>
      pool.query(
        `insert into runtime.processes values ($1, '{projector}', '1', 'production', now(), now() - make_interval(secs => $2), '[]')`,
        [id, seconds],
      )
    await insert(running, 10)
    await insert(silent, 20)
    await insert(forgotten, 601)
    const found = (await readProcesses(pool)).map(({ id, status }): [string, string] => [id, status])
    expect(new Map(found)).toEqual(
      new Map([
        [running, 'running'],
        [silent, 'silent'],
      ]),
    )
    const health = createHealth({ profile: 'production' })
    const life = showSignsOfLife({ id: randomUUID(), roles: [], health, pool, logger, now: () => new Date() })
    await life.first
    await life.close()
    const { rows } = await pool.query<{ id: string }>('select id from runtime.processes')
    expect(rows.map(({ id }) => id).toSorted()).toEqual([running, silent].toSorted())
  })
})
