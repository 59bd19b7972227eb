import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { expect, it } from 'vitest'
import { freePort } from '../../embedded/children/free-port.ts'
import { startPostgres } from '../../embedded/postgres/start-postgres.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

it('a test run on a real server leaves no database on it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'real-postgres-'))
  const options = { dataDir: folder, port: await freePort(), password: 'real', databases: [], durable: false }
  const server = await startPostgres(options)
  const client = new Client({ connectionString: server.url('postgres') })
  try {
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
    const run = spawn(
      process.execPath,
      ['node_modules/vitest/vitest.mjs', 'run', 'test/engine/reads/tenant-rows.int.test.ts'],
      { cwd: root, env: { PATH, HOME, NODE_COMPILE_CACHE, DATABASE_URL: server.url('postgres') } },
    )
    const shown: string[] = []
    run.stdout.on('data', (chunk: Buffer) => shown.push(chunk.toString()))
    run.stderr.resume()
    const [code] = await once(run, 'close')
    expect([code, shown.join('')]).toEqual([0, expect.stringContaining('tenant-rows')])
    await client.connect()
    const { rows } = await client.query('SELECT datname FROM pg_database WHERE NOT datistemplate')
    expect(rows).toEqual([{ datname: 'postgres' }])
  } finally {
    await client.end()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
