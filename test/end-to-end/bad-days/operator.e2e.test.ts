import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { at, textAt } from '../../../app/demo/members.ts'
import { createApiClient, requestToken } from '../../support/raw-api.ts'
import { expecting, registerPatient } from '../../support/main-job.ts'
import { waitFor } from '../../support/platform.ts'
import { freshDatabases } from '../../support/postgres.ts'
import { descendantsOf, untilGone } from './child-processes.ts'
import { runProgram, type OperatorProgram } from './operator-program.ts'

const up = ['node', 'app/main.ts', 'up'] as const
const ready = 'The platform is ready'

let folder: string
let settings: Record<string, string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-'))
  settings = {
    PLATFORM_DATA_DIR: join(folder, 'data'),
    PORT: String(await freePort()),
    LOG_LEVEL: 'warn',
    ESDB_URL: '',
  }
})

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function credentialsFile(): Promise<unknown> {
  return JSON.parse(await readFile(join(folder, 'data', 'credentials.json'), 'utf8'))
}

/** Values of members with a secret, also within addresses. */
function secretsIn(credentials: unknown): readonly string[] {
  const found = JSON.stringify(credentials).matchAll(
    /secret":"([^"]{16,})"|:\/\/[^":]+:([^"@]{16,})@|_url":"[^"]+\/(?:mail|chat)\/([^"/]{16,})"/g,
  )
  const secrets = [...found].map(([, member, password, path]) => member ?? password ?? path ?? '')
  // Of clients, the admin header, remote controls, the event store, the mail box and the chat receiver.
  expect(secrets.length).toBeGreaterThanOrEqual(8)
  return secrets
}

/** Ends a platform by a signal, and expects that no process remains. */
async function expectCleanEnd(program: OperatorProgram, signal: () => void): Promise<void> {
  const children = await descendantsOf(program.pid)
  expect(children.length).toBeGreaterThan(2)
  signal()
  expect(await program.exited).toBe(0)
  await untilGone(children)
}

// Concurrent, because these tests mostly wait for a folder or a port to become free.
describe('npm start', { concurrent: true }, () => {
  test('stops on SIGTERM to npm, keeps its data over a restart, refuses a second instance, and stops on Ctrl-C', async () => {
    const first = runProgram(['npm', 'start'], settings)
    await first.says(ready)
    const credentials = await credentialsFile()
    const baseUrl = textAt(credentials, 'base_url')
    const secrets = {
      client_id: textAt(credentials, 'clients', 0, 'client_id'),
      client_secret: textAt(credentials, 'clients', 0, 'client_secret'),
    }
    expect(secretsIn(credentials).filter((secret) => first.output().includes(secret))).toEqual([])
    const { body: token } = await requestToken(baseUrl, secrets)
    const api = createApiClient(baseUrl, textAt(token, 'access_token'))
    const patientId = await registerPatient(api)
    const record = await expecting(200, api.call(`/v1/clinical-api/patients/${patientId}`))
    await expectCleanEnd(first, () => first.kill('SIGTERM'))

    const again = runProgram(['npm', 'start'], settings)
    await again.says(ready)
    expect((await expecting(200, api.call(`/v1/clinical-api/patients/${patientId}`))).body).toEqual(record.body)
    expect(await credentialsFile()).toEqual(credentials)

    const second = runProgram(up, { ...settings, PORT: '0' })
    expect(await second.exited).toBe(1)
    expect(second.output()).toMatch(/platform: .*(in use|already|another)/)
    expect((await fetch(`${baseUrl}/health/ready`)).status).toBe(200)
    await expectCleanEnd(again, () => again.killGroup('SIGINT'))
  })

  test('with a wrong setting exits with 1 and names it', async () => {
    const program = runProgram(up, { ...settings, PORT: 'eighty' })
    expect(await program.exited).toBe(1)
    expect(program.output()).toMatch(/platform: configuration: .*PORT/)
  })

  test.each(['eventstore', 'postgres'])(
    'with the port of its embedded %s taken exits with 1 and names it',
    async (server) => {
      const taken = await listening(0)
      const { port } = taken.address() as AddressInfo
      const dataDir = join(folder, server)
      await mkdir(dataDir)
      await writeFile(join(dataDir, 'embedded.json'), JSON.stringify({ ports: { [server]: port }, secrets: {} }))
      const database = await freshDatabases()
      const databases =
        server === 'postgres' ? {} : { DATABASE_URL: database.url, VAULT_DATABASE_URL: database.vaultUrl }
      const program = runProgram(up, { ...settings, ...databases, PORT: '0', PLATFORM_DATA_DIR: dataDir })
      expect(await program.exited).toBe(1)
      expect(program.output()).toMatch(new RegExp(`platform: [^]*${port}`))
      await closed(taken)
      await expectPortsFree(dataDir)
      await database.drop()
    },
  )
})

test('a start over a prepared folder with its own port taken exits with 1, names the port and its setting, and leaves no process', async () => {
  const { PORT: port } = settings
  const taken = await listening(Number(port))
  const program = runProgram(up, settings)
  expect(await program.exited).toBe(1)
  expect(program.output()).toContain(`platform: port ${port} of 127.0.0.1 is taken: set PORT to another one\n`)
  expect(program.output()).not.toMatch(/\n\s+at /)
  await closed(taken)
  await expectPortsFree(join(folder, 'data'))
})

/** Expects that the port of every embedded server is free. */
async function expectPortsFree(dataDir: string): Promise<void> {
  const instance: unknown = JSON.parse(await readFile(join(dataDir, 'embedded.json'), 'utf8'))
  const ports = Object.values(at(instance, 'ports') ?? {})
  expect(ports.length).toBeGreaterThan(3)
  for (const port of ports) {
    const free = await waitFor(`port ${String(port)}`, () => listening(Number(port)).catch(() => undefined))
    await closed(free)
  }
}

async function listening(port: number): Promise<Server> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return server
}

async function closed(server: Server): Promise<void> {
  await new Promise((resolve) => server.close(resolve))
}
