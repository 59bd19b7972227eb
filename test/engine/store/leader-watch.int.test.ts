import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, test, vi } from 'vitest'
import { LeaderWatch, type Follower } from '../../../engine/store/leader-watch.ts'
import { supervise, type SupervisedSubscription } from '../../../engine/store/subscription.ts'
import type { LogFrame } from '../../../engine/store/log-frames.ts'
import { createWriteProbe } from '../../../app/write-probe.ts'
import { catalogue as everything } from '../../../streams/catalogue.ts'
import { openTestStore, until, visitCategory } from './fixtures.ts'
import { notLeader, ScriptedServer, unavailable, type ReadCall } from './scripted-server.ts'
import { appended, caughtUp, confirmation, wireEvent } from './wire-messages.ts'

const { catalogue, stream } = visitCategory()

const unused = () => {
  throw new Error('nothing opens it')
}

function frame(position: number, streamId = 'visit-1'): LogFrame {
  const place = BigInt(position)
  return {
    type: 'Noted',
    stream: streamId,
    position: { commit: place, prepare: place },
    revision: place,
    isUpTo: ({ commit }) => place <= commit,
    open: unused,
    stored: unused,
  }
}

/** A watch on a log and a clock of the test. `tick` is one interval. */
function watched() {
  const world = { events: [] as LogFrame[], answer: 'now' as 'now' | 'never' | 'refused', ms: 0, looks: 0, probes: 0 }
  const watch = new LeaderWatch({
    async *newestFirst() {
      world.looks += 1
      if (world.answer === 'refused') throw new Error('no leader')
      if (world.answer === 'never') await new Promise(() => undefined)
      yield* world.events.toReversed()
    },
    now: () => new Date(Date.UTC(2026, 0, 1) + world.ms),
    clockMs: () => world.ms,
    intervalMs: 5,
  })
  const looks = async (count = 1) => {
    const wanted = world.looks + count
    await until(() => world.looks >= wanted)
  }
  watch.start(async () => void (world.probes += 1))
  return Object.assign(world, { watch, shownLooks: looks, [Symbol.dispose]: () => watch.stop() })
}

describe('the watch of the leader', () => {
  test('reports since when no leader answers, after ten seconds', async () => {
    using world = watched()
    await world.shownLooks()
    world.answer = 'refused'
    await world.shownLooks(2)
    expect(world.watch.refusesWritesSince()).toBeUndefined()
    expect(world.watch.hearsLeader()).toBe(false)
    world.ms = 9_999
    expect(world.watch.refusesWritesSince()).toBeUndefined()
    world.ms = 10_000
    expect(world.watch.refusesWritesSince()?.toISOString()).toBe('2026-01-01T00:00:00.000Z')
    world.answer = 'now'
    await world.shownLooks(2)
    await until(() => world.watch.refusesWritesSince() === undefined)
    expect(world.watch.hearsLeader()).toBe(true)
  })

  test('waits ten seconds for a slow answer', async () => {
    using world = watched()
    await world.shownLooks()
    world.answer = 'never'
    await world.shownLooks()
    world.ms = 9_999
    expect([world.watch.refusesWritesSince(), world.watch.hearsLeader()]).toEqual([undefined, true])
    world.ms = 10_000
    expect(world.watch.refusesWritesSince()?.toISOString()).toBe('2026-01-01T00:00:00.000Z')
    expect(world.watch.hearsLeader()).toBe(false)
  })

  test('counts appends without an answer, and probes until one is answered', async () => {
    using world = watched()
    await world.shownLooks(2)
    expect(world.probes).toBe(0)
    world.ms = 4_000
    world.watch.appendEnded(false, 0)
    world.watch.appendEnded(false, 2_000)
    await until(() => world.probes > 1)
    world.ms = 10_000
    expect(world.watch.refusesWritesSince()?.toISOString()).toBe('2026-01-01T00:00:00.000Z')
    world.watch.appendEnded(true, 10_000)
    expect(world.watch.refusesWritesSince()).toBeUndefined()
    const { probes } = world
    await world.shownLooks(3)
    expect(world.probes).toBeLessThanOrEqual(probes + 1)
  })

  test('counts an append without an answer from the last answered one on, also if it was sent before that', async () => {
    using world = watched()
    await world.shownLooks()
    world.ms = 9_000
    world.watch.appendEnded(true, 8_000)
    world.ms = 10_000
    world.watch.appendEnded(false, 0)
    expect(world.watch.refusesWritesSince()).toBeUndefined()
    world.ms = 19_000
    expect(world.watch.refusesWritesSince()?.toISOString()).toBe('2026-01-01T00:00:09.000Z')
  })

  test('shows each follower the newest event for it, and each event once', async () => {
    using world = watched()
    const shown: [string, bigint][] = []
    const follow = (name: string) =>
      world.watch.follow({
        accepts: ({ stream: of }) => of === name,
        mustReach: ({ position }) => void shown.push([name, position.commit]),
        check: () => undefined,
      })
    follow('visit-1')
    const leave = follow('visit-2')
    world.events = [frame(1), frame(2, 'visit-2'), frame(3)]
    await until(() => shown.length === 2)
    expect(new Map(shown.splice(0))).toEqual(
      new Map([
        ['visit-1', 3n],
        ['visit-2', 2n],
      ]),
    )
    await world.shownLooks(2)
    expect(shown).toEqual([])
    leave()
    world.events.push(
      ...Array.from({ length: 300 }, (_, index) => frame(4 + index, 'visit-2')),
      frame(400),
      frame(401, 'other'),
    )
    await until(() => shown.length === 1)
    expect(shown).toEqual([['visit-1', 400n]])
  })
})

test('a look after a long outage reads a limited part of the log', async () => {
  let read = 0
  let looks = 0
  const watch = new LeaderWatch({
    async *newestFirst() {
      looks += 1
      // Nothing of this is for the follower.
      for (let position = looks === 1 ? 1 : 20_000; position > 0; position -= 1) {
        read += 1
        yield frame(position)
      }
    },
    now: () => new Date(0),
    intervalMs: 5,
  })
  watch.follow({ accepts: () => false, mustReach: () => undefined, check: () => undefined })
  watch.start(async () => undefined)
  await until(() => looks > 2)
  watch.stop()
  expect(read).toBeLessThan(5_000)
})

describe('a node that is cut off from its cluster', () => {
  test('is left by a silent subscription: another node delivers from the same place on', async () => {
    const name = stream()
    const event = {
      id: randomUUID(),
      stream: name,
      type: 'VisitNoted',
      revision: 0,
      position: 20,
      data: '{}',
      metadata: '{}',
    }
    /** Confirms, reports caught-up, answers pings, and delivers nothing. */
    const silent = (call: ReadCall) => {
      call.write(confirmation())
      call.write(caughtUp())
    }
    let leads = 0
    const isSubscription = (call: ReadCall) => call.request.getOptions()?.hasSubscription() === true
    const members = () =>
      [cutOff.port, other.port].map(
        (port, index) => ({ port, state: index === leads ? 'LEADER' : 'FOLLOWER' }) as const,
      )
    await using cutOff: ScriptedServer = await ScriptedServer.start({
      onGossip: members,
      onRead: (call) => {
        if (isSubscription(call)) silent(call)
        else notLeader(call, other.port)
      },
    })
    await using other: ScriptedServer = await ScriptedServer.start({
      onGossip: members,
      onRead: (call) => {
        if (isSubscription(call)) call.write(confirmation())
        call.write(wireEvent(event))
        if (!isSubscription(call)) call.end()
      },
    })
    const url = `esdb://127.0.0.1:${cutOff.port},127.0.0.1:${other.port}?tls=false`
    await using store = await openTestStore({ catalogue, url })
    const seen: string[] = []
    const following = store.subscribeToStream({
      name: 'following',
      stream: name,
      fromRevision: 'start',
      onEvent: () => undefined,
      onUndecodable: ({ id }) => void seen.push(id),
      signal: new AbortController().signal,
    })
    await until(() => following.stats().connected)
    leads = 1
    store.watchLeader(() => Promise.resolve())
    await until(() => store.subscriptionsBehind().length === 1)
    expect(store.subscriptionsBehind()).toMatchObject([{ name: 'following' }])
    expect(following.stats().caughtUp).toBe(false)
    await until(() => seen.length > 0)
    expect(seen).toEqual([event.id])
    expect(following.stats().restarts).toBe(1)
    expect(store.subscriptionsBehind()).toEqual([])
  })
})

test('a subscription that a node accepts and does not confirm is opened again, and goes on where it was', async () => {
  const name = stream()
  const opened: (string | undefined)[] = []
  await using server = await ScriptedServer.start({
    onRead: (call) => {
      const options = call.request.getOptions()
      if (options?.hasSubscription() !== true) return void call.end()
      opened.push(options.getStream()?.hasRevision() === true ? options.getStream()?.getRevision() : 'start')
      // It delivers, its connection ends, and the node that has returned never serves the next subscription.
      if (opened.length === 2) return
      call.write(confirmation())
      const isFirst = opened.length === 1
      const revision = isFirst ? 0 : 1
      call.write(
        wireEvent({
          id: randomUUID(),
          stream: name,
          type: 'VisitNoted',
          revision,
          position: 20 + revision,
          data: '{}',
          metadata: '{}',
        }),
      )
      if (isFirst) unavailable(call)
      else call.write(caughtUp())
    },
  })
  await using store = await openTestStore({ catalogue, url: server.url })
  const seen: bigint[] = []
  const following = store.subscribeToStream({
    name: 'following',
    stream: name,
    fromRevision: 'start',
    onEvent: () => undefined,
    onUndecodable: ({ revision }) => void seen.push(revision),
    signal: new AbortController().signal,
  })
  await until(() => following.stats().caughtUp)
  expect(seen).toEqual([0n, 1n])
  expect(opened).toEqual(['start', '0', '0'])
})

test('a subscription that waits for its confirmation does not end the others of a node that answers them', async () => {
  let first: ReadCall | undefined
  let opened = 0
  await using server = await ScriptedServer.start({
    onRead: (call) => {
      if (call.request.getOptions()?.hasSubscription() !== true) return void call.end()
      opened += 1
      if (opened === 2) first?.write(caughtUp())
      else call.write(confirmation())
      first ??= call
    },
  })
  await using store = await openTestStore({ catalogue, url: server.url })
  const follow = (name: string) =>
    store.subscribeToStream({
      name,
      stream: stream(),
      fromRevision: 'start',
      onEvent: () => undefined,
      signal: new AbortController().signal,
    })
  const served = follow('served')
  await until(() => served.stats().connected)
  const waiting = follow('waiting')
  await until(() => waiting.stats().connected)
  expect([served.stats().restarts, waiting.stats().restarts, opened]).toEqual([0, 1, 3])
})

test('a handler that takes its time is no silence of the node', async () => {
  const call = Object.assign(new Readable({ objectMode: true, read: () => undefined }), { cancel: () => undefined })
  const held = Promise.withResolvers<void>()
  const ending = new AbortController()
  const [begun, left] = [vi.fn(() => held.promise), vi.fn()]
  const followers: Follower[] = []
  const following = {
    name: 'following',
    following: undefined,
    start: { position: 'start', revision: 'start' },
    delivery: { onEvent: begun },
    callbacks: { signal: ending.signal },
    onCheckpoint: undefined,
    open: async () => call,
    accepts: () => true,
    isHandled: () => false,
    node: { heard: () => undefined, leaveNodeOf: left, whenOverdue: () => () => undefined },
    leader: { follow: (follower: Follower) => followers.push(follower), hearsLeader: () => true },
    codec: { decode: (event: object) => event },
    now: () => new Date(),
    logger: undefined,
  }
  const { ended } = supervise(following as unknown as SupervisedSubscription)
  const event = { id: randomUUID(), stream: 'visit-1', type: 'VisitNoted', revision: 0, position: 20 }
  for (const message of [confirmation(), wireEvent({ ...event, data: '{}', metadata: '{}' })])
    call.push(Buffer.from(message.serializeBinary()))
  await until(() => begun.mock.calls.length === 1)
  followers[0]?.mustReach(frame(30))

  let aheadMs = 20_000
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs)
  const checked = async () => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    followers[0]?.check()
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    return left.mock.calls.length
  }
  held.resolve()
  expect(await checked()).toBe(0)
  aheadMs += 20_000
  expect(await checked()).toBe(1)
  clock.mockRestore()
  ending.abort()
  await ended
})

test('a probe appends one event to its own stream, and begins another one after a failure', async () => {
  let isRefusing = false
  await using server = await ScriptedServer.start({
    onAppend: (request, call, number) => {
      if (isRefusing) call.emit('error', { code: 7, details: 'refused' })
      else call.write(appended(request, Math.max(0, number - 2), 10 * number))
    },
    onRead: (call) => call.end(),
  })
  await using store = await openTestStore({ catalogue: everything, url: server.url })
  const probe = createWriteProbe(store, () => new Date(0))
  await probe()
  await probe()
  isRefusing = true
  await expect(probe()).rejects.toThrow()
  isRefusing = false
  await expect(probe()).rejects.toThrow()
  const written = server.appends.map(({ stream: name, expected }) => [name.replace(/-[0-9a-f-]{36}$/, '-ID'), expected])
  expect(written.slice(0, 3)).toEqual([
    ['write_probe-ID', 'no_stream'],
    ['$$write_probe-ID', 'no_stream'],
    ['write_probe-ID', '0'],
  ])
  const names = server.appends
    .filter(({ stream: name }) => name.startsWith('write_probe'))
    .map(({ stream: name }) => name)
  expect(new Set(names).size).toBe(2)
})
