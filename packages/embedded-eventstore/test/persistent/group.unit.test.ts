import {
  array,
  assert,
  boolean,
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  property,
  record,
  tuple,
  type Arbitrary,
} from 'fast-check'
import { expect, test } from 'vitest'
import { STRATEGIES, type GroupSettings } from '../../persistent/group-settings.ts'
import { Group } from '../../persistent/group.ts'
import type { GroupCommand, Message } from '../../persistent/message.ts'
import { StreamBuffer } from '../../persistent/stream-buffer.ts'
import { GroupWorld } from './group-world.ts'
import { smallGroup } from './group-settings.ts'

const SETTINGS: GroupSettings = {
  ...smallGroup,
  source: { kind: 'stream', stream: 'source' },
  messageTimeout: 5000,
  maxRetryCount: 3,
  checkpointAfter: 2000,
  maxCheckpointCount: 5,
  liveBufferSize: 4,
  readBatchSize: 3,
  historyBufferSize: 8,
}

type Step = (world: GroupWorld) => void

const aStep: Arbitrary<Step> = oneof(
  {
    weight: 8,
    arbitrary: tuple(boolean(), constantFrom('a', 'b', 'c', 'd')).map(
      ([foreign, key]): Step =>
        (world) =>
          world.append(foreign, key),
    ),
  },
  { weight: 5, arbitrary: constant<Step>((world) => world.passNews()) },
  { weight: 6, arbitrary: constant<Step>((world) => world.read()) },
  {
    weight: 10,
    arbitrary: nat(20).map(
      (choice): Step =>
        (world) =>
          world.answer(choice, 'ack'),
    ),
  },
  {
    weight: 4,
    arbitrary: tuple(nat(20), constantFrom('park' as const, 'retry' as const, 'skip' as const, 'stop' as const)).map(
      ([choice, action]): Step =>
        (world) =>
          world.answer(choice, action),
    ),
  },
  {
    weight: 1,
    arbitrary: nat(30).map(
      (n): Step =>
        (world) =>
          world.answerLate(n),
    ),
  },
  {
    weight: 3,
    arbitrary: tuple(constantFrom('one', 'two', 'three'), nat(4)).map(
      ([id, size]): Step =>
        (world) =>
          world.connect(id, size),
    ),
  },
  {
    weight: 1,
    arbitrary: constantFrom('one', 'two', 'three').map(
      (id): Step =>
        (world) =>
          world.disconnect(id),
    ),
  },
  {
    weight: 3,
    arbitrary: constantFrom(500, 1000, 6000).map(
      (time): Step =>
        (world) =>
          world.tick(time),
    ),
  },
  {
    weight: 1,
    arbitrary: nat(6).map(
      (stopAt): Step =>
        (world) =>
          world.replay(stopAt),
    ),
  },
  { weight: 1, arbitrary: constant<Step>((world) => world.restart()) },
)

const someSettings = record({
  strategy: constantFrom(...STRATEGIES),
  liveBufferSize: integer({ min: 0, max: 6 }),
  historyBufferSize: integer({ min: 4, max: 12 }),
  readBatchSize: integer({ min: 0, max: 3 }),
  maxRetryCount: nat(3),
  minCheckpointCount: nat(3),
  maxCheckpointCount: integer({ min: 1, max: 6 }),
  checkpointAfter: constantFrom(0, 1000),
})

test('loses no event and repeats no handled one, in any order of actions', () => {
  assert(
    property(someSettings, array(aStep, { maxLength: 150, size: 'max' }), (settings, steps) => {
      const world = new GroupWorld({ ...SETTINGS, ...settings })
      for (const step of steps) step(world)
      expect(world.handleRest()).toEqual([])
    }),
    { numRuns: 2000 },
  )
})

test('a replay returns each parked message once, also when the node stops before they are handled', () => {
  assert(
    property(someSettings, array(aStep, { maxLength: 80, size: 'max' }), (settings, steps) => {
      const world = new GroupWorld({ ...SETTINGS, ...settings })
      for (const step of steps) step(world)
      world.restart()
      world.handleRest()
      world.replay(Infinity)
      world.handleRest()
      expect(world.parked.filter(({ isDone }) => !isDone)).toEqual([])
    }),
    { numRuns: 500 },
  )
})

test('a group that has read to the end keeps up, also when events appended meanwhile are unreadable', () => {
  const group = new Group<string>(SETTINGS, undefined, (event) => event)
  expect(group.start()).toEqual([{ kind: 'read', from: 0, count: 3 }])
  expect(group.appended({ id: 'hidden', position: 0, event: 'hidden' }, 0)).toEqual([])
  expect(group.pageRead({ events: [], next: 1, isEnd: true }, 0)).toEqual([])
  expect(group.state).toMatchObject({ status: 'Live', counts: { read: 0, live: 0 } })
  group.addConsumer('one', 5, 0)
  expect(group.appended({ id: 'next', position: 1, event: 'next' }, 0)).toMatchObject([
    { kind: 'deliver', message: { id: 'next' } },
  ])
})

test('any consumer can acknowledge a message; an unknown id has no effect', () => {
  const world = new GroupWorld(SETTINGS)
  world.connect('one', 2)
  world.append(false, 'a')
  world.passNews()
  world.read()
  world.answerLate(7)
  expect(world.out.size).toBe(1)
  world.answer(0, 'ack')
  expect(world.state).toMatchObject({ outstanding: 0, delivered: 1 })
})

test('a replay of many parked messages reads no more of them than wait for a consumer', () => {
  const group = new Group<number>(SETTINGS, undefined, String)
  const parked = 1_000
  const page = ({ from, count }: { from: number; count: number }) => {
    const next = Math.min(parked, from + count)
    const numbers = Array.from({ length: next - from }, (_, index) => from + index)
    return { events: numbers.map((n) => ({ id: `id-${n}`, position: n, event: n })), next, isEnd: next === parked }
  }
  group.pageRead({ events: [], next: 0, isEnd: true }, 0)
  const handled: number[] = []
  let most = 0
  const work = (commands: GroupCommand<number>[]): void => {
    for (let todo = commands; todo.length > 0;) {
      const [command, ...others] = todo
      todo = others
      if (command?.kind === 'read-parked') todo.push(...group.parkedRead(page(command), 0))
      else if (command?.kind === 'deliver') {
        handled.push(command.message.event)
        todo.push(...group.ack([command.message.id], 0))
      }
      most = Math.max(most, group.state.counts.retry)
    }
  }
  work(group.replayParked(0, parked))
  expect(handled).toEqual([])
  work(group.addConsumer('late', 2, 0))
  expect(handled).toEqual(Array.from({ length: parked }, (_, n) => n))
  expect(most).toBeLessThan(20)
})

test('the messages of a consumer that leaves go back without a search among all of them for each', () => {
  let looks = 0
  const message = (position: number): Message<number> => ({
    id: String(position),
    event: position,
    retries: 1,
    get origin() {
      looks += 1
      return { position, sequence: position, previous: undefined }
    },
    parkedRevision: undefined,
  })
  const buffer = new StreamBuffer<number>(SETTINGS, true, ({ position }) => message(position))
  for (let position = 0; position < 1_000; position += 1) buffer.addRetry(message(position))
  buffer.addRetry({ ...message(-1), origin: undefined })
  expect(looks).toBeLessThan(5_000)
  const offered: number[] = []
  buffer.drain(({ event }) => {
    offered.push(event)
    return 'sent'
  })
  expect(offered).toEqual([...Array.from({ length: 1_000 }, (_, position) => position), -1])
})
