import { describe, expect, test } from 'vitest'
import { collect, contractStore, failure, link } from './contract-store.ts'
import { SOON, consumer, settings, type TestConsumer } from './persistent-consumer.ts'

const { answers, client, stream, append } = contractStore()

/** A group whose consumer has parked its first `count` messages. */
async function withParked(
  count: number,
  changes: Parameters<typeof settings>[0] = {},
): Promise<{ name: string; one: TestConsumer }> {
  const name = stream()
  await append(name, count)
  await client().createPersistentSubscriptionToStream(name, 'group', settings(changes))
  const one = await consumer(client(), name, 'group')
  await one.got(count)
  for (let place = 0; place < count; place += 1) await one.nack('park', `reason ${place}`, place)
  await parked(name, count)
  return { name, one }
}

async function parked(name: string, count: number): Promise<void> {
  await expect
    .poll(
      async () => (await client().getPersistentSubscriptionToStreamInfo(name, 'group')).stats.parkedMessageCount,
      SOON,
    )
    .toBe(BigInt(count))
}

function parkedStream(name: string): string {
  return `$persistentsubscription-${name}::group-parked`
}

function linkText(data: unknown): string | undefined {
  return data instanceof Uint8Array ? Buffer.from(data).toString() : undefined
}

test('a parked message is a link with the reason, and does not hold the checkpoint back', async () => {
  const { name } = await withParked(2)
  const links = await collect(client().readStream(parkedStream(name)))
  expect(links.map(({ event }) => [event?.type, event?.isJson, linkText(event?.data)])).toEqual([
    ['$>', false, `0@${name}`],
    ['$>', false, `1@${name}`],
  ])
  expect(links.map(({ event }) => event?.metadata)).toEqual([
    { added: expect.stringMatching(/^\d{4}-\d\d-\d\dT/), reason: "Client explicitly NAK'ed message.\nreason 0" },
    {
      added: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      reason: "Client explicitly NAK'ed message.\nreason 1",
      subscriptionEventNumber: 1,
    },
  ])
  await expect
    .poll(
      async () =>
        (await client().getPersistentSubscriptionToStreamInfo(name, 'group')).stats.lastCheckpointedEventRevision,
      SOON,
    )
    .toBe(1n)
})

test('a read that resolves links returns the events of the parked messages', async () => {
  const { name } = await withParked(2)
  const resolved = await collect(client().readStream(parkedStream(name), { resolveLinkTos: true }))
  expect(resolved.map(({ event, link: from }) => [event?.streamId, event?.revision, from?.revision])).toEqual([
    [name, 0n, 0n],
    [name, 1n, 1n],
  ])
})

describe('a replay', () => {
  test('returns parked messages with their links, and acknowledged ones are no longer parked', async () => {
    const { name, one } = await withParked(3)
    await client().replayParkedMessagesToStream(name, 'group')
    await one.got(6)
    const again = one.delivered.slice(3)
    expect(again.map(({ event }) => event?.revision)).toEqual([0n, 1n, 2n])
    expect(again.map((message) => [message.link?.streamId, message.link?.revision, message.retryCount])).toEqual(
      [0n, 1n, 2n].map((revision) => [parkedStream(name), revision, 0]),
    )
    expect(
      again.map(
        ({ event, link: from, commitPosition }) =>
          event?.position?.commit === from?.position?.commit && commitPosition === from?.position?.commit,
      ),
    ).toEqual([true, true, true])
    await one.ack(3, 4, 5)
    await parked(name, 0)
    await expect.poll(async () => collect(client().readStream(parkedStream(name))), SOON).toEqual([])
    expect((await client().getStreamMetadata(parkedStream(name))).metadata).toMatchObject({
      truncateBefore: 3,
      acl: { readRoles: '$admins' },
    })
  })

  test('up to a limit leaves the messages from there on parked', async () => {
    const { name, one } = await withParked(4)
    await client().replayParkedMessagesToStream(name, 'group', { stopAt: 2 })
    await one.got(6)
    await one.ack(4, 5)
    await parked(name, 2)
    expect(one.numbers).toEqual([0, 1, 2, 3, 0, 1])
    await client().replayParkedMessagesToStream(name, 'group')
    await one.got(8)
    expect(one.numbers.slice(6)).toEqual([2, 3])
  })

  test('handles more messages than one read returns', async () => {
    const { name, one } = await withParked(9, { readBatchSize: 2 })
    await client().replayParkedMessagesToStream(name, 'group')
    await one.got(18)
    expect(one.numbers.slice(9)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  })

  test('of a message that is parked again links to the event again', async () => {
    const { name, one } = await withParked(1)
    await client().replayParkedMessagesToStream(name, 'group')
    await one.got(2)
    await one.nack('park', 'still', 1)
    await parked(name, 1)
    await client().replayParkedMessagesToStream(name, 'group')
    await one.got(3)
    expect(one.delivered.at(-1)?.event).toMatchObject({ streamId: name, revision: 0n })
    expect(one.delivered.at(-1)?.link?.revision).toBe(1n)
  })

  test('counts retries from 0, and parks again at the limit', async () => {
    const { name, one } = await withParked(1, { maxRetryCount: 1 })
    await client().replayParkedMessagesToStream(name, 'group')
    await one.got(2)
    await one.nack('retry', 'again', 1)
    await one.got(3)
    expect(one.retries).toEqual([0, 0, 1])
    await one.nack('retry', 'again', 2)
    await parked(name, 1)
  })

  test('works beside new events', async () => {
    const { name, one } = await withParked(2)
    await append(name, 2, { first: 2 })
    await one.got(4)
    await client().replayParkedMessagesToStream(name, 'group')
    await one.got(6)
    expect(one.numbers.toSorted((low, high) => Number(low) - Number(high))).toEqual([0, 0, 1, 1, 2, 3])
  })

  test('returns the link alone when the event is gone, or drops it', async () => {
    const { name, one } = await withParked(2)
    await client().setStreamMetadata(name, { truncateBefore: 1 })
    await expect.poll(async () => (await collect(client().readStream(name))).length, SOON).toBe(1)
    await client().replayParkedMessagesToStream(name, 'group')
    // They return in order, so the message of the event that is left comes last.
    const again = () => one.delivered.slice(2)
    await expect.poll(() => again().at(-1)?.event?.revision, SOON).toBe(1n)
    const received = again().map(({ event, link: from }) => [event?.revision, from?.streamId, from?.type])
    const [alone, kept] = [undefined, 1n].map((revision) => [revision, parkedStream(name), '$>'])
    expect(answers([alone, kept], [kept])).toContainEqual(received)
  })

  test('of no parked messages has no effect', async () => {
    const name = stream()
    await client().createPersistentSubscriptionToStream(name, 'group', settings())
    await client().replayParkedMessagesToStream(name, 'group')
    expect((await client().getPersistentSubscriptionToStreamInfo(name, 'group')).status).toBe('Live')
  })

  test('refuses a limit below zero', async () => {
    const { name } = await withParked(1)
    expect(await failure(client().replayParkedMessagesToStream(name, 'group', { stopAt: -1 }))).toMatchObject({
      type: 'persistent-subscription-failed',
    })
    await parked(name, 1)
  })
})

describe('a group on a stream of links', () => {
  test('that resolves links receives the events; answers refer to the links', async () => {
    const [target, links] = [stream(), stream()]
    await append(target, 2)
    await client().createPersistentSubscriptionToStream(links, 'group', settings({ resolveLinkTos: true }))
    await client().appendToStream(links, [link(`0@${target}`), link(`1@${target}`), link(`9@${target}`)])
    const one = await consumer(client(), links, 'group')
    await one.got(3)
    expect(one.delivered.map(({ event, link: from }) => [event?.streamId, event?.revision, from?.revision])).toEqual([
      [target, 0n, 0n],
      [target, 1n, 1n],
      [undefined, undefined, 2n],
    ])
    await one.nack('park', 'later', 1, 2)
    await one.ack(0)
    await parked(links, 2)
    const kept = await collect(client().readStream(parkedStream(links)))
    expect(kept.map(({ event }) => linkText(event?.data))).toEqual([`1@${target}`, `9@${target}`])
  })

  test('that does not resolve links receives the links', async () => {
    const [target, links] = [stream(), stream()]
    await append(target, 1)
    await client().appendToStream(links, link(`0@${target}`))
    await client().createPersistentSubscriptionToStream(links, 'group', settings())
    const one = await consumer(client(), links, 'group')
    await one.got(1)
    expect(one.delivered[0]).toMatchObject({ event: { type: '$>', streamId: links } })
    expect(one.delivered[0]?.link).toBeUndefined()
  })
})
