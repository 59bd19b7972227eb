import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aiReviewProcess } from '../../../processes/ai-review/ai-review.process.ts'
import { derivedV7 } from '../../../engine/processes/step-identity.ts'
import type { TodoRow } from '../../../engine/processes/process.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewSlotEvent } from '../../../streams/ai-review-slot/events.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { aiReviewChannelStream } from '../../../streams/channels/ai-review.ts'
import { reviewPublicFact } from '../../streams/channel-facts.ts'
import { ids } from '../../streams/facts.ts'
import { openProcessWorld, workOff, type ProcessWorld } from '../../support/process-world.ts'

let world: ProcessWorld

beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())

/** A request for a case on the channel, and its row. */
async function request(caseId: string): Promise<TodoRow> {
  const id = randomUUID()
  const { type, data } = reviewPublicFact('ai_review.requested', { caseId, orgId: world.orgId, event_id: id })
  const metadata = { commandId: randomUUID(), $correlationId: randomUUID(), $causationId: randomUUID() }
  const before = await world.store.readLast(aiReviewChannelStream.name)
  const { revision } = await world.store.appendRaw(aiReviewChannelStream.name, before?.revision ?? 'no_stream', [
    { id, type, data, metadata },
  ])
  const payload = {
    cause: { eventId: id, correlationId: metadata.$correlationId },
    channelRevision: revision.toString(),
  }
  return { key: id, step: 'claim', orgId: world.orgId, dueAt: world.now(), payload }
}

const work = (todo: TodoRow, deps = world.deps) => workOff(world, aiReviewProcess, todo, { deps })

async function eventsOf(stream: string) {
  const events: { readonly type: string; readonly data: unknown }[] = []
  for await (const { type, data } of world.otherStore.readStream(stream)) events.push({ type, data })
  return events
}

const slotOf = (caseId: string) => eventsOf(aiReviewSlots.of(world.orgId, caseId, ids.product).stream)

async function holderOf(caseId: string): Promise<string> {
  const [claimed] = await slotOf(caseId)
  if (claimed?.type !== 'AiReviewSlotClaimed') throw new Error('nobody holds the slot')
  return (claimed.data as Extract<AiReviewSlotEvent, { type: 'AiReviewSlotClaimed' }>['data']).aiReviewId
}

it('opens one review for a request, however often the step runs', async () => {
  const caseId = randomUUID()
  const todo = await request(caseId)
  expect(await work(todo)).toMatchObject({ kind: 'done', position: expect.anything() })
  const review = await holderOf(caseId)
  // Of two workers that take the slot at once, both get success. They must record the same review.
  expect(review).toBe(derivedV7(todo.key, todo.dueAt))
  world.pass(30)
  await work(todo)
  expect(await slotOf(caseId)).toHaveLength(1)
  expect(await holderOf(caseId)).toBe(review)
  const requested = { aiReviewId: review, caseId, orgId: world.orgId, requestedAt: todo.dueAt.toISOString() }
  expect(await eventsOf(aiReviews.of(world.orgId, review).stream)).toEqual([
    { type: 'AiReviewRequested', data: expect.objectContaining(requested) },
  ])
})

it('answers a request once if the slot is taken, and opens no review', async () => {
  const caseId = randomUUID()
  await work(await request(caseId))
  const second = await request(caseId)
  world.pass(30)
  await work(second)
  await work(second)
  const aiReviewId = await holderOf(caseId)
  expect((await slotOf(caseId)).slice(1)).toEqual([
    {
      type: 'AiReviewRequestAnswered',
      data: {
        aiReviewId,
        caseId,
        productId: ids.product,
        requestEventId: second.key,
        request: null,
        answeredAt: second.dueAt.toISOString(),
      },
    },
  ])
  expect(await eventsOf(aiReviews.of(world.orgId, aiReviewId).stream)).toHaveLength(1)
})

it('gives a slot to one of two requests whose steps run at the same time', async () => {
  const caseId = randomUUID()
  const requests = [await request(caseId), await request(caseId)]
  await Promise.all(requests.map((todo) => work(todo)))
  expect((await slotOf(caseId)).map(({ type }) => type)).toEqual(['AiReviewSlotClaimed', 'AiReviewRequestAnswered'])
})

it('appends the first event of a review once after a crash, with the data of its slot', async () => {
  const caseId = randomUUID()
  const todo = await request(caseId)
  const crash = () => {
    throw new Error('crashed')
  }
  expect(await work(todo, { ...world.deps, failpoint: crash })).toMatchObject({ error: expect.any(Error) })
  const review = await holderOf(caseId)
  expect(await eventsOf(aiReviews.of(world.orgId, review).stream)).toEqual([])

  const cause = { eventId: randomUUID(), correlationId: randomUUID() }
  const payload = { cause, caseId, productId: ids.product }
  const open: TodoRow = { key: review, step: 'open', orgId: world.orgId, dueAt: todo.dueAt, payload }
  world.pass(30)
  await work(open)
  await work(open)
  const requested = { aiReviewId: review, caseId, patientId: ids.patient, requestedAt: todo.dueAt.toISOString() }
  expect(await eventsOf(aiReviews.of(world.orgId, review).stream)).toEqual([
    { type: 'AiReviewRequested', data: expect.objectContaining(requested) },
  ])
})

it('opens nothing while the slot is free', async () => {
  const payload = {
    cause: { eventId: randomUUID(), correlationId: randomUUID() },
    caseId: randomUUID(),
    productId: ids.product,
  }
  expect(await work({ key: randomUUID(), step: 'open', orgId: world.orgId, dueAt: world.now(), payload })).toEqual({
    kind: 'done',
  })
})
