import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { startPostgres, type EmbeddedPostgres } from '../../../embedded/postgres/start-postgres.ts'
import { isDatabaseUnavailable } from '../../../platform/database/database.ts'
import { waitFor } from '../../support/platform.ts'
import { limitFileSize } from '../../../tools/faults/file-size-limit.ts'

let dataDir: string
let server: EmbeddedPostgres

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'full-disk-'))
  server = await startPostgres({ dataDir, port: await freePort(), password: 'secret', databases: ['platform'] })
})

afterEach(async () => {
  await server.stop()
  await rm(dataDir, { recursive: true, force: true })
})

async function query(text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: server.url('platform') })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function serverPid(): Promise<number> {
  return Number((await readFile(join(dataDir, 'cluster', 'postmaster.pid'), 'utf8')).split('\n')[0])
}

test('a server that a full disk ended, also during recovery, starts again with all committed data', async () => {
  await query('create table kept as select 7 as n')
  const first = await serverPid()
  let isHolderGone = false
  void server.exited.then(() => (isHolderGone = true))
  await limitFileSize(first, 64 << 10)
  const refusal: unknown = await query('create table lost as select 8 as n').then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(isDatabaseUnavailable(refusal)).toBe(true)

  // The server may refuse statements before it ends: only a write of its log ends it. A checkpoint would not do. The process that
  // writes it is older than the limit, and also makes the next file of the log. Then a recovery fails and begins again for ever.
  let statements = 0
  await waitFor(
    'another server',
    async () => {
      statements += 1
      await query(`create table lost_${statements} as select 8 as n`).catch(() => undefined)
      const pid = await serverPid().catch(() => first)
      return pid === first ? undefined : pid
    },
    90_000,
  )
  const rows = await waitFor('a server that answers', () => query('select n from kept').catch(() => undefined), 90_000)
  expect(rows).toEqual([{ n: 7 }])
  await query('create table more as select 9 as n')
  expect(isHolderGone).toBe(false)
})
