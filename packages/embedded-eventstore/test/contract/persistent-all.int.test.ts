import { randomUUID } from 'node:crypto'
import {
  END,
  START,
  eventTypeFilter,
  persistentSubscriptionToAllSettingsFromDefaults,
  streamNameFilter,
  type Filter,
  type PersistentSubscriptionToAllSettings,
} from '@eventstore/db-client'
import { afterEach, describe, expect, test } from 'vitest'
import { collect, contractStore, counted, failure, link } from './contract-store.ts'
import { SOON, TestConsumer } from './persistent-consumer.ts'

const { client, stream, append } = contractStore()
const made: string[] = []

afterEach(async () => {
  for (const group of made.splice(0))
    await client()
      .deletePersistentSubscriptionToAll(group)
      .catch(() => undefined)
})

function settings(changes: Partial<PersistentSubscriptionToAllSettings> = {}): PersistentSubscriptionToAllSettings {
  return persistentSubscriptionToAllSettingsFromDefaults({
    startFrom: START,
    checkPointLowerBound: 1,
    checkPointUpperBound: 1,
    ...changes,
  })
}

async function group(
  filter: Filter | undefined,
  changes: Partial<PersistentSubscriptionToAllSettings> = {},
): Promise<string> {
  const name = `group-${randomUUID()}`
  made.push(name)
  await client().createPersistentSubscriptionToAll(name, settings(changes), filter === undefined ? {} : { filter })
  return name
}

async function consumer(name: string, bufferSize = 10): Promise<TestConsumer> {
  return new TestConsumer(client().subscribeToPersistentSubscriptionToAll(name, { bufferSize })).joined()
}

function isNote(streamId: string | undefined): boolean {
  return streamId?.startsWith('$persistentsubscription-$all::') === true
}

describe('a group on $all', () => {
  test('receives all events from a position (inclusive)', async () => {
    const name = stream()
    const { position } = await client().appendToStream(name, counted(0))
    await append(name, 2, { first: 1 })
    const one = await consumer(await group(undefined, { startFrom: position ?? START }))
    await one.got(3)
    expect(one.delivered.slice(0, 3).map(({ event }) => [event?.streamId, event?.revision])).toEqual(
      [0n, 1n, 2n].map((revision) => [name, revision]),
    )
  })

  test('from the end, receives only new events', async () => {
    await append(stream(), 3)
    const one = await consumer(await group(undefined, { startFrom: END }))
    const name = stream()
    await append(name, 2)
    await expect.poll(() => one.delivered.filter(({ event }) => event?.streamId === name).length, SOON).toBe(2)
    expect(
      one.delivered.some(({ event }) => event?.streamId.startsWith('contract-') === true && event.streamId !== name),
    ).toBe(false)
  })

  test('never receives the own records of groups on $all; neither does a read', async () => {
    const own = await group(undefined, { startFrom: END })
    const one = await consumer(own, 50)
    const name = stream()
    await append(name, 2)
    await expect.poll(() => one.numbers, SOON).toEqual(expect.arrayContaining([0, 1]))
    const mine = one.delivered.flatMap(({ event }, place) => (event?.streamId === name ? [place] : []))
    await one.nack('park', 'later', mine[0] ?? -1)
    await one.ack(...[...one.delivered.keys()].filter((place) => place !== mine[0]))
    await expect
      .poll(async () => (await client().getPersistentSubscriptionToAllInfo(own)).stats.parkedMessageCount, SOON)
      .toBe(1n)
    await expect
      .poll(
        async () =>
          collect(client().readStream(`$persistentsubscription-$all::${own}-checkpoint`)).then(
            ({ length }) => length,
            () => 0,
          ),
        SOON,
      )
      .toBeGreaterThan(0)
    await append(name, 1, { first: 2 })
    await expect.poll(() => one.numbers, SOON).toContain(2)
    expect(one.delivered.filter(({ event }) => isNote(event?.streamId))).toEqual([])
    const everything = await collect(client().readAll({ direction: 'backwards', fromPosition: END, maxCount: 200 }))
    expect(everything.filter(({ event }) => isNote(event?.streamId))).toEqual([])
  })

  test('writes checkpoints by position and continues from there', async () => {
    const name = stream()
    const own = await group(streamNameFilter({ prefixes: [name] }))
    const one = await consumer(own)
    await append(name, 3)
    await one.got(3)
    await one.ack(0, 1)
    const second = one.delivered[1]?.event?.position
    await expect
      .poll(
        async () => (await client().getPersistentSubscriptionToAllInfo(own)).stats.lastCheckpointedEventPosition,
        SOON,
      )
      .toEqual(second)
    const checkpoints = `$persistentsubscription-$all::${own}-checkpoint`
    await expect
      .poll(
        async () =>
          collect(client().readStream(checkpoints)).then(
            (events) => events.at(-1)?.event?.data,
            () => undefined,
          ),
        SOON,
      )
      .toBe(`C:${second?.commit}/P:${second?.prepare}`)
    await client().updatePersistentSubscriptionToAll(own, settings())
    await expect.poll(() => one.errors, SOON).toEqual(['persistent-subscription-dropped'])
    const two = await consumer(own)
    await two.got(1)
    expect(two.numbers).toEqual([2])
  })

  test('parks and replays', async () => {
    const name = stream()
    const own = await group(streamNameFilter({ prefixes: [name] }))
    const one = await consumer(own)
    await append(name, 1)
    await one.got(1)
    await one.nack('park', 'later', 0)
    await expect
      .poll(async () => (await client().getPersistentSubscriptionToAllInfo(own)).stats.parkedMessageCount, SOON)
      .toBe(1n)
    await client().replayParkedMessagesToAll(own)
    await one.got(2)
    expect(one.delivered[1]).toMatchObject({
      event: { streamId: name, revision: 0n },
      link: { streamId: `$persistentsubscription-$all::${own}-parked` },
    })
  })
})

describe('with a filter', () => {
  test.each([
    [
      'stream names by prefix',
      (own: string) => streamNameFilter({ prefixes: [`one${own}`, `two${own}`] }),
      [0, 1, 10, 11],
    ],
    [
      'stream names by regular expression',
      (own: string) => streamNameFilter({ regex: `^(one|three)${own}` }),
      [0, 1, 20, 21],
    ],
    ['event types by prefix', (own: string) => eventTypeFilter({ prefixes: [`Even${own}`] }), [0, 10, 20]],
    ['event types by regular expression', (own: string) => eventTypeFilter({ regex: `^Odd${own}$` }), [1, 11, 21]],
  ])('%s: filters stored and new events', async (_name, filter, expected) => {
    const own = randomUUID().replaceAll('-', '')
    const write = async (which: string, first: number): Promise<void> => {
      await client().appendToStream(`${which}${own}`, [counted(first, `Even${own}`), counted(first + 1, `Odd${own}`)])
    }
    await write('one', 0)
    const one = await consumer(await group(filter(own)))
    await write('two', 10)
    await write('three', 20)
    await one.got(expected.length)
    expect(one.numbers).toEqual(expected)
  })

  test('that excludes most events: checkpoints advance with the excluded ones', async () => {
    const name = stream()
    const own = await group(streamNameFilter({ prefixes: [name] }), { startFrom: END, checkPointUpperBound: 10 })
    await append(name, 1)
    const one = await consumer(own)
    await one.got(1)
    await one.ack(0)
    await append(stream(), 40)
    const first = one.delivered[0]?.event?.position?.commit ?? 0n
    await expect
      .poll(
        async () =>
          (await client().getPersistentSubscriptionToAllInfo(own)).stats.lastCheckpointedEventPosition?.commit ?? 0n,
        SOON,
      )
      .toBeGreaterThan(first)
  })

  test('survives an update of the group', async () => {
    const name = stream()
    const own = await group(streamNameFilter({ prefixes: [name] }))
    await client().updatePersistentSubscriptionToAll(own, settings({ maxRetryCount: 3 }))
    const one = await consumer(own)
    await append(stream(), 2)
    await append(name, 1)
    await one.got(1)
    expect(one.delivered.map(({ event }) => event?.streamId)).toEqual([name])
  })

  test('and resolved links: a new link is filtered by its target', async () => {
    const [target, links] = [stream(), stream()]
    const byTarget = await consumer(
      await group(streamNameFilter({ prefixes: [target] }), { startFrom: END, resolveLinkTos: true }),
    )
    const byLink = await consumer(
      await group(streamNameFilter({ prefixes: [links] }), { startFrom: END, resolveLinkTos: true }),
    )
    await append(target, 1)
    await client().appendToStream(links, [link(`0@${target}`), counted(1)])
    await append(target, 1, { first: 2 })
    await byTarget.got(3)
    await byLink.got(1)
    expect(byTarget.delivered.map(({ event, link: by }) => [event?.streamId, by?.streamId])).toEqual([
      [target, undefined],
      [target, links],
      [target, undefined],
    ])
    expect(byLink.numbers).toEqual([1])
  })

  test('and resolved links: a link from the log is filtered by itself', async () => {
    const [target, links] = [stream(), stream()]
    const { position } = await client().appendToStream(target, counted(0))
    await client().appendToStream(links, [link(`0@${target}`), counted(1)])
    const startFrom = position ?? START
    const byLink = await consumer(
      await group(streamNameFilter({ prefixes: [links] }), { startFrom, resolveLinkTos: true }),
    )
    const byTarget = await consumer(
      await group(streamNameFilter({ prefixes: [target] }), { startFrom, resolveLinkTos: true }),
    )
    await byLink.got(2)
    expect(byLink.delivered.map(({ event, link: by }) => [event?.streamId, by?.streamId])).toEqual([
      [target, links],
      [links, undefined],
    ])
    await byTarget.got(1)
    await append(target, 1, { first: 2 })
    await byTarget.got(2)
    expect(byTarget.numbers).toEqual([0, 2])
  })

  test('with an invalid regular expression is refused', async () => {
    expect(
      (
        await failure(
          client().createPersistentSubscriptionToAll('broken', settings(), { filter: eventTypeFilter({ regex: '(' }) }),
        )
      ).type,
    ).toBe('unknown')
  })
})

describe('a request about a group on $all', () => {
  test('fails for an existing group on create, and for a missing group otherwise', async () => {
    const own = await group(undefined)
    expect(await failure(client().createPersistentSubscriptionToAll(own, settings()))).toMatchObject({
      type: 'persistent-subscription-exists',
      streamName: '$all',
      groupName: own,
    })
    for (const call of [
      () => client().updatePersistentSubscriptionToAll('nobody', settings()),
      () => client().deletePersistentSubscriptionToAll('nobody'),
      () => client().getPersistentSubscriptionToAllInfo('nobody'),
      () => client().replayParkedMessagesToAll('nobody'),
    ])
      expect(await failure(call())).toMatchObject({
        type: 'persistent-subscription-does-not-exist',
        streamName: '$all',
        groupName: 'nobody',
      })
  })

  test('fails for a start position that is not written yet', async () => {
    const startFrom = { commit: 10n ** 15n, prepare: 10n ** 15n }
    expect(await failure(client().createPersistentSubscriptionToAll('later', settings({ startFrom })))).toMatchObject({
      type: 'persistent-subscription-failed',
      reason: expect.stringContaining('Invalid Start From position'),
    })
  })

  test('returns info and lists', async () => {
    const own = await group(streamNameFilter({ prefixes: ['nothing-'] }), {
      startFrom: END,
      consumerStrategyName: 'DispatchToSingle',
    })
    expect(await client().getPersistentSubscriptionToAllInfo(own)).toMatchObject({
      eventSource: '$all',
      groupName: own,
      settings: { startFrom: 'end', consumerStrategyName: 'DispatchToSingle' },
    })
    expect((await client().listPersistentSubscriptionsToAll()).map(({ groupName }) => groupName)).toContain(own)
    expect((await client().listAllPersistentSubscriptions()).map(({ groupName }) => groupName)).toContain(own)
  })
})
