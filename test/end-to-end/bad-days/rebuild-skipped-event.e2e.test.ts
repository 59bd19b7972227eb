import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { v4 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { knownNames } from '../../../app/projections/known-projectors.ts'
import { createMasterKeyFile } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import type { PatientEvent } from '../../../streams/patient/events.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { openEventStore, type EventStore } from '../../../engine/store/event-store.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { expecting, registerPatient } from '../../support/main-job.ts'
import { startPlatformHere, waitFor, type PlatformHere } from '../../support/platform.ts'
import { entryOf, projections } from './projections-command.ts'
import { eventsOf } from './recorded-events.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

const reason = 'registered twice by an import, INC-4711'

let platform: PlatformHere
let api: ApiClient

beforeAll(async () => {
  // An own event store, because the planted events would stop the projectors of every platform on a shared server.
  platform = await startPlatformHere({ env: { ESDB_URL: '', LOG_LEVEL: 'silent' } })
  api = await platform.connect()
})

afterAll(async () => {
  await platform.stop()
})

const command = (...args: readonly string[]) => projections(platform.dataDir, args)

async function servers(): Promise<unknown> {
  return JSON.parse(await readFile(join(platform.dataDir, 'servers.json'), 'utf8'))
}

/** Writes into the platform's streams with its keys, like a program with a bug. */
async function writing<Result>(work: (store: EventStore) => Promise<Result>): Promise<Result> {
  const masterKeys = await createMasterKeyFile(join(platform.dataDir, 'master-keys'))
  const vault = await openVault({ url: textAt(await servers(), 'VAULT_DATABASE_URL'), masterKeys })
  const store = await openEventStore({ url: textAt(await servers(), 'ESDB_URL'), catalogue, vault })
  try {
    return await work(store)
  } finally {
    await store.close()
    await vault.close()
  }
}

/** Plants a second registration under the id of a patient, in another stream. One row cannot contain both. */
async function plantDouble(patientId: string): Promise<void> {
  const orgId = tenantOfFact(platform.process.credentials.org_id)
  const data = {
    patientId,
    organisationId: orgId,
    person: { givenName: 'Ada', familyName: 'Doubled', dob: '1980-02-29', identifiers: [] },
    registeredAt: '2026-11-21T10:00:00.000Z',
    fingerprint: null,
  }
  const events: PatientEvent[] = [{ type: 'PatientRegistered', data }]
  await writing((store) =>
    store.append(patients.of(orgId, v4()), 'no_stream', events, {
      commandId: v4(),
      correlationId: v4(),
      clientId: 'test',
      orgId,
    }),
  )
}

async function failureOf(name: string): Promise<unknown> {
  return waitFor(
    `the failure of ${name}`,
    async () => at(entryOf(await command('list', '--json'), name), 'failure') ?? undefined,
  )
}

test('an event that a projector cannot handle is named, retried, skipped by command, and skipped in every rebuild', async () => {
  const first = await registerPatient(api)
  await plantDouble(first)
  const failure = await failureOf('patients')
  expect(failure).toMatchObject({
    event_type: 'PatientRegistered',
    category: 'patient',
    position: expect.stringMatching(/^\d+\/\d+$/),
  })
  const position = textAt(failure, 'position')

  const listed = await command('list')
  expect(listed.code).toBe(0)
  expect(listed.out).toContain(`patients failed at ${position}: PatientRegistered ${textAt(failure, 'event_id')}`)
  expect(listed.out).toContain(textAt(failure, 'reason'))
  const health = await (await fetch(`${platform.baseUrl}/health`)).text()
  expect(health).toContain('"detail":"patients stopped at an event"')
  // Strangers read /health. The id is in the list, and in the log.
  expect(health).not.toContain(textAt(failure, 'event_id'))
  const second = await registerPatient(api)
  const lag = entryOf(await command('lag', '--json'), 'patients')
  expect(lag).toMatchObject({ at_head: false, is_more: false, status: 'failed' })
  // The public events of the two registrations count too, once they are published.
  expect(at(lag, 'events_behind')).toBeOneOf([2, 3, 4])
  expect((await api.call(`/v1/clinical-api/patients/${second}`)).status).toBe(503)

  const retried = await command('retry', 'patients')
  expect(retried).toMatchObject({ code: 1, out: '' })
  expect(retried.err).toContain(`patients failed again at ${position}`)
  const rebuilt = await command('rebuild', 'patients')
  expect(rebuilt).toMatchObject({ code: 1, out: '' })
  expect(rebuilt.err).toContain(`patients: failed at ${position}: PatientRegistered ${textAt(failure, 'event_id')}`)
  const elsewhere = await command('skip', 'patients', '5/5', '--reason', reason)
  expect(elsewhere).toMatchObject({ code: 1, out: '' })
  expect(elsewhere.err).toContain(
    `patients has not failed at 5/5: it failed at ${position} (PatientRegistered ${textAt(failure, 'event_id')})`,
  )

  const skipped = await command('skip', 'patients', position, '--reason', reason)
  expect(skipped).toMatchObject({ code: 0, err: '' })
  expect(skipped.out).toContain(`patients skips PatientRegistered ${textAt(failure, 'event_id')} at ${position}`)
  expect(skipped.out).toContain('patients continues')
  for (const id of [first, second]) await expecting(200, api.call(`/v1/clinical-api/patients/${id}`))
  expect(await command('skip', 'patients', position, '--reason', 'another one')).toMatchObject({
    code: 0,
    out: `patients skips ${position} already\n`,
  })

  const [commit, prepare] = position.split('/')
  const facts = await eventsOf(textAt(await servers(), 'ESDB_URL'), 'projection-patients')
  expect(facts).toMatchObject([
    {
      type: 'ProjectionEventSkipped',
      data: {
        projector: 'patients',
        commitPosition: commit,
        preparePosition: prepare,
        eventId: textAt(failure, 'event_id'),
        eventType: 'PatientRegistered',
        reason,
      },
    },
  ])

  const again = await command('rebuild', 'patients')
  expect(again).toMatchObject({ code: 0, err: '' })
  expect(again.out).toContain('patients: rebuilt and switched')
  expect(await command('verify', 'patients')).toMatchObject({
    code: 0,
    err: '',
    out: expect.stringMatching(/^patients: equal at .* \(2 rows, 1 event skipped\)/),
  })
  for (const id of [first, second]) await expecting(200, api.call(`/v1/clinical-api/patients/${id}`))
  const third = await registerPatient(api)
  await platform.restart()
  api = await platform.connect()
  expect((await expecting(200, api.call(`/v1/clinical-api/patients/${third}`))).body).toMatchObject({ id: third })
  expect(entryOf(await command('list', '--json'), 'patients')).toMatchObject({ status: 'running', failure: null })
})

test('an undecodable event is skipped by each projector that handles its type', async () => {
  const client = EventStoreDBClient.connectionString(textAt(await servers(), 'ESDB_URL'))
  const forged = {
    type: 'WebhookSubscribed',
    data: { url: 'https://example.org' },
    metadata: { commandId: v4(), $correlationId: v4(), schemaVersion: 1, signature: 'forged' },
  }
  await client.appendToStream(webhookSubscriptions.of(tenantOfFact(v4())).stream, [jsonEvent({ id: v4(), ...forged })])
  await client.dispose()
  for (const name of ['audit_subjects', 'webhook_subscriptions', 'webhook_deliveries', 'webhooks_todo']) {
    const failure = await failureOf(name)
    expect(failure).toMatchObject({
      event_type: 'WebhookSubscribed',
      reason: expect.stringMatching(/cannot be read: .+ \(signature\)$/),
    })
    expect(await command('skip', name, textAt(failure, 'position'), '--reason', reason)).toMatchObject({
      code: 0,
      err: '',
    })
  }
  const rebuilt = await command('rebuild', '--all')
  expect(rebuilt).toMatchObject({ code: 0, err: '' })
  expect(rebuilt.out.match(/: rebuilt and switched at /g)).toHaveLength(knownNames.length)
  const subscription = { url: 'https://example.org/hook', event_types: ['assessment.completed'] }
  await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body: subscription }))
  const { body } = await expecting(200, api.call('/v1/clinical-api/webhook-subscriptions'))
  expect(JSON.stringify(body)).toContain('https://example.org/hook')
})
