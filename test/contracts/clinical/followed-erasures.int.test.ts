import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { createErasureGuard } from '../../../contracts/clinical/erasure-guard.ts'
import { followPatientErasures, type FollowedPatientErasures } from '../../../contracts/clinical/followed-erasures.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { patientErasures } from '../../../streams/patient-erasure/aggregate.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { caseFact, ids, patientFact } from '../../streams/facts.ts'
import { erasureFact } from '../../streams/patient-erasure-facts.ts'
import { eventually } from '../../support/eventually.ts'
import { givenInstallation, type InstalledProcess } from '../../support/installation.ts'

const installation = givenInstallation()

/** Of a request. */
const newContext = () => ({ commandId: randomUUID(), correlationId: randomUUID(), orgId: ids.org, clientId: 'client' })

/** A process that knows the erasures from before. */
async function startProcess(): Promise<InstalledProcess & Pick<FollowedPatientErasures, 'destroyedKeys'>> {
  const process = await installation.startProcess(createErasureGuard)
  const erasures = followPatientErasures(process)
  installation.afterTest(() => erasures.close())
  await erasures.caughtUp
  return { ...process, destroyedKeys: () => erasures.destroyedKeys() }
}

/** A patient with an open case, whose erasure may start. */
async function someone(store: InstalledProcess['store']) {
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
  expect((await other.store.load(patient)).state).toMatchObject({ person: { givenName: 'Canary' } })
  await eraser.store.append(erasure, 'no_stream', [started], newContext())
  await eraser.vault.eraseSubject(ids.org, patientId)
  const done = erasureFact('PatientErasureStepDone', { patientId, step: 'keys_destroyed' })
  await eraser.store.append(erasure, 0n, [done], newContext())
  await expect.poll(() => other.store.presume(patient).revision, { timeout: 20_000 }).toBe('no_stream')
  expect((await other.store.load(patient)).state).toMatchObject({ person: null })
  expect([...other.destroyedKeys()]).toContainEqual({ orgId: ids.org, patientId, destroyedAt: done.data.doneAt })

  const later = await someone(eraser.store)
  await eraser.store.append(later.erasure, 'no_stream', [later.started], newContext())
  const doneAt = new Date(Date.parse(done.data.doneAt) + 5 * 86_400_000).toISOString()
  const ofLater = { patientId: later.patientId, step: 'keys_destroyed', doneAt } as const
  await eraser.store.append(later.erasure, 0n, [erasureFact('PatientErasureStepDone', ofLater)], newContext())
  const left = { orgId: ids.org, patientId: later.patientId, destroyedAt: doneAt }
  await eventually(() => expect([...other.destroyedKeys()]).toEqual([left]))
})
