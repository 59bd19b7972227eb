import { AccessDeniedError, EventStoreDBClient, START, jsonEvent } from '@eventstore/db-client'
import { startEventStore, type EventStoreNode } from 'embedded-eventstore'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerPatient } from '../support/main-job.ts'
import { startPlatformHere, type PlatformHere } from '../support/platform.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
/** As the documents make them: the platform is no administrator. */
const users = [
  { login: 'admin', password: 'of the administrator', groups: ['$admins'] },
  { login: 'platform', password: 'of the platform', groups: ['platform'] },
  { login: 'billing', password: 'of billing', groups: ['consumers'] },
  { login: 'clinic', password: 'of the clinic', groups: [] },
] as const
type Login = (typeof users)[number]['login']

let folder = ''
let node: EventStoreNode
let platform: PlatformHere
let patientId = ''
const clients = new Map<Login, EventStoreDBClient>()

const urlOf = (login: Login) => {
  const { password = '' } = users.find((user) => user.login === login) ?? {}
  return node.url.replace(/\/\/[^@]*@/, `//${login}:${encodeURIComponent(password)}@`)
}

function as(login: Login): EventStoreDBClient {
  const client = clients.get(login) ?? EventStoreDBClient.connectionString(urlOf(login))
  clients.set(login, client)
  return client
}

/** Runs the programs of a document, as the administrator. */
async function follow(document: string): Promise<void> {
  const text = await readFile(join(repository, document), 'utf8')
  const programs = [...text.matchAll(/```js\n(.*?)```/gs)].map(([, program = '']) => program)
  expect(programs).not.toEqual([])
  for (const program of programs) {
    const env = { ...process.env, ADMINISTRATORS_ESDB_URL: urlOf('admin') }
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { cwd: repository, env })
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'closed-'))
  node = await startEventStore({ dataDir: folder, users })
  await follow('docs/event-store-lines.md')
  platform = await startPlatformHere({ env: { ESDB_URL: urlOf('platform'), FOREIGN_CHANNELS: 'clinic.events' } })
  patientId = await registerPatient(await platform.connect())
  await follow('docs/real-servers.md')
})

afterAll(async () => {
  for (const client of clients.values()) await client.dispose()
  await platform.stop()
  await node.stop()
  await rm(folder, { recursive: true, force: true })
})

async function outcome(call: Promise<unknown> | AsyncIterable<unknown>): Promise<unknown> {
  try {
    if (Symbol.asyncIterator in call) for await (const _ of call) continue
    else await call
    return 'granted'
  } catch (error) {
    if (error instanceof AccessDeniedError) return 'denied'
    throw error
  }
}

const noted = jsonEvent({ type: 'clinic.noted', data: {} })

test('the platform continues, and starts again, without being an administrator', async () => {
  await registerPatient(await platform.connect())
  await platform.restart()
  const api = await platform.connect()
  expect((await api.call(`/v1/clinical-api/patients/${patientId}`)).status).toBe(200)
  await registerPatient(api)
})

test('a consumer follows a channel', async () => {
  const subscription = as('billing').subscribeToStream('clinical.events', { fromRevision: START })
  const seen: unknown[] = []
  for await (const { event } of subscription) {
    seen.push(event?.data)
    await subscription.unsubscribe()
  }
  expect(seen[0]).toMatchObject({ patient_id: patientId })
})

test('it gets nothing else, and the writer of a foreign channel neither', async () => {
  let patient = ''
  for await (const { event } of as('admin').readAll())
    if (event?.streamId.startsWith('patient-') === true) patient = event.streamId
  for (const login of ['billing', 'clinic'] as const) {
    const client = as(login)
    expect(await outcome(client.readStream(patient))).toBe('denied')
    expect(await outcome(client.readAll())).toBe('denied')
    expect(await outcome(client.readStream('clinic.events'))).toBe('denied')
    expect(await outcome(client.appendToStream(patient, noted))).toBe('denied')
    expect(await outcome(client.appendToStream('clinical.events', noted))).toBe('denied')
    expect(await outcome(client.setStreamMetadata('clinical.events', {}))).toBe('denied')
    expect(await outcome(client.deleteStream('clinical.events'))).toBe('denied')
    expect(await outcome(client.appendToStream('$settings', noted))).toBe('denied')
    expect(await outcome(client.appendToStream('clinic.events', noted))).toBe(login === 'clinic' ? 'granted' : 'denied')
  }
  expect(await outcome(as('clinic').readStream('clinical.events'))).toBe('denied')
})

test('the settings are those of the document', async () => {
  const text = await readFile(join(repository, 'docs/real-servers.md'), 'utf8')
  const [, shown = ''] = /```json\n(\{\n {2}"\$userStreamAcl".*?)```/s.exec(text) ?? []
  const stored: unknown[] = []
  for await (const { event } of as('admin').readStream('$settings')) stored.push(event?.data)
  expect(stored).toEqual([JSON.parse(shown)])
})

test('the program runs again, and keeps the metadata that the platform wrote', async () => {
  const before = await as('admin').getStreamMetadata('clinical.events')
  await follow('docs/real-servers.md')
  const after = await as('admin').getStreamMetadata('clinical.events')
  expect(after.metadata).toEqual(before.metadata)
})
