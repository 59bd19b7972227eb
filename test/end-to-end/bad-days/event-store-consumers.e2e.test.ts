import {
  AccessDeniedError,
  EventStoreDBClient,
  START,
  persistentSubscriptionToStreamSettingsFromDefaults,
} from '@eventstore/db-client'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { registerPatient } from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { projections } from './projections-command.ts'
import { eventsOf, eventsOfAll } from './recorded-events.ts'

const channel = 'clinical.events'
const passwords = { billing: 'of%20billing%3A0123456789', lab: 'of-the-lab-0123456789' }
const named = ({ billing, lab }: Partial<typeof passwords>): Record<string, string> => ({
  EVENTSTORE_CONSUMERS: [...(billing ? [`billing:${billing}`] : []), ...(lab ? [`lab:${lab}`] : [])].join(),
})

let platform: TestPlatform
let patientId = ''
const clients: EventStoreDBClient[] = []

beforeAll(async () => {
  // An earlier start without consumers made the folder.
  platform = await startTestPlatform({ env: { ESDB_URL: '' } })
  patientId = await registerPatient(await platform.connect())
  await platform.restart(named(passwords))
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.dispose()
})

afterAll(() => platform.stop())

const ownUrl = () => platform.process.credentials.eventstore_url ?? ''

function as(login: string, encodedPassword: string): EventStoreDBClient {
  const client = EventStoreDBClient.connectionString(ownUrl().replace(/\/\/[^@]*@/, `//${login}:${encodedPassword}@`))
  clients.push(client)
  return client
}

async function isDenied(reading: AsyncIterable<unknown>): Promise<boolean> {
  try {
    // A read that is left early keeps its client from closing.
    for await (const _ of reading) continue
    return false
  } catch (error) {
    if (error instanceof AccessDeniedError) return true
    throw error
  }
}

/** The patients that a subscription reports as registered, until the given one. */
async function registeredUntil(subscription: ReturnType<EventStoreDBClient['subscribeToStream']>, last: string) {
  const patients: unknown[] = []
  for await (const { event } of subscription) {
    const { data } = event ?? {}
    if (typeof data === 'object' && data !== null && 'patient_id' in data) patients.push(data.patient_id)
    if (patients.at(-1) === last) await subscription.unsubscribe()
  }
  return patients
}

test('a consumer follows a channel of a folder of earlier starts, with what is published now', async () => {
  const subscription = as('billing', passwords.billing).subscribeToStream(channel, { fromRevision: START })
  const next = await registerPatient(await platform.connect())
  expect(await registeredUntil(subscription, next)).toEqual([patientId, next])
})

test('it consumes from a group that the operator made', async () => {
  const operator = EventStoreDBClient.connectionString(ownUrl())
  clients.push(operator)
  const settings = persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: 'start' })
  await operator.createPersistentSubscriptionToStream(channel, 'billing', settings)
  const messages = as('billing', passwords.billing).subscribeToPersistentSubscriptionToStream(channel, 'billing')
  const types: string[] = []
  messages.on('data', (message) => {
    types.push(message.event?.type ?? '')
    void messages.ack(message)
  })
  await expect.poll(() => types).toContain('clinical.patient.registered')
  await messages.unsubscribe()
})

test('it reads no stream of a patient and not the log', async () => {
  const patient = (await eventsOfAll(ownUrl())).find(({ stream }) => stream.startsWith('patient-'))?.stream ?? ''
  expect(await eventsOf(ownUrl(), patient)).not.toEqual([])
  const lab = as('lab', passwords.lab)
  for (const reading of [
    lab.readStream(patient),
    lab.readStream('patient-unknown'),
    lab.readAll(),
    lab.subscribeToAll(),
  ])
    expect(await isDenied(reading)).toBe(true)
})

test('no password is in the files and arguments of the servers, and other users reach the certificate only', async () => {
  const users = await readFile(join(platform.dataDir, 'eventstore/users'), 'utf8')
  expect(
    users
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).login),
  ).toEqual(['platform', 'billing', 'lab'])
  for (const file of ['eventstore/users', 'servers.json', 'credentials.json', 'embedded.json'])
    expect(await readFile(join(platform.dataDir, file), 'utf8')).not.toContain('0123456789')
  const modeOf = async (path: string) => ((await stat(join(platform.dataDir, path))).mode & 0o777).toString(8)
  expect(await modeOf('certificates/eventstore.pem')).toBe('644')
  expect([await modeOf('eventstore'), await modeOf('credentials.json')]).toEqual(['700', '600'])
})

test('commands beside the platform and a rebuild work as before', async () => {
  const rebuilt = await projections(platform.dataDir, ['rebuild', 'patients'], named(passwords))
  expect(rebuilt).toMatchObject({ code: 0 })
})

test('after a restart a removed account is gone and a changed password counts', async () => {
  const changed = 'another-password-of-the-lab'
  await platform.restart(named({ lab: changed }))
  expect(await isDenied(as('billing', passwords.billing).readStream(channel))).toBe(true)
  expect(await isDenied(as('lab', passwords.lab).readStream(channel))).toBe(true)
  expect(await isDenied(as('lab', changed).readStream(channel))).toBe(false)
  const api = await platform.connect()
  const answer = await waitFor('the patient', async () => {
    const { status } = await api.call(`/v1/clinical-api/patients/${patientId}`)
    return status === 200 ? status : undefined
  })
  expect(answer).toBe(200)
})
