import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { copyPrepared, keepPrepared, preparedName } from '../../../embedded/postgres/prepared-cluster.ts'
import { startPostgres, type EmbeddedPostgres } from '../../../embedded/postgres/start-postgres.ts'

let folder: string
let cluster: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'prepared-'))
  cluster = join(folder, 'cluster')
  await mkdir(join(cluster, 'base'), { recursive: true })
  await writeFile(join(cluster, 'base', 'table'), 'content', { mode: 0o600 })
  await writeFile(join(folder, 'file'), '')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const written = async () => undefined

test('a kept cluster is copied for its owner only, and replaces those of other versions', async () => {
  const kept = join(folder, 'kept')
  const copy = join(folder, 'copy')
  const [older, newer] = [preparedName('17', []), preparedName('18', [])]
  await keepPrepared(cluster, older, written, [kept])
  await keepPrepared(cluster, newer, written, [kept])
  expect(await readdir(kept)).toEqual([newer])
  expect([await copyPrepared(older, copy, [kept]), await copyPrepared(newer, copy, [kept])]).toEqual([false, true])
  expect(await readFile(join(copy, 'base', 'table'), 'utf8')).toBe('content')
  const modes = await Promise.all(
    [copy, join(copy, 'base'), join(copy, 'base', 'table')].map(async (path) => (await stat(path)).mode & 0o777),
  )
  expect(modes).toEqual([0o700, 0o700, 0o600])
})

test('starts at the same time keep one whole cluster', async () => {
  const kept = join(folder, 'kept')
  const name = preparedName('18', [])
  await Promise.all(Array.from({ length: 5 }, () => keepPrepared(cluster, name, written, [kept])))
  expect(await readdir(kept)).toEqual([name])
  expect(await copyPrepared(name, join(folder, 'copy'), [kept])).toBe(true)
})

test('a cluster that did not reach the disk is not kept', async () => {
  const kept = join(folder, 'kept')
  const full = () => Promise.reject(new Error('no room'))
  await keepPrepared(cluster, preparedName('18', []), full, [kept])
  expect(await readdir(kept)).toEqual([])
})

test('the next folder is used if the first cannot be written; without one nothing is kept', async () => {
  const [unwritable, kept] = [join(folder, 'file', 'below'), join(folder, 'kept')]
  const name = preparedName('18', [])
  await keepPrepared(cluster, name, written, [unwritable])
  expect(await copyPrepared(name, join(folder, 'copy'), [unwritable])).toBe(false)
  await keepPrepared(cluster, name, written, [unwritable, kept])
  expect(await copyPrepared(name, join(folder, 'copy'), [unwritable, kept])).toBe(true)
})

test('installations are copies of one kept cluster, and have passwords of their own', async () => {
  const servers: EmbeddedPostgres[] = []
  try {
    // One after the other: the first start of a machine keeps the cluster that the second one copies.
    for (const password of ['first', "second's \\ one"]) {
      const options = { dataDir: join(folder, String(servers.length)), port: await freePort(), password, databases: [] }
      servers.push(await startPostgres({ ...options, durable: false }))
    }
    const [first, second] = servers.map((server) => new URL(server.url('postgres')))
    const identifier = await answer(first)
    expect(identifier).toMatch(/^\d+$/)
    expect(await answer(second)).toBe(identifier)
    if (first !== undefined && second !== undefined) first.password = second.password
    expect(await answer(first)).toContain('password authentication failed')
  } finally {
    for (const server of servers) await server.stop()
  }
})

/** The identifier that `initdb` gave the cluster, or why there is no connection. */
async function answer(url: URL | undefined): Promise<string> {
  const client = new Client({ connectionString: url?.href ?? '' })
  try {
    await client.connect()
    const { rows } = await client.query<{ system_identifier: string }>(
      'select system_identifier from pg_control_system()',
    )
    return rows[0]?.system_identifier ?? ''
  } catch (error) {
    return String(error)
  } finally {
    await client.end()
  }
}
