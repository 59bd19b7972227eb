import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { aiReviewSlots, type SlotHolder } from '../../../streams/ai-review-slot/aggregate.ts'
import { foreignEventId, foreignEvents } from '../../../streams/foreign-event/aggregate.ts'
import { foreignChannel, foreignFact, foreignRequest } from '../../streams/foreign-facts.ts'
import { ids } from '../../streams/facts.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { recorded, recordedTypes, runReviewStep } from './review-steps.ts'

let world: ProcessWorld

beforeAll(async () => {
  world = await openProcessWorld()
})
beforeEach(() => world.reset())
afterAll(() => world.close())

const imageKey = () => `images/2026-03-01/${world.orgId}/${ids.assessment}/${ids.image}/${randomUUID()}`

/** A recorded request of another service, with an image that it stored and signed. Returns the id of the record. */
async function received(caseId: string): Promise<string> {
  const key = imageKey()
  await world.deps.objects.put(key, Buffer.from('bytes'), 'image/jpeg')
  const presignedUrl = (await world.deps.objects.presignRead(key, 600)).url
  const eventId = randomUUID()
  const id = foreignEventId(foreignChannel, eventId)
  const images = foreignRequest.images.map((image) => ({ ...image, presignedUrl, zoom: 2 }))
  const request = { ...foreignRequest, orgId: world.orgId, caseId: caseId.toUpperCase(), images, urgency: 'high' }
  const fact = foreignFact('ForeignEventReceived', {
    foreignEventId: id,
    eventId,
    orgId: world.orgId,
    organisationIds: [world.orgId],
    phiSubject: id,
    data: JSON.stringify(request),
  })
  const context = { commandId: id, correlationId: id, orgId: world.orgId }
  await world.store.append(foreignEvents.of(id), 'no_stream', [fact], context)
  return id
}

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
