import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { proveRestore } from '../../../app/backup/prove-restore.ts'
import { knownProjectors } from '../../../app/projections/known-projectors.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { patientFact } from '../../streams/facts.ts'
import { subscriptionFact } from '../../streams/webhook-facts.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

// Each proof fills all read models of a database of its own.

let world: DecisionWorld
const databases: FreshDatabase[] = []
const patientIds = Array.from({ length: 102 }, () => randomUUID())
const [destroyedId = ''] = patientIds
const subscriptionId = randomUUID()

async function prove(vault = world.vault) {
  const database = await freshDatabase()
  databases.push(database)
  return proveRestore({ store: world.store, vault }, database.url, new AbortController().signal)
}

async function openedVault() {
  const vault = await openVault({ url: world.vaultUrl, masterKeys: parseMasterKeys(world.masterKeys) })
  return Object.assign(vault, { [Symbol.asyncDispose]: () => vault.close() })
}

beforeAll(async () => {
  world = await openDecisionWorld({ hasOwnNode: true })
  const { store, vault, orgId } = world
  await Promise.all(
    patientIds.map((patientId) => {
      const fact = patientFact('PatientRegistered', { patientId })
      return store.append(patients.of(orgId, patientId), 'no_stream', [fact], contextOf(world))
    }),
  )
  const subscribed = subscriptionFact('WebhookSubscribed', {
    subscriptionId,
    secretId: subscriptionId,
    organisationId: orgId,
  })
  await vault.secret('webhook', subscriptionId)
  await vault.secret('webhook-signing', subscriptionId)
  await store.append(webhookSubscriptions.of(orgId), 'no_stream', [subscribed], contextOf(world))
})
afterAll(async () => {
  await world.close()
  await Promise.all(databases.map((database) => database.drop()))
})

test('a whole copy has signed events, equal read models and all secrets', async () => {
  await world.vault.destroySubject(world.orgId, destroyedId)
  const events = patientIds.length + 1
  expect(await prove()).toEqual({ events, equal: knownProjectors.length, keys_missing: [], faults: [] })
})

test('names the secrets that are gone, up to a hundred of a kind, and each event that the installation did not sign', async () => {
  const client = new Client({ connectionString: world.vaultUrl })
  await client.connect()
  await client.query('delete from vault_secrets where id = any($1)', [
    [...patientIds.map((id) => `${world.orgId}/${id}`), subscriptionId],
  ])
  await client.end()
  const raw = EventStoreDBClient.connectionString(world.url)
  const stream = `patient-${world.orgId}-${randomUUID()}`
  await raw.appendToStream(stream, jsonEvent({ type: 'PatientRegistered', data: { patientId: randomUUID() } }))
  await raw.dispose()
  // The first vault would answer from memory.
  await using vault = await openedVault()
  const { keys_missing: missing, faults, equal } = await prove(vault)
  const subjects = patientIds.map((id) => `the personal content of ${world.orgId}/${id}`)
  expect(subjects).toEqual(expect.arrayContaining(missing.slice(0, -1)))
  expect(new Set(missing).size).toBe(101)
  const rotation = `keys rotate webhook --org ${world.orgId} --endpoint ${subscriptionId} --grace-seconds 0`
  expect(missing.at(-1)).toBe(`the deliveries of webhook ${subscriptionId}, until ${rotation}`)
  // Read models leave out what others write, so they are equal.
  expect(faults).toEqual([expect.stringMatching(`PatientRegistered at .* in ${stream} is not signed`)])
  expect(equal).toBe(knownProjectors.length)
})
