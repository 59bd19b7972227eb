import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createPool } from '../../../platform/database/database.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

/** The start-up parameters of a refused connection. */
type Said = Record<string, string>

const asksForPassword = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3])

let folder: string
let certificate: string
let port: number
let heard: Said | undefined

/**
 * Listens on a port and on a socket in a folder, as Postgres does. Asks for the password in clear text, and hangs up.
 */
function hear(socket: Socket): void {
  const said: Said = {}
  socket.on('error', () => undefined)
  socket.once('data', (startup) => {
    const words = startup.subarray(8, -2).toString().split('\0')
    for (let at = 0; at < words.length; at += 2) said[words[at] ?? ''] = words[at + 1] ?? ''
    socket.once('data', (answer) => {
      heard = { ...said, password: answer.subarray(5, -1).toString() }
      socket.destroy()
    })
    socket.write(asksForPassword)
  })
}

const servers = [createServer(hear), createServer(hear)] as const
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heard-postgres-'))
  certificate = join(folder, 'ca.pem')
  await writeFile(certificate, 'none')
  await new Promise<void>((resolve) => {
    servers[0].listen(0, '127.0.0.1', resolve)
  })
  port = (servers[0].address() as AddressInfo).port
  await new Promise<void>((resolve) => {
    servers[1].listen(join(folder, '.s.PGSQL.5432'), resolve)
  })
})
afterAll(async () => {
  for (const server of servers) server.close()
  await rm(folder, { recursive: true })
})
afterEach(() => {
  vi.unstubAllEnvs()
})

async function saidTo(url: string): Promise<Said | undefined> {
  heard = undefined
  const pool = createPool({ url, settings: { enable_sort: 'off' } })
  await expect(pool.query('select')).rejects.toThrow('Connection terminated')
  await pool.end()
  return heard
}

const ours =
  '-c jit=off -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=2 -c tcp_user_timeout=15000 -c enable_sort=off'

describe('an address is parsed as pg parses it, and our settings are added', () => {
  const tcp = (password: string, parameters = '') => `postgres://platform:${password}@127.0.0.1:${port}/db${parameters}`

  it.each([
    ['with a bare % in its password', '50%off', '50%off'],
    ['with a bare % and, in its password, what has to be escaped', '50%o^ff', '50%o^ff'],
    ['with an escape in its password', 'a%40b', 'a@b'],
  ])('%s', async (_what, written, password) => {
    expect(await saidTo(tcp(written))).toMatchObject({ user: 'platform', database: 'db', password, options: ours })
    // The file must exist.
    expect(await saidTo(tcp(written, `?sslrootcert=${certificate}&sslmode=disable`))).toMatchObject({
      password,
      options: ours,
    })
  })

  it('with options and other parameters of its own, which have precedence', async () => {
    const parameters = '?options=-c%20jit%3Don&application_name=mine'
    expect(await saidTo(tcp('a%40b', parameters))).toMatchObject({
      password: 'a@b',
      options: `${ours} -c jit=on`,
      application_name: 'mine',
    })
    expect(await saidTo(tcp('50%off', '?options=-c jit=on'))).toMatchObject({
      password: '50%off',
      options: `${ours} -c jit=on`,
    })
  })

  it('with PGOPTIONS, unless the address has options', async () => {
    vi.stubEnv('PGOPTIONS', '-c jit=on')
    expect(await saidTo(tcp('secret'))).toMatchObject({ options: `${ours} -c jit=on` })
    expect(await saidTo(tcp('secret', '?options=-cwork_mem=5MB'))).toMatchObject({ options: `${ours} -cwork_mem=5MB` })
  })

  it('of a socket', async () => {
    for (const url of [
      `postgres://platform:50%25off@${encodeURIComponent(folder)}/db`,
      `postgres:///db?host=${folder}&user=platform&password=50%25off`,
    ]) {
      expect(await saidTo(url)).toMatchObject({ user: 'platform', database: 'db', password: '50%off', options: ours })
    }
    vi.stubEnv('PGUSER', 'platform')
    vi.stubEnv('PGPASSWORD', '50%off')
    expect(await saidTo(`${folder} db`)).toMatchObject({
      user: 'platform',
      database: 'db',
      password: '50%off',
      options: ours,
    })
  })
})

describe('Postgres', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database.drop())

  it('applies PGOPTIONS over our settings', async () => {
    vi.stubEnv('PGOPTIONS', '-c enable_sort=on -c work_mem=5MB')
    const pool = createPool({ url: database.url, settings: { enable_sort: 'off', enable_seqscan: 'off' } })
    const shown = `select current_setting('jit') as jit, current_setting('enable_sort') as sort, current_setting('enable_seqscan') as scan, current_setting('work_mem') as memory`
    expect((await pool.query(shown)).rows).toEqual([{ jit: 'off', sort: 'on', scan: 'off', memory: '5MB' }])
    await pool.end()
  })
})
