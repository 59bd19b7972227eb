import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCommand } from '../../../app/command-line.ts'
import { runWork } from '../../../app/operations/work-command.ts'
import { createProjector, ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { appTables } from '../../../app/runtime-tables.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { processes } from '../../../processes/registry.ts'
import { readModels } from '../../../projections/registry.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'

let database: FreshDatabases
let pool: Pool
const org = randomUUID()
const keys = [randomUUID(), randomUUID(), randomUUID()]

beforeAll(async () => {
  database = await freshDatabases()
  pool = createPool({ url: database.url, max: 4 })
  await ensureRuntimeSchema(pool, appTables)
  for (const projector of [...processes.map(({ list }) => list), ...readModels])
    await inTransaction(pool, (client) => createProjector(client, projector, 'running'))
  for (const [place, key] of keys.entries())
    await pool.query(
      `insert into assessments_todo.todo (key, step, org_id, due_at, payload) values ($1, 'conclude', $2, now() - make_interval(secs => $3), '{}')`,
      [key, org, 30 - place],
    )
  for (const key of keys.slice(1))
    await pool.query(
      `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures,
         error_class, error_code, error_host, first_failed_at, last_failed_at, failed_version)
       values ('assessments', $1, 'conclude', 'worker', '-infinity', '-infinity', 0, 0, 2, 'EgressError', 'ECONNREFUSED', 'provider.test', now(), now(), '1.0.0')`,
      [key],
    )
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** What a command line prints, with servers of which only the database is there. */
async function printed(...args: readonly string[]) {
  const command = await readCommand(args)
  if (command.name !== 'work') throw new Error(`not understood: ${JSON.stringify(command)}`)
  return runWork(command.order, {
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
    ESDB_URL: 'esdb://127.0.0.1:1',
    MASTER_KEYS: `one:${randomBytes(32).toString('base64')}`,
  })
}

interface PageOf {
  readonly data: readonly { readonly id: string; readonly subject: { readonly id: string } | null }[]
  readonly next_cursor: string | null
  readonly has_more: boolean
}
async function json<Shape = PageOf>(...args: readonly string[]): Promise<Shape> {
  const { text, code } = await printed(...args, '--json')
  expect(code).toBe(0)
  return JSON.parse(text) as Shape
}

test('steps list shows work by pages, with the filters of the route', async () => {
  const first = await json('steps', 'list', '--limit', '2')
  expect(first.data.map(({ subject }) => subject?.id)).toEqual(keys.slice(0, 2))
  expect(first.has_more).toBe(true)
  const second = await json('steps', 'list', '--limit', '2', '--cursor', first.next_cursor ?? '')
  expect([second.data.map(({ subject }) => subject?.id), second.next_cursor, second.has_more]).toEqual([
    keys.slice(2),
    null,
    false,
  ])
  expect((await json('steps', 'list', '--state', 'failing,leased')).data).toHaveLength(2)
  expect((await json('steps', 'list', '--org', randomUUID())).data).toEqual([])
  expect((await json('steps', 'list', '--process', 'assessments', '--step', 'conclude')).data).toHaveLength(3)
  expect((await json('deliveries')).data).toEqual([])
  expect((await printed('deliveries')).text).toBe('none')
  const { text } = await printed('steps', 'list', '--limit', '1')
  expect(text).toMatch(/^ID +WORK +STATE/)
  expect(text).toContain(`assessment ${keys[0]}`)
  expect(text).toMatch(/\nmore: --cursor \S+$/)
})

test('groups list and show name what fails, how often and an example', async () => {
  const { data } = await json('groups', 'list')
  expect(data).toMatchObject([{ process: 'assessments', step: 'conclude', count: 2, organisations: 1 }])
  const id = data[0]?.id ?? ''
  expect((await printed('groups', 'show', id)).text).toContain('EgressError ECONNREFUSED provider.test')
  expect((await json('steps', 'list', '--failing-with', id)).data).toHaveLength(2)
})

test('relays shows each channel, also without a process', async () => {
  const { data, has_more: hasMore } = await json<{ data: { channel: string; state: string }[]; has_more: boolean }>(
    'relays',
  )
  expect(data).toContainEqual({ channel: 'consent.events', state: 'closed', position: null, seconds_since_move: null })
  expect([data.map(({ channel }) => channel), hasMore]).toEqual([data.map(({ channel }) => channel).toSorted(), false])
  expect((await printed('relays', '--limit', '1')).text).toMatch(/^CHANNEL +STATE[\s\S]*\nmore: --cursor \S+$/)
})

test('steps show prints one item; an unknown one is exit code 1', async () => {
  const [item] = (await json('steps', 'list')).data
  expect(await json('steps', 'show', item?.id ?? '')).toEqual({ ...item, retry: null })
  const unknown = randomUUID()
  for (const name of ['steps', 'groups'])
    for (const verb of ['show', 'retry'])
      expect(await printed(name, verb, unknown)).toEqual({
        text: `there is no ${unknown} any more, or it never was`,
        code: 1,
        isRefusal: true,
      })
  const { text, code } = await printed('steps', 'retry', item?.id ?? '')
  expect([text, code]).toEqual([`${item?.id}: The work does not fail`, 1])
})

test.each([
  [['--cursor', 'abc'], '--cursor is none that this command printed'],
  [['--cursor', Buffer.from('["x","y"]').toString('base64url')], '--cursor is none that this command printed'],
])('steps list %j is refused', async (args, reason) => {
  await expect(printed('steps', 'list', ...args)).rejects.toThrow(reason)
})

test.each([
  [['steps'], 'steps takes a command'],
  [['steps', 'remove'], "unknown command 'remove'"],
  [['steps', 'show'], "missing required argument 'id'"],
  [['groups', 'show', 'one'], "'one' is invalid for argument 'id'. It must be a UUID."],
  [['groups', 'retry'], "missing required argument 'id'"],
  [['steps', 'retry', randomUUID(), '--reason', ''], 'It must be 1 to 500 characters.'],
  [['steps', 'list', '--limit', '0'], 'It must be a number from 1 to 200.'],
  [['steps', 'list', '--kind', 'mail'], 'Allowed choices are step, delivery, '],
  [['steps', 'list', '--state', 'due,gone'], 'It must be one of due, waiting, '],
  [
    ['steps', 'list', '--process', 'nobody'],
    "'nobody' is invalid. Allowed choices are ai_review, assessments, clinical,",
  ],
  [['deliveries', '--process', 'assessments', '--step', 'deliver'], 'assessments has no step deliver: its steps are '],
  [['deliveries', '--kind', 'step'], "unknown option '--kind'"],
  [['groups', 'list', '--state', 'due'], "unknown option '--state'"],
  [['relays', '--org', randomUUID()], "unknown option '--org'"],
  [['deliveries', '--org', 'ours'], 'It must be a UUID.'],
])('%j is not understood', async (args, reason) => {
  expect(await readCommand(args)).toEqual({ name: 'wrong', reason: expect.stringContaining(reason) })
})
