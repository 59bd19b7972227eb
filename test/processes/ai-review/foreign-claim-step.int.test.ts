import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { derivedV7 } from '../../../engine/processes/step-identity.ts'
import { aiReviewSlots, type SlotHolder } from '../../../streams/ai-review-slot/aggregate.ts'
import { foreignEvents } from '../../../streams/foreign-event/aggregate.ts'
import { ids } from '../../streams/facts.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { KilledError, mortal } from '../users/mortal-process.ts'
import { recorded, recordedTypes, requestOfAnotherService, runReviewStep } from './review-steps.ts'

let world: ProcessWorld

beforeAll(async () => {
  world = await openProcessWorld()
})
beforeEach(() => world.reset())
afterAll(() => world.close())

const received = (caseId: string) => requestOfAnotherService(world, caseId)
const claim = (id: string, deps = world.deps) => runReviewStep(world, 'claim-foreign', id, { deps })

async function holderOf(caseId: string): Promise<SlotHolder> {
  const { state } = await world.otherStore.load(aiReviewSlots.of(world.orgId, caseId, ids.product))
  if (state.status === 'free') throw new Error('nobody holds the slot')
  return state.holder
}

it('a request without a patient gets the patient of the case, and its images reach the provider with their device', async () => {
  const caseId = randomUUID()
  const id = await received(caseId)
  await claim(id)
  await claim(id)
  const { aiReviewId, ...holder } = await holderOf(caseId)
  expect(holder).toMatchObject({ patientId: null, addresses: null, requestEventId: id, correlationId: 'clinic-17' })
  for (let call = 1; call <= 3; call += 1) await runReviewStep(world, 'start', aiReviewId)
  const events = await recorded(world, aiReviewId)
  const [requested, started] = events
  expect(requested?.data).toMatchObject({ addresses: null, images: [{ deviceModel: 'Scope 3', objectKey: null }] })
  expect(started?.data).toMatchObject({ patientId: ids.patient, addresses: [{ imageId: ids.image }] })
  expect(events.at(-1)?.type).toBe('AiReviewProcessingAccepted')
  expect(await world.provider.calls()).toContainEqual(
    expect.objectContaining({ call: 'image', deviceManufacturer: 'Acme', deviceModel: 'Scope 3' }),
  )
})

it('a request whose case is not visible yet is retried', async () => {
  const caseId = randomUUID()
  await claim(await received(caseId))
  const { aiReviewId } = await holderOf(caseId)
  world.services.patientId = null
  await runReviewStep(world, 'start', aiReviewId)
  expect((await recorded(world, aiReviewId)).at(-1)?.data).toMatchObject({ classification: 'case_lookup_unavailable' })
  world.services.patientId = ids.patient
  world.pass(3)
  await runReviewStep(world, 'start', aiReviewId)
  expect(await recordedTypes(world, aiReviewId)).toContain('AiReviewProviderCaseCreated')
})

it('a request for a taken slot gets an answer, and opens no review', async () => {
  const caseId = randomUUID()
  await claim(await received(caseId))
  const before = await holderOf(caseId)
  await claim(await received(caseId))
  expect(await holderOf(caseId)).toEqual(before)
})

it('a crash between the claim and the first event of the review loses nothing', async () => {
  const caseId = randomUUID()
  const id = await received(caseId)
  const failpoint = () => {
    throw new Error('crashed')
  }
  expect(await claim(id, { ...world.deps, failpoint })).toMatchObject({ error: expect.any(Error) })
  const { aiReviewId } = await holderOf(caseId)
  expect(await recorded(world, aiReviewId)).toEqual([])
  const payload = { cause: { eventId: randomUUID(), correlationId: randomUUID() }, caseId, productId: ids.product }
  await runReviewStep(world, 'open', aiReviewId, { todo: { payload } })
  expect(await recordedTypes(world, aiReviewId)).toEqual(['AiReviewRequested'])
})

/** Runs a step in a process that is killed before its append of these events. */
async function killedBefore(append: string, step: string, key: string, effects = 0): Promise<void> {
  const process = mortal(world.deps, effects)
  expect(await runReviewStep(world, step, key, { deps: process.deps })).toEqual({ error: expect.any(KilledError) })
  expect(process.killedBefore()).toBe(append)
}

it('a crash before the claim leaves nothing, and the step runs again with the same review id', async () => {
  const caseId = randomUUID()
  const id = await received(caseId)
  const dueAt = world.now()
  await killedBefore('ai_review_slot: AiReviewSlotClaimed', 'claim-foreign', id)
  await expect(holderOf(caseId)).rejects.toThrow('nobody')
  world.pass(30)
  await runReviewStep(world, 'claim-foreign', id, { todo: { dueAt } })
  const { aiReviewId } = await holderOf(caseId)
  expect(aiReviewId).toBe(derivedV7(id, dueAt))
  expect(await recordedTypes(world, aiReviewId)).toEqual(['AiReviewRequested'])
})

it('a crash between the lookup of the case and the start of the review repeats the lookup', async () => {
  const caseId = randomUUID()
  await claim(await received(caseId))
  const { aiReviewId } = await holderOf(caseId)
  const asked: string[] = []
  world.services.before = (route) => void asked.push(route)
  await killedBefore('ai_review: AiReviewStarted', 'start', aiReviewId)
  expect(await recordedTypes(world, aiReviewId)).toEqual(['AiReviewRequested'])
  await runReviewStep(world, 'start', aiReviewId)
  const lookup = `GET /v1/clinical-api/cases/${caseId}`
  expect(asked.filter((route) => route === lookup)).toHaveLength(2)
  // The addresses are still in the foreign event.
  expect((await recorded(world, aiReviewId))[1]).toMatchObject({
    type: 'AiReviewStarted',
    data: { patientId: ids.patient, addresses: [{ imageId: ids.image }] },
  })
  expect(await recordedTypes(world, aiReviewId)).toContain('AiReviewProviderCaseCreated')
})

it('a request that was erased before the step is rejected', async () => {
  const caseId = randomUUID()
  const id = await received(caseId)
  await world.vault.destroySubject(world.orgId, id)
  world.store.forgetStates()
  await claim(id)
  await expect(holderOf(caseId)).rejects.toThrow('nobody')
  const { state } = await world.otherStore.load(foreignEvents.of(id))
  expect(state).toMatchObject({ status: 'rejected', reason: 'erased' })
})
