import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, test, vi, type TestContext } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { endStalePostmaster } from '../../../embedded/postgres/stale-postmaster.ts'
import { type EmbeddedPostgres, startPostgres } from '../../../embedded/postgres/start-postgres.ts'
import { descendantsOf } from '../../end-to-end/bad-days/child-processes.ts'
import { eventually } from '../../support/eventually.ts'

const PASSWORD = 'p@ss/wörd'

/** A folder for one test, and its servers, which end with the test. Tests run side by side. */
async function ownServers({ onTestFinished }: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'))
  const running: EmbeddedPostgres[] = []
  onTestFinished(async () => {
    for (const server of running) await server.stop()
    await rm(folder, { recursive: true, force: true })
  })
  return {
    folder,
    start: async (
      port: number,
      databases: readonly string[] = ['platform', 'vault'],
      onLog?: (line: string) => void,
    ): Promise<EmbeddedPostgres> => {
      const server = await startPostgres({
        dataDir: folder,
        port,
        password: PASSWORD,
        databases,
        ...(onLog === undefined ? {} : { onLog }),
      })
      running.push(server)
      return server
    },
    postmasterPid: async (): Promise<number> =>
      Number((await readFile(join(folder, 'cluster', 'postmaster.pid'), 'utf8')).split('\n')[0]),
  }
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test.concurrent('has the requested databases, durable, in UTF-8 with a fixed order, on loopback with a password', async (context) => {
  const { start } = await ownServers(context)
  const server = await start(await freePort())

  const rows = await query(
    server.url('vault'),
    `
    SELECT datname, pg_encoding_to_char(encoding) AS encoding, datlocprovider::text AS provider, datlocale
    FROM pg_database WHERE datname IN ('platform', 'vault') ORDER BY datname`,
  )
  expect(rows).toEqual(
    ['platform', 'vault'].map((datname) => ({ datname, encoding: 'UTF8', provider: 'b', datlocale: 'C.UTF-8' })),
  )
  const settings = await query(
    server.url('platform'),
    `
    SELECT name, setting FROM pg_settings
    WHERE name IN ('fsync', 'full_page_writes', 'listen_addresses', 'scram_iterations', 'synchronous_commit', 'unix_socket_directories')
    ORDER BY name`,
  )
  expect(settings.map((row) => row['setting'])).toEqual(['on', 'on', '127.0.0.1', '4096', 'on', ''])

  const wrong = new URL(server.url('vault'))
  wrong.password = 'guess'
  await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed')
})

test.concurrent('keeps its data, and creates a dropped database again at the next start', async (context) => {
  const { start } = await ownServers(context)
  const port = await freePort()
  const first = await start(port)
  await query(first.url('vault'), 'CREATE TABLE keys AS SELECT 7 AS n')
  await query(first.url('platform'), 'CREATE TABLE views AS SELECT 7 AS n')
  await query(first.url('postgres'), 'DROP DATABASE platform WITH (FORCE)')
  await first.stop()
  expect(await first.exited).toBe(0)

  const second = await start(port)
  expect(await query(second.url('vault'), 'SELECT n FROM keys')).toEqual([{ n: 7 }])
  await expect(query(second.url('platform'), 'SELECT n FROM views')).rejects.toThrow('does not exist')
})

test.concurrent('a killed holder ends its server', async (context) => {
  const { start, postmasterPid } = await ownServers(context)
  const port = await freePort()
  const first = await start(port, ['vault'])
  await query(first.url('vault'), 'CREATE TABLE keys AS SELECT 7 AS n')
  const postmaster = await postmasterPid()
  process.kill(first.pid, 'SIGKILL')
  await first.exited
  await eventually(() => expect(isAlive(postmaster)).toBe(false))

  const second = await start(port, ['vault'])
  expect(await query(second.url('vault'), 'SELECT n FROM keys')).toEqual([{ n: 7 }])
})

test.concurrent('the next start ends a server that was still left running, and keeps its committed data', async (context) => {
  const { start, postmasterPid } = await ownServers(context)
  const port = await freePort()
  const first = await start(port, ['vault'])
  await query(first.url('vault'), 'CREATE TABLE keys AS SELECT 7 AS n')
  const orphan = await postmasterPid()
  const watcher = (await descendantsOf(first.pid)).find(({ command }) => command.includes('kill -INT'))
  process.kill(watcher?.pid ?? Number.NaN, 'SIGKILL')
  process.kill(first.pid, 'SIGKILL')
  await first.exited
  expect(isAlive(orphan)).toBe(true)

  const second = await start(port, ['vault'])
  expect(isAlive(orphan)).toBe(false)
  expect(await query(second.url('vault'), 'SELECT n FROM keys')).toEqual([{ n: 7 }])
})

test.concurrent('a killed server process ends its holder, and the next start recovers', async (context) => {
  const { start, postmasterPid } = await ownServers(context)
  const port = await freePort()
  const first = await start(port, ['vault'])
  await query(first.url('vault'), 'CREATE TABLE keys AS SELECT 7 AS n')
  process.kill(await postmasterPid(), 'SIGKILL')
  expect(await first.exited).toBe(1)

  const second = await start(port, ['vault'])
  expect(await query(second.url('vault'), 'SELECT n FROM keys')).toEqual([{ n: 7 }])
})

test.concurrent('the next start ends a process that did not notice the end of its killed server', async (context) => {
  const { start, postmasterPid } = await ownServers(context)
  const port = await freePort()
  const first = await start(port, ['vault'])
  const client = new Client({ connectionString: first.url('vault') })
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const orphan = rows[0]?.pid ?? Number.NaN
  process.kill(orphan, 'SIGSTOP')
  process.kill(await postmasterPid(), 'SIGKILL')
  expect(await first.exited).toBe(1)
  expect(isAlive(orphan)).toBe(true)

  const second = await start(port, ['vault'])
  expect(await query(second.url('vault'), 'SELECT 7 AS n')).toEqual([{ n: 7 }])
})

test.concurrent('values of a refused statement reach its client, but not the log', async (context) => {
  const { start } = await ownServers(context)
  const lines: string[] = []
  const server = await start(await freePort(), ['platform'], (line) => lines.push(line))
  await query(
    server.url('platform'),
    "CREATE TABLE patients (name text UNIQUE); INSERT INTO patients VALUES ('canary-smith')",
  )

  await expect(query(server.url('platform'), "INSERT INTO patients VALUES ('canary-smith')")).rejects.toThrow(
    'duplicate key',
  )
  await server.stop()
  await eventually(() => expect(lines.join('\n')).toContain('database system is shut down'))
  expect(lines.join('\n')).not.toContain('canary')
})

test.concurrent('another password than the first one stops the start with an error and leaves no server', async (context) => {
  const { start, postmasterPid, folder } = await ownServers(context)
  const port = await freePort()
  const first = await start(port, ['platform'])
  await first.stop()

  const wrong = startPostgres({ dataDir: folder, port, password: 'another', databases: ['platform'] })
  await expect(wrong).rejects.toThrow('password authentication failed')
  await expect(postmasterPid()).rejects.toThrow('ENOENT')
})

test.concurrent('each database has its own role, which can connect to no other and can drop its own through postgres', async ({
  onTestFinished,
}) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'postgres-'))
  const options = {
    dataDir,
    port: await freePort(),
    password: PASSWORD,
    databases: ['platform', 'vault'],
    rolePasswords: { platform: 'p@ss/one', vault: "it's two" },
  }
  const first = await startPostgres(options)
  onTestFinished(async () => {
    await second.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  const at = (role: string, database: string): string => {
    const url = new URL(first.url(role))
    url.pathname = `/${database}`
    return url.href
  }
  await query(first.url('vault'), 'CREATE SCHEMA keys; CREATE TABLE keys.all AS SELECT 7 AS n')
  await query(first.url('platform'), 'CREATE TABLE views AS SELECT 7 AS n')
  expect(
    await query(
      first.url('platform'),
      'SELECT current_user::text AS role, rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user',
    ),
  ).toEqual([{ role: 'platform', rolsuper: false, rolcreatedb: false, rolcreaterole: false }])
  await expect(query(at('platform', 'vault'), 'SELECT 1')).rejects.toThrow('permission denied for database "vault"')
  await expect(query(at('vault', 'platform'), 'SELECT 1')).rejects.toThrow('permission denied for database "platform"')
  await expect(query(at('platform', 'postgres'), 'DROP DATABASE vault WITH (FORCE)')).rejects.toThrow(
    'must be owner of database vault',
  )
  await query(at('platform', 'postgres'), 'DROP DATABASE platform WITH (FORCE)')
  await first.stop()

  const second = await startPostgres({ ...options, rolePasswords: { ...options.rolePasswords, vault: 'another' } })
  expect(await query(second.url('vault'), 'SELECT n FROM keys.all')).toEqual([{ n: 7 }])
  await expect(query(second.url('platform'), 'SELECT n FROM views')).rejects.toThrow('does not exist')
  await expect(query(at('platform', 'vault'), 'SELECT 1')).rejects.toThrow('permission denied for database "vault"')
})

test.concurrent('a role has the rights that a start was killed before it had given them', async ({
  onTestFinished,
}) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'postgres-'))
  const rolePasswords = { vault: 'its own' }
  const options = { dataDir, port: await freePort(), password: PASSWORD, databases: ['vault'], rolePasswords }
  const first = await startPostgres(options)
  const asAdministrator = new URL(first.url('postgres'))
  asAdministrator.pathname = '/vault'
  await query(
    asAdministrator.href,
    'REVOKE pg_checkpoint FROM vault; REVOKE EXECUTE ON FUNCTION pg_switch_wal() FROM vault',
  )
  await first.stop()

  const second = await startPostgres(options)
  onTestFinished(async () => {
    await second.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  await query(second.url('vault'), 'SELECT pg_switch_wal()')
  await query(second.url('vault'), 'CHECKPOINT')
})

test('a server that ends while the next start looks at it does not hold it up', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'))
  const { pid } = spawnSync('true')
  await writeFile(join(folder, 'postmaster.pid'), `${pid}\n`)
  const looks = vi.spyOn(process, 'kill').mockReturnValueOnce(true)
  await expect(endStalePostmaster(folder)).resolves.toBeUndefined()
  expect(looks).toHaveBeenCalledWith(pid, 'SIGINT')
  looks.mockRestore()
  await rm(folder, { recursive: true })
})
