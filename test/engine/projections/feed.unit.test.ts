import { describe, expect, it } from 'vitest'
import { Feed, type Member, type MemberBatch } from '../../../engine/projections/feed.ts'
import { LogReadings } from '../../../engine/projections/log-readings.ts'
import { defineProjector, type RowChange } from '../../../engine/projections/projector.ts'
import { comparePositions, startOfLog, type Position } from '../../../platform/kit/positions.ts'
import { UndecodableEventError } from '../../../engine/store/errors.ts'
import type { AllSubscription } from '../../../engine/store/subscription-options.ts'
import { recorded } from '../../support/given-projector.ts'
import { opened, renamed, ticketCounts, type TicketEvent } from './tickets.ts'
import { eventually } from '../../support/eventually.ts'

const events = recorded(['a', 'b', 'c', 'd'].map((ticket) => opened(ticket)))

function at(index: number): Position {
  return events[index]?.position ?? startOfLog
}

function member(name: string, position: Position): Member {
  return { projector: { ...ticketCounts, name }, position, isActive: true, copyId: 'one' }
}

/** The writes per batch and member: number of events, and the move of the checkpoint. */
function written(batches: readonly (readonly MemberBatch[])[]): string[][] {
  return batches.map((batch) =>
    batch.map(
      ({ member: { projector }, events: own, part }) =>
        `${projector.name} ${own.length} ${part?.from.commit}-${part?.to.commit}`,
    ),
  )
}

function listenerInto(batches: (readonly MemberBatch[])[]) {
  return {
    write: async (batch: readonly MemberBatch[]) => void batches.push(batch),
    caughtUp: () => undefined,
    undecodable: async () => undefined,
  }
}

describe('a feed', () => {
  it('starts at the member that is furthest behind, and skips events that other members have', async () => {
    const batches: (readonly MemberBatch[])[] = []
    const feed = new Feed(
      [member('ahead', at(1)), member('behind', startOfLog), member('far', at(3))],
      listenerInto(batches),
    )
    expect(feed.position).toEqual(startOfLog)
    await feed.takeEvents(events.slice(0, 1))
    await feed.takeEvents(events.slice(1, 3))
    await feed.takeEvents(events.slice(3))
    await feed.written()
    expect(written(batches)).toEqual([
      ['behind 1 0-100'],
      ['ahead 1 200-300', 'behind 2 100-300'],
      ['ahead 1 300-400', 'behind 1 300-400'],
    ])
  })

  it('moves checkpoints with the server’s, and returns no part for a handler that throws', async () => {
    const batches: (readonly MemberBatch[])[] = []
    const thrower = defineProjector<TicketEvent>()({
      ...ticketCounts,
      name: 'thrower',
      handlers: {
        TicketOpened: () => {
          throw new Error('no')
        },
      },
    })
    const feed = new Feed(
      [member('counts', startOfLog), { projector: thrower, position: startOfLog, isActive: true, copyId: 'one' }],
      listenerInto(batches),
    )
    await feed.takeCheckpoint({ commit: 50n, prepare: 50n })
    await feed.takeEvents(events.slice(0, 2))
    await feed.written()
    expect(written(batches)).toEqual([
      ['counts 0 0-50', 'thrower 0 0-50'],
      ['counts 2 50-200', 'thrower 2 undefined-undefined'],
    ])
  })

  it('hands over one batch while the previous one is written, and not two', async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let begun = 0
    const feed = new Feed([member('counts', startOfLog)], {
      ...listenerInto([]),
      write: () => gates[begun++]?.promise ?? Promise.resolve(),
    })
    await feed.takeEvents(events.slice(0, 1))
    let isSecondTaken = false
    const second = feed.takeEvents(events.slice(1, 2)).then(() => {
      isSecondTaken = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect([begun, isSecondTaken]).toEqual([1, false])
    gates[0]?.resolve()
    await second
    expect(begun).toBe(2)
    gates[1]?.resolve()
    await feed.written()
  })

  it('stands still with everything written during a pause', async () => {
    const batches: (readonly MemberBatch[])[] = []
    const feed = new Feed([member('counts', startOfLog)], listenerInto(batches))
    await feed.takeEvents(events.slice(0, 1))
    const resume = await feed.pause()
    const later = feed.takeEvents(events.slice(1, 2))
    await new Promise((resolve) => setImmediate(resolve))
    expect(batches).toHaveLength(1)
    resume()
    await later
    await feed.written()
    expect(batches).toHaveLength(2)
  })
})

describe('events that only patient projectors want', () => {
  const patient = (name: string): Member => {
    const one = member(name, startOfLog)
    return { ...one, projector: { ...one.projector, isPatient: true } }
  }
  /** Wants the later events, and not the first ones. */
  const hasty = (): Member => {
    const one = member('hasty', startOfLog)
    return { ...one, projector: { ...one.projector, handlers: { TicketRenamed: () => [] } } }
  }
  const renaming = recorded([opened('a'), opened('b'), renamed('a', 'b'), opened('c')])

  it('wait for an event that another one wants, and keep their order', async () => {
    const batches: (readonly MemberBatch[])[] = []
    const feed = new Feed([patient('patient'), hasty()], listenerInto(batches))
    await feed.takeEvents(renaming.slice(0, 1))
    await feed.takeEvents(renaming.slice(1, 2))
    expect(batches).toEqual([])
    await feed.takeEvents(renaming.slice(2, 3))
    await feed.written()
    expect(written(batches)).toEqual([['patient 3 0-300', 'hasty 3 0-300']])
  })

  it('are written after a moment if nothing else comes', async () => {
    const batches: (readonly MemberBatch[])[] = []
    const feed = new Feed([patient('patient'), hasty()], listenerInto(batches))
    await feed.takeEvents(renaming.slice(0, 1))
    await eventually(() => expect(written(batches)).toEqual([['patient 1 0-100', 'hasty 1 0-100']]))
  })

  it.each<[string, (feed: Feed) => Promise<unknown>]>([
    ['a checkpoint', (feed) => feed.takeCheckpoint(at(3))],
    ['the end of the log', (feed) => feed.takeCaughtUp()],
    ['a pause', (feed) => feed.pause()],
    ['a stop', (feed) => feed.written()],
  ])('are written before %s', async (_, happens) => {
    const batches: (readonly MemberBatch[])[] = []
    const feed = new Feed([patient('patient')], listenerInto(batches))
    await feed.takeEvents(renaming.slice(0, 1))
    await happens(feed)
    expect(written(batches)[0]).toEqual(['patient 1 0-100'])
  })

  it('do not wait if there are many, or if nobody is patient', async () => {
    const batches: (readonly MemberBatch[])[] = []
    const many = recorded(Array.from({ length: 1_000 }, (_, number) => opened(`${number}`)))
    const feed = new Feed([patient('patient'), hasty()], listenerInto(batches))
    await feed.takeEvents(many)
    await feed.written()
    const others = new Feed([hasty()], listenerInto(batches))
    await others.takeEvents(renaming.slice(0, 1))
    await others.written()
    expect(written(batches)).toEqual([['patient 1000 0-100000', 'hasty 1000 0-100000'], ['hasty 1 0-100']])
  })
})

describe('events that make nothing urgent', () => {
  const urgent = (name: string): Member => {
    const one = member(name, startOfLog)
    const isUrgent = (changes: readonly RowChange[]) => changes.length > 0 && !JSON.stringify(changes).includes('later')
    return { ...one, projector: { ...one.projector, isUrgent } }
  }
  const story = recorded([opened('later'), opened('later 2'), renamed('a', 'b'), opened('later 3')])
  /** Longer than the test. */
  const gatherMs = 3_600_000

  it('wait for one that does, and keep their order', async () => {
    const batches: (readonly MemberBatch[])[] = []
    const feed = new Feed([urgent('list'), member('rows', startOfLog)], { ...listenerInto(batches), gatherMs })
    await feed.takeEvents(story.slice(0, 1))
    await feed.takeEvents(story.slice(1, 2))
    expect(batches).toEqual([])
    await feed.takeEvents(story.slice(2, 3))
    await feed.written()
    expect(written(batches)).toEqual([['list 3 0-300', 'rows 3 0-300']])
  })

  it('are written after a moment if nothing else comes, also beside some that may wait longer', async () => {
    const batches: (readonly MemberBatch[])[] = []
    const patient = { ...ticketCounts, name: 'patient', isPatient: true, handlers: { TicketOpened: () => [] } } as const
    const rows = { ...ticketCounts, name: 'rows', handlers: { TicketRenamed: () => [] } }
    const members = [patient, rows].map((projector) => ({ ...member('', startOfLog), projector }))
    const feed = new Feed(members, { ...listenerInto(batches), gatherMs: 5 })
    await feed.takeEvents(story.slice(0, 1))
    await feed.takeEvents(story.slice(1, 3))
    await eventually(() => expect(batches).toHaveLength(1))
  })

  it('are written at once for somebody who waits for them', async () => {
    const batches: (readonly MemberBatch[])[] = []
    let awaited = startOfLog
    const isAwaited = (first: Position, last: Position) =>
      comparePositions(first, awaited) <= 0 && comparePositions(awaited, last) <= 0
    const feed = new Feed([urgent('list')], { ...listenerInto(batches), gatherMs, isAwaited })
    const lengthSoon = async () => {
      await new Promise((resolve) => setImmediate(resolve))
      return batches.length
    }
    await feed.takeEvents(story.slice(0, 1))
    awaited = story[1]?.position ?? startOfLog
    // It comes at once, and shares the batch.
    feed.hurry()
    expect(await lengthSoon()).toBe(0)
    await feed.takeEvents(story.slice(1, 2))
    await eventually(() => expect(written(batches)).toEqual([['list 2 0-200']]))
    // Nobody waits for what comes later.
    await feed.takeEvents(story.slice(3, 4))
    feed.hurry()
    expect(await lengthSoon()).toBe(1)
    awaited = story[3]?.position ?? startOfLog
    feed.hurry()
    await eventually(() => expect(batches).toHaveLength(2))
  })

  it('do not hide a handler that throws', async () => {
    const batches: (readonly MemberBatch[])[] = []
    const failing = urgent('list')
    const handlers = {
      TicketOpened: () => {
        throw new Error('no')
      },
    }
    const list = { ...failing, projector: { ...failing.projector, handlers } }
    const feed = new Feed([list], { ...listenerInto(batches), gatherMs })
    await feed.takeEvents(story.slice(0, 1))
    await feed.written()
    expect(batches[0]?.[0]?.part).toBeUndefined()
  })
})

describe('reads of the log', () => {
  interface Story {
    readonly batches: (readonly MemberBatch[])[]
    readonly caughtUp: string[][]
    readonly undecodable: (members: readonly Member[]) => Promise<void>
  }

  /** Two reads, and the subscription of each. */
  function twoReads(live: Position, late: Position, { batches, caughtUp, undecodable }: Story) {
    const subscriptions: AllSubscription[] = []
    const eventStore = {
      subscribeToAll: (options: AllSubscription) => {
        subscriptions.push(options)
        const ended = new Promise<void>((resolve) => options.signal.addEventListener('abort', () => resolve()))
        return {
          ended,
          stats: () => {
            throw new Error('nobody asks')
          },
        }
      },
    }
    const readings = new LogReadings(
      { eventStore, filter: { streamPrefixes: [] }, batchSize: 10 },
      {
        write: async (batch) => void batches.push(batch),
        caughtUp: async (members) => void caughtUp.push(namesOf(members)),
        undecodable,
        broke: (_members, error) => {
          throw error
        },
      },
    )
    readings.add([member('live', live)])
    readings.add([member('late', late)])
    return { readings, subscriptions, left: () => subscriptions.filter(({ signal }) => !signal.aborted) }
  }

  const namesOf = (members: readonly Member[]) => members.map(({ projector }) => projector.name)
  const soon = () => new Promise((resolve) => setTimeout(resolve, 5))

  it('merge into the one behind, whichever is the live one', async () => {
    for (const [live, late] of [
      [0, 2],
      [2, 0],
    ] as const) {
      const story: Story = { batches: [], caughtUp: [], undecodable: async () => undefined }
      const { readings, subscriptions, left } = twoReads(at(live), at(late), story)
      for (const subscription of subscriptions) await subscription.onCaughtUp?.()
      await readings.written()
      await soon()
      expect(left().map(({ from }) => from)).toEqual([at(0)])
      await left()[0]?.onBatch?.(events.slice(1))
      await readings.written()
      const [first, second] = live === 0 ? ['live', 'late'] : ['late', 'live']
      expect(written(story.batches)).toEqual([[`${first} 3 100-400`, `${second} 1 300-400`]])
      expect(story.caughtUp.at(-1)?.toSorted()).toEqual(['late', 'live'])
      await readings.close()
    }
  })

  it.each(['while', 'after'])(
    'show an event that cannot be read to every member, if they merge %s one handles it',
    async (when) => {
      const stops = Promise.withResolvers<void>()
      const shown: string[] = []
      const undecodable = async (members: readonly Member[]) => {
        await stops.promise
        shown.push(...namesOf(members))
      }
      const { readings, subscriptions, left } = twoReads(at(0), at(2), { batches: [], caughtUp: [], undecodable })
      const [live, late] = subscriptions
      await live?.onCaughtUp?.()
      const head = {
        id: 'unreadable',
        type: 'TicketOpened',
        stream: 'ticket-d',
        revision: 0n,
        position: at(3),
        recordedAt: '',
      }
      const error = new UndecodableEventError(head, 'unknown-type')
      const passed = live?.onUndecodable?.(head, error)
      if (when === 'after') stops.resolve()
      await soon()
      await late?.onCaughtUp?.()
      await soon()
      stops.resolve()
      await passed
      await soon()
      // A subscription delivers it once.
      for (const subscription of left()) if (subscription !== live) await subscription.onUndecodable?.(head, error)
      expect(new Set(shown)).toEqual(new Set(['live', 'late']))
      await readings.close()
    },
  )
})
