import { BACKWARDS, END, jsonEvent, streamNameFilter, type ResolvedEvent } from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import { collect, contractStore, counted, emitted, takeUntil, link } from './contract-store.ts'

const { client, stream, append } = contractStore()

/** `stream/revision` of event and link, `-` for a missing one. */
function parts({ event, link: from }: { event?: ResolvedEvent['event']; link?: ResolvedEvent['link'] }): string {
  const name = (part: { streamId: string; revision: bigint } | undefined): string =>
    part === undefined ? '-' : `${part.streamId}/${part.revision}`
  return `${name(event)} ${name(from)}`
}

async function linkedStream(...targets: string[]): Promise<string> {
  const name = stream('linking')
  await client().appendToStream(
    name,
    targets.map((target) => link(target)),
  )
  return name
}

describe('a link is resolved', () => {
  test('forwards and backwards, among ordinary events', async () => {
    const target = stream()
    await append(target, 3)
    const name = stream('linking')
    await client().appendToStream(name, [counted(7), link(`2@${target}`), link(`0@${target}`)])
    const expected = [`${name}/0 -`, `${target}/2 ${name}/1`, `${target}/0 ${name}/2`]
    expect((await collect(client().readStream(name, { resolveLinkTos: true }))).map(parts)).toEqual(expected)
    const backwards = client().readStream(name, { resolveLinkTos: true, direction: BACKWARDS, fromRevision: END })
    expect((await collect(backwards)).map(parts)).toEqual(expected.toReversed())
  })

  test('only on request; otherwise it is an ordinary event', async () => {
    const target = stream()
    await append(target, 1)
    const name = await linkedStream(`0@${target}`)
    const [read] = await collect(client().readStream(name))
    expect(read?.link).toBeUndefined()
    expect(read?.event).toMatchObject({ streamId: name, type: '$>', isJson: false })
    expect(Buffer.from(read?.event?.data instanceof Uint8Array ? read.event.data : []).toString()).toBe(`0@${target}`)
  })

  test('to complete parts: ids, types, data, metadata and their own positions', async () => {
    const target = stream()
    const written = jsonEvent({ type: 'Measured', data: { n: 1 }, metadata: { by: 'me' } })
    const { position } = await client().appendToStream(target, written)
    const name = stream('linking')
    const pointing = link(`0@${target}`)
    const { position: linkPosition } = await client().appendToStream(name, pointing)
    const [read] = await collect(client().readStream(name, { resolveLinkTos: true }))
    expect(read?.event).toMatchObject({
      id: written.id,
      type: 'Measured',
      data: { n: 1 },
      metadata: { by: 'me' },
      position,
    })
    expect(read?.link).toMatchObject({
      id: pointing.id,
      type: '$>',
      revision: 0n,
      streamId: name,
      position: linkPosition,
    })
    expect(read?.commitPosition).toBe(linkPosition?.commit)
  })

  test('by one step only: a link to a link returns the second link', async () => {
    const target = stream()
    await append(target, 1)
    const middle = await linkedStream(`0@${target}`)
    const name = await linkedStream(`0@${middle}`)
    const [read] = await collect(client().readStream(name, { resolveLinkTos: true }))
    expect(read?.event).toMatchObject({ streamId: middle, type: '$>' })
    expect(read?.link?.streamId).toBe(name)
  })

  test('to a stream with an @ in its name, and to a metadata stream', async () => {
    const target = stream('a@b')
    await append(target, 1)
    await client().setStreamMetadata(target, { maxCount: 5 })
    const name = await linkedStream(`0@${target}`, `0@$$${target}`)
    const read = await collect(client().readStream(name, { resolveLinkTos: true }))
    expect(read.map(parts)).toEqual([`${target}/0 ${name}/0`, `$$${target}/0 ${name}/1`])
  })

  test('in $all, in both directions, with the position of the link', async () => {
    const target = stream()
    const first = await client().appendToStream(target, counted(0))
    const name = await linkedStream(`0@${target}`)
    const forwards = await collect(
      client().readAll({ fromPosition: first.position ?? 'start', maxCount: 200, resolveLinkTos: true }),
    )
    const mine = forwards.find(({ link: from }) => from?.streamId === name)
    expect(parts(mine ?? {})).toBe(`${target}/0 ${name}/0`)
    expect(mine?.commitPosition).toBe(mine?.link?.position?.commit)
    const backwards = await collect(
      client().readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 200, resolveLinkTos: true }),
    )
    expect(parts(backwards.find(({ link: from }) => from?.streamId === name) ?? {})).toBe(`${target}/0 ${name}/0`)
  })
})

describe('a link without a readable target comes alone', () => {
  const lost = async (target: string): Promise<string[]> => {
    const name = await linkedStream(target)
    return (await collect(client().readStream(name, { resolveLinkTos: true }))).map((read) =>
      parts(read).replace(name, 'link'),
    )
  }

  test('to a missing stream, and to a revision beyond the end', async () => {
    const target = stream()
    expect(await lost(`0@${target}`)).toEqual(['- link/0'])
    await append(target, 2)
    expect(await lost(`2@${target}`)).toEqual(['- link/0'])
  })

  test('to a tombstoned and to a soft-deleted stream', async () => {
    const [gone, hidden] = [stream(), stream()]
    await append(gone, 2)
    await append(hidden, 2)
    await client().tombstoneStream(gone)
    await client().deleteStream(hidden)
    expect(await lost(`0@${gone}`)).toEqual(['- link/0'])
    await expect.poll(() => lost(`0@${hidden}`)).toEqual(['- link/0'])
  })

  test('to events that maxCount, truncateBefore and maxAge removed', async () => {
    const [counted3, truncated, aged] = [stream(), stream(), stream()]
    for (const name of [counted3, truncated, aged]) await append(name, 4)
    await client().setStreamMetadata(counted3, { maxCount: 2 })
    await client().setStreamMetadata(truncated, { truncateBefore: 3 })
    await client().setStreamMetadata(aged, { maxAge: 1 })
    expect(await lost(`1@${counted3}`)).toEqual(['- link/0'])
    expect(await lost(`2@${counted3}`)).toEqual([`${counted3}/2 link/0`])
    expect(await lost(`2@${truncated}`)).toEqual(['- link/0'])
    await expect.poll(() => lost(`3@${aged}`), { timeout: 20_000 }).toEqual(['- link/0'])
  })

  test('with data that names no stream or no possible revision', async () => {
    const target = stream()
    await append(target, 1)
    expect(await lost('0')).toEqual(['- link/0'])
    expect(await lost('0@')).toEqual(['- link/0'])
    expect(await lost(`-2@${target}`)).toEqual(['- link/0'])
  })
})

describe('the revision in a link', () => {
  test('-1 means the last event', async () => {
    const target = stream()
    await append(target, 3)
    const name = await linkedStream(`-1@${target}`)
    expect((await collect(client().readStream(name, { resolveLinkTos: true }))).map(parts)).toEqual([
      `${target}/2 ${name}/0`,
    ])
  })

  test('may have spaces around it, a sign and leading zeros', async () => {
    const target = stream()
    await append(target, 2)
    const name = await linkedStream(` 1 @${target}`, `+1@${target}`, `0001@${target}`)
    const expected = [0, 1, 2].map((revision) => `${target}/1 ${name}/${revision}`)
    expect((await collect(client().readStream(name, { resolveLinkTos: true }))).map(parts)).toEqual(expected)
  })

  test('makes the link an ordinary event for a read when it is not a number', async () => {
    const target = stream()
    await append(target, 1)
    const name = await linkedStream(`x@${target}`, '', `1.0@${target}`, `99999999999999999999@${target}`)
    expect((await collect(client().readStream(name, { resolveLinkTos: true }))).map(parts)).toEqual(
      [0, 1, 2, 3].map((revision) => `${name}/${revision} -`),
    )
  })
})

describe('subscriptions', () => {
  test('to a stream: resolve links during catch-up and live, and continue by the revisions of the links', async () => {
    const target = stream()
    await append(target, 3)
    const name = await linkedStream(`2@${target}`, `9@${target}`, `x@${target}`)
    const subscription = client().subscribeToStream(name, { resolveLinkTos: true })
    const seen = takeUntil(subscription, (events) => events.length === 6)
    await emitted(subscription, 'caughtUp')
    await client().appendToStream(name, [link(`0@${target}`), link(`9@${target}`), link(`x@${target}`)])
    expect((await seen).map(parts)).toEqual([
      `${target}/2 ${name}/0`,
      `- ${name}/1`,
      `${name}/2 -`,
      `${target}/0 ${name}/3`,
      `- ${name}/4`,
      `- ${name}/5`,
    ])
  })

  test('to $all: filter by the link, not by its target', async () => {
    const target = stream()
    const { position } = await client().appendToStream(target, counted(0))
    const name = await linkedStream(`0@${target}`)
    const subscription = client().subscribeToAll({
      resolveLinkTos: true,
      fromPosition: position ?? 'start',
      filter: streamNameFilter({ prefixes: [name] }),
    })
    const seen = takeUntil(subscription, (events) => events.length === 2)
    await emitted(subscription, 'caughtUp')
    await client().appendToStream(name, link(`0@${target}`))
    expect((await seen).map(parts)).toEqual([`${target}/0 ${name}/0`, `${target}/0 ${name}/1`])
  })

  test('to $all: work without a filter', async () => {
    const target = stream()
    const { position } = await client().appendToStream(target, counted(0))
    const name = await linkedStream(`0@${target}`)
    const subscription = client().subscribeToAll({ resolveLinkTos: true, fromPosition: position ?? 'start' })
    const seen = await takeUntil(subscription, (events) => events.at(-1)?.link?.streamId === name)
    expect(parts(seen.at(-1) ?? {})).toBe(`${target}/0 ${name}/0`)
  })
})
