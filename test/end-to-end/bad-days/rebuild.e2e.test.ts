import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { createPool } from '../../../platform/database/database.ts'
import { knownNames, projectorNamed } from '../../../app/projections/known-projectors.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { OperatorLocks } from '../../../engine/rebuild/operator-locks.ts'
import { expecting, registerPatient } from '../../support/main-job.ts'
import { startPlatformHere, waitFor, type PlatformHere } from '../../support/platform.ts'
import { runProgram } from './operator-program.ts'
import { beginProjections, entryOf, projections } from './projections-command.ts'

let platform: PlatformHere
let api: ApiClient
let patientId: string
/** The column of the patient before its correction. */
let planted: unknown

beforeAll(async () => {
  platform = await startPlatformHere({ env: { ESDB_URL: '', LOG_LEVEL: 'silent' } })
  api = await platform.connect()
  patientId = await registerPatient(api, { family_name: 'Planted' })
  const { rows } = await queried('select person from patients.patients where patient_id = $1', patientId)
  planted = at(rows[0], 'person')
  const body = { family_name: 'Truth' }
  await expecting(200, api.call(`/v1/clinical-api/patients/${patientId}`, { method: 'PATCH', body }))
})

afterAll(async () => {
  await platform.stop()
})

const command = (...args: readonly string[]) => projections(platform.dataDir, args)

async function servers(): Promise<unknown> {
  return JSON.parse(await readFile(join(platform.dataDir, 'servers.json'), 'utf8'))
}

async function queried(statement: string, ...values: readonly unknown[]) {
  const client = new Client({ connectionString: textAt(await servers(), 'DATABASE_URL') })
  await client.connect()
  try {
    return await client.query<Record<string, unknown>>(statement, [...values])
  } finally {
    await client.end()
  }
}

/** Changes the read models outside of the projectors. */
async function damage(statement: string, ...values: readonly unknown[]): Promise<void> {
  expect((await queried(statement, ...values)).rowCount).toBe(1)
}

async function servedName(): Promise<string> {
  return textAt((await expecting(200, api.call(`/v1/clinical-api/patients/${patientId}`))).body, 'family_name')
}

describe('a running platform', () => {
  test('is found by its data folder: list and lag show the position of each projector', async () => {
    const { mode } = await stat(join(platform.dataDir, 'servers.json'))
    expect(mode & 0o777).toBe(0o600)
    const listed = runProgram(['npm', 'run', '-s', 'platform', '--', 'projections', 'list'], {
      PLATFORM_DATA_DIR: platform.dataDir,
    })
    const [lag, json, listedJson] = await Promise.all([
      command('lag'),
      command('lag', '--json'),
      command('list', '--json'),
    ])
    expect(await listed.exited).toBe(0)
    expect(listed.output()).toMatch(/^NAME +VERSION +STATUS +POSITION +COPIES\n/)
    expect(listed.output()).toMatch(/\npatients +\d+ +running +\d+\/\d+ +-\n/)
    expect(lag).toMatchObject({ code: 0, err: '' })
    expect(lag.out).toMatch(/\npatients +running +\d+\/\d+ +at the head +\d+ s ago\n/)
    const { version } = projectorNamed('patients')
    expect(entryOf(json, 'patients')).toMatchObject({
      status: 'running',
      at_head: true,
      events_behind: 0,
      is_more: false,
      position: at(JSON.parse(json.out), 'head'),
    })
    expect(entryOf(listedJson, 'patients')).toMatchObject({
      version,
      program_version: version,
      status: 'running',
      copies: [],
      failure: null,
    })
  })

  test('is verified: equal at first, and a damaged row is named by table, key and column, without its content', async () => {
    const all = await command('verify', '--all')
    expect(all).toMatchObject({ code: 0, err: '' })
    expect(all.out.match(/: equal at \d+\/\d+ \(\d+ rows\)/g)).toHaveLength(knownNames.length)

    await damage(`update patients.patients set person = $2 where patient_id = $1`, patientId, planted)
    const verified = await command('verify', 'patients')
    expect(verified).toMatchObject({ code: 1, out: '' })
    expect(verified.err).toContain(`table patients, row patient_id ${patientId}: differs in person`)
    expect(verified.err).not.toMatch(/Planted|Truth/)
    const json = await command('verify', 'patients', '--json')
    expect(json).toMatchObject({ code: 1, err: '' })
    expect(entryOf(json, 'patients')).toMatchObject({
      kind: 'differs',
      difference: { kind: 'changed', table: 'patients', key: { patient_id: patientId }, columns: ['person'] },
    })
    expect(json.out).not.toMatch(/Planted|Truth/)
  })

  test('switches to a different copy only if the difference is accepted, and back and forward until the copy is dropped', async () => {
    expect(await servedName()).toBe('Planted')
    const refused = await command('rebuild', 'patients')
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('patients: not switched')
    expect(refused.err).toContain(`row patient_id ${patientId}: differs in person`)
    expect(refused.err).toContain('projections rebuild patients --accept-difference')
    expect(await servedName()).toBe('Planted')

    const accepted = await command('rebuild', 'patients', '--accept-difference')
    expect(accepted).toMatchObject({ code: 0, err: '' })
    expect(accepted.out).toMatch(/^patients: rebuilt and switched at \d+\/\d+ \(version \d+; 1 rows, different\)/)
    expect(await servedName()).toBe('Truth')
    expect((await command('list')).out).toMatch(/\npatients .*previous \(version \d+, at \d+\/\d+\)\n/)

    const back = await command('rollback', 'patients')
    expect(back).toMatchObject({ code: 0, err: '' })
    expect(back.out).toContain('patients: the previous copy serves again, from ')
    expect(await servedName()).toBe('Planted')
    await waitFor('the projector at the head', async () =>
      at(entryOf(await command('list', '--json'), 'patients'), 'status') === 'running' ? true : undefined,
    )
    const other = await registerPatient(api, { family_name: 'Later' })
    await expecting(200, api.call(`/v1/clinical-api/patients/${other}`))
    expect(await command('rollback', 'patients')).toMatchObject({ code: 0 })
    expect(await servedName()).toBe('Truth')
    await expecting(200, api.call(`/v1/clinical-api/patients/${other}`))

    expect(await command('drop', 'patients')).toMatchObject({
      code: 0,
      out: expect.stringContaining('dropped patients__previous'),
    })
    expect(await command('drop', 'patients')).toMatchObject({ code: 0, out: 'patients has no copy to drop\n' })
    const nothing = await command('rollback', 'patients')
    expect(nothing).toMatchObject({ code: 1, out: '' })
    expect(nothing.err).toMatch(/platform: .*patients/)
    expect(await servedName()).toBe('Truth')
    expect(await command('verify', 'patients')).toMatchObject({ code: 0 })
  })

  test('keeps the serving tables when a rebuild is interrupted, and removes the copy', async () => {
    const pool = createPool({ url: textAt(await servers(), 'DATABASE_URL'), max: 2 })
    // Another transaction locks the checkpoint, so that the switch waits.
    const ended = await inTransaction(pool, async (client) => {
      await client.query(`select from runtime.projectors where name = 'cases' for update`)
      const rebuild = beginProjections(platform.dataDir, ['rebuild', 'cases'])
      await waitFor('a switch that waits', async () => {
        const { rowCount } = await pool.query(
          `select from pg_stat_activity where datname = current_database() and application_name = 'platform projections' and wait_event_type = 'Lock'`,
        )
        return rowCount === 0 ? undefined : true
      })
      rebuild.interrupt()
      return rebuild.ended
    })
    await pool.end()
    expect(ended).toEqual({ code: 1, out: '', err: 'platform: interrupted by SIGINT\n' })
    expect(entryOf(await command('list', '--json'), 'cases')).toMatchObject({ status: 'running', copies: [] })
  })

  test('allows one rebuild of a projector at a time', async () => {
    const pool = createPool({ url: textAt(await servers(), 'DATABASE_URL'), max: 1 })
    const locks = await OperatorLocks.open({ pool })
    await locks.take('cases')
    for (const refused of await Promise.all(
      ['rebuild', 'rollback', 'drop'].map((action) => command(action, 'cases')),
    )) {
      expect(refused).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringContaining('a rebuild of cases is under way'),
      })
    }
    await locks.close()
    await pool.end()
    expect(await command('rebuild', 'cases')).toMatchObject({ code: 0, err: '' })
  })

  test('shows a stopped projector, which `retry` starts again', async () => {
    await damage(`update runtime.projectors set status = 'stopped' where name = $1`, 'cases')
    expect((await command('list')).out).toMatch(/\ncases +\d+ +stopped /)
    const retried = await command('retry', 'cases')
    expect(retried).toMatchObject({ code: 0, err: '' })
    expect(retried.out).toContain('cases continues')
    expect(entryOf(await command('list', '--json'), 'cases')).toMatchObject({ status: 'running' })
  })
})

// Concurrent, because the timeout of an event store that does not answer is long.
describe('a command that cannot run ends with 1 and names the reason', { concurrent: true }, () => {
  test('without a platform over the data folder, every missing variable is named', async () => {
    const { code, out, err } = await projections(join(platform.dataDir, 'nowhere'), ['list'])
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain('projections needs ESDB_URL, DATABASE_URL, VAULT_DATABASE_URL, MASTER_KEYS')
    expect(err).toContain(`no platform runs over ${join(platform.dataDir, 'nowhere')}`)
  })

  test('an event store other than that of the running platform is refused, because its events would fill the wrong tables', async () => {
    const { code, err } = await projections(platform.dataDir, ['lag'], { ESDB_URL: 'esdb://127.0.0.1:2113?tls=false' })
    expect(code).toBe(1)
    expect(err).toContain('not those of the platform over')
  })

  test('a server that does not answer is named by its variable', async () => {
    const given = (await servers()) as Record<string, string>
    const port = await freePort()
    const env = { ...given, MASTER_KEYS: (await readFile(join(platform.dataDir, 'master-keys'), 'utf8')).trim() }
    const nobody = `postgres://nobody@127.0.0.1:${port}/none`
    const noStore = { ...env, ESDB_URL: `esdb://127.0.0.1:${port}?tls=false` }
    const [noDatabase, noVault, listed, lag] = await Promise.all([
      projections('', ['list'], { ...env, DATABASE_URL: nobody }),
      projections('', ['verify', 'cases'], { ...env, VAULT_DATABASE_URL: nobody }),
      projections('', ['list'], noStore),
      projections('', ['lag'], noStore),
    ])
    expect(noDatabase).toMatchObject({
      code: 1,
      err: expect.stringContaining('platform: the server of DATABASE_URL does not answer (ECONNREFUSED)'),
    })
    expect(noVault).toMatchObject({
      code: 1,
      err: expect.stringContaining('platform: the server of VAULT_DATABASE_URL does not answer (ECONNREFUSED)'),
    })
    expect(listed).toMatchObject({ code: 0, err: '' })
    expect(lag).toMatchObject({
      code: 1,
      err: expect.stringContaining('platform: the server of ESDB_URL does not answer'),
    })
  })

  // `test/app/projections/orders.unit.test.ts` has the other refusals.
  test('wrong usage ends with 2 and names the reason', async () => {
    const { code, out, err } = await beginProjections(platform.dataDir, ['stop', 'cases']).ended
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain("unknown command 'stop'")
  })
})

test('a stopped platform is not found', async () => {
  expect(await platform.process.stop()).toBe(0)
  expect(await command('list')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('no platform runs over'),
  })
})
