import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { embeddedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { createErasureGuard } from '../../../contracts/clinical/erasure-guard.ts'
import { followPatientErasures } from '../../../contracts/clinical/followed-erasures.ts'
import { openEventStore } from '../../../engine/store/event-store.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { patientErasures } from '../../../streams/patient-erasure/aggregate.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { caseFact, ids, patientFact } from '../../streams/facts.ts'
import { erasureFact } from '../../streams/patient-erasure-facts.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

const masterKeys = parseMasterKeys(`test:${randomBytes(32).toString('base64')}`)
const closing: (() => Promise<void>)[] = []
let node: TestEventStore
let database: FreshDatabase

beforeAll(async () => {
  ;[node, database] = await Promise.all([embeddedEventStore(), freshDatabase()])
})
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})
afterAll(async () => {
  await Promise.all([node.stop(), database.drop()])
})

/** Of a request. */
const newContext = () => ({ commandId: randomUUID(), correlationId: randomUUID(), orgId: ids.org, clientId: 'client' })

/** A process of the installation, with connections and caches of its own. */
async function startProcess() {
  const vault = await openVault({ url: database.vaultUrl, masterKeys })
  const store = await openEventStore({ url: node.url, catalogue, vault, guard: createErasureGuard(vault) })
  const erasures = followPatientErasures({ store, vault })
  closing.push(
    () => vault.close(),
    () => store.close(),
    () => erasures.close(),
  )
  await erasures.caughtUp
  return { vault, store }
}

/** A patient with an open case, whose erasure may start. */
async function someone(store: Awaited<ReturnType<typeof startProcess>>['store']) {
  const [patientId, caseId] = [randomUUID(), randomUUID()]
  const owned = { patientId, organisationId: ids.org }
  const [patient, open] = [patients.of(ids.org, patientId), cases.of(ids.org, caseId)]
  const erasure = patientErasures.of(ids.org, patientId)
  await store.append(patient, 'no_stream', [patientFact('PatientRegistered', owned)], newContext())
  await store.append(open, 'no_stream', [caseFact('CaseOpened', { ...owned, caseId })], newContext())
  const closed = caseFact('CaseClosed', { caseId, patientId })
  const again = (id: string) => caseFact('CaseOpened', { ...owned, caseId: id, externalReference: 'ward 7' })
  return { patientId, patient, open, erasure, closed, again, started: erasureFact('PatientErasureStarted', owned) }
}

it('a request records nothing about a patient whose erasure another process began', async () => {
  const [eraser, other] = [await startProcess(), await startProcess()]
  const { patientId, open, erasure, closed, again, started } = await someone(other.store)
  await eraser.store.append(erasure, 'no_stream', [started], newContext())
  await expect.poll(() => other.vault.isClosed(ids.org, patientId), { timeout: 20_000 }).toBe(true)
  const refusal = { code: 'subject-erased' }
  await expect(other.store.append(open, 0n, [closed], newContext())).rejects.toMatchObject(refusal)
  const id = randomUUID()
  const another = cases.of(ids.org, id)
  await expect(other.store.append(another, 'no_stream', [again(id)], newContext())).rejects.toMatchObject(refusal)

  // A process ends what is open. It encrypts nothing for the patient any more.
  const { clientId: _, ...byNobody } = newContext()
  const byProcess = { ...byNobody, process: 'erasures' }
  await other.store.append(another, 'no_stream', [again(id)], byProcess)
  expect((await eraser.store.load(another)).state).toMatchObject({ status: 'open', externalReference: null })
})

it('a process that starts later knows the erasure before it serves, and no other one', async () => {
  const eraser = await startProcess()
  const { patientId, erasure, started } = await someone(eraser.store)
  await eraser.store.append(erasure, 'no_stream', [started], newContext())
  const late = await startProcess()
  expect([late.vault.isClosed(ids.org, patientId), late.vault.isClosed(ids.otherOrg, patientId)]).toEqual([true, false])
  expect(late.vault.isClosed(ids.org, randomUUID())).toBe(false)
})

it('a process drops the states of the patient when the key is destroyed', async () => {
  const [eraser, other] = [await startProcess(), await startProcess()]
  const { patientId, patient, erasure, started } = await someone(eraser.store)
  expect((await other.store.load(patient)).state).toMatchObject({ givenName: 'Canary' })
  await eraser.store.append(erasure, 'no_stream', [started], newContext())
  await eraser.vault.eraseSubject(ids.org, patientId)
  const done = erasureFact('PatientErasureStepDone', { patientId, step: 'keys_destroyed' })
  await eraser.store.append(erasure, 0n, [done], newContext())
  await expect.poll(() => other.store.presume(patient).revision, { timeout: 20_000 }).toBe('no_stream')
  expect((await other.store.load(patient)).state).toMatchObject({ givenName: null })
})
