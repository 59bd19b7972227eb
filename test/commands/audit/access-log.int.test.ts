import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAccessLog, type AccessLogOptions, type OpenAccessLog } from '../../../commands/audit/access-log.ts'
import { AppendOutcomeUnknownError, EventStoreUnavailableError } from '../../../engine/store/errors.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import type { Access } from '../../../platform/http/shown-content.ts'
import { tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { accessLogs } from '../../../streams/access-log/aggregate.ts'
import type { AccessLogEvent } from '../../../streams/access-log/events.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'

let world: DecisionWorld
beforeAll(async () => {
  world = await openDecisionWorld()
})
afterAll(() => world.close())

const logger = createLogger({ level: 'silent' })

interface Opened {
  readonly log: OpenAccessLog
  readonly access: Access
  /** The stream of the first day. */
  readonly stream: string
  /** What the log contains, in order. */
  events(): Promise<readonly RecordedEvent<AccessLogEvent>[]>
  close(): Promise<void>
}

/** The access log of a new process, for a new organisation. */
function open({
  windowSeconds = 60,
  store = world.store,
  orgId = tenantOfFact(randomUUID()),
}: {
  windowSeconds?: number
  store?: AccessLogOptions['store']
  orgId?: TenantId
} = {}): Opened {
  const ids: string[] = []
  const configuration = { accessLogRetentionDays: 30, accessLogWindowSeconds: windowSeconds, serviceClientId: 'own' }
  const newId = () => {
    const id = randomUUID()
    ids.push(id)
    return id
  }
  const log = openAccessLog({ store, configuration, logger, now: world.now, newId })
  const [processId = ''] = ids
  const stream = accessLogs.of(orgId, world.now().toISOString().slice(0, 10), processId).stream
  return {
    log,
    stream,
    access: {
      orgId,
      clientId: 'client-a',
      userId: null,
      patientIds: [randomUUID()],
      subjectUserId: null,
      categories: ['record'],
      operation: 'getPatient',
      purpose: null,
      requestId: 'request-1',
      sourceAddress: '192.0.2.7',
    },
    events: async () => {
      const found: RecordedEvent<AccessLogEvent>[] = []
      for await (const event of world.otherStore.readStream<AccessLogEvent>(stream)) found.push(event)
      return found
    },
    close: () => log.close(),
  }
}

async function dataOf(opened: Opened) {
  return (await opened.events()).map(({ type, data }) => ({ type, data }))
}

describe('an access', () => {
  it('is stored when its answer may leave, in a stream that ends with the retention', async () => {
    const opened = open()
    const { orgId: organisationId, ...access } = opened.access
    await opened.log.record(opened.access)
    const at = world.now().toISOString()
    expect(await dataOf(opened)).toEqual([
      {
        type: 'AccessRecorded',
        data: { ...access, organisationId, accessId: expect.any(String), at, addressKey: 'access_log@2026-03' },
      },
    ])
    expect(await world.store.readMetadata(opened.stream)).toEqual({ $maxAge: 30 * 86_400 })
    await opened.close()
  })

  it('has the retention before its first event', async () => {
    const order: string[] = []
    const store: AccessLogOptions['store'] = {
      presume: (target) => world.store.presume(target),
      load: (target) => world.store.load(target),
      writeMetadata: (...given) => {
        order.push('retention')
        return world.store.writeMetadata(...given)
      },
      append: (...given) => {
        order.push('event')
        return world.store.append(...given)
      },
    }
    const opened = open({ store })
    await opened.log.record(opened.access)
    await opened.log.record({ ...opened.access, operation: 'getCase' })
    expect(order).toEqual(['retention', 'event', 'event'])
    await opened.close()
  })

  it('has its source address sealed with a key of the organisation and the month', async () => {
    const opened = open()
    await opened.log.record(opened.access)
    const stored: string[] = []
    for await (const { dataBytes } of world.store.readUnsigned(opened.stream, {
      from: 'start',
      direction: 'forwards',
      limit: 9,
    }))
      stored.push(Buffer.from(dataBytes).toString())
    expect(stored.join()).toContain('getPatient')
    expect(stored.join()).not.toContain('192.0.2.7')
    await world.vault.destroySubject(opened.access.orgId, 'access_log@2026-03')
    expect((await opened.events()).map(({ data }) => 'sourceAddress' in data && data.sourceAddress)).toEqual([null])
    await opened.close()
  })

  it('shares an append with the others that come at the same time', async () => {
    let appends = 0
    const store: AccessLogOptions['store'] = {
      presume: (target) => world.store.presume(target),
      load: (target) => world.store.load(target),
      writeMetadata: (...given) => world.store.writeMetadata(...given),
      append: (...given) => {
        appends += 1
        return world.store.append(...given)
      },
    }
    const opened = open({ store })
    const accesses = Array.from({ length: 40 }, () => ({ ...opened.access, patientIds: [randomUUID()] }))
    await Promise.all(accesses.map((one) => opened.log.record(one)))
    expect(appends).toBe(1)
    expect(await opened.events()).toHaveLength(40)
    await opened.close()
  })

  it('does not wait for a slow append of others', async () => {
    let release = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    let appends = 0
    const store: AccessLogOptions['store'] = {
      presume: (target) => world.store.presume(target),
      load: (target) => world.store.load(target),
      writeMetadata: (...given) => world.store.writeMetadata(...given),
      append: async (...given) => {
        appends += 1
        if (appends === 1) await released
        return world.store.append(...given)
      },
    }
    const opened = open({ store })
    const slow = opened.log.record(opened.access)
    expect(opened.log.lagSeconds()).toBe(0)
    world.pass(3)
    expect(opened.log.lagSeconds()).toBe(3)
    await expect.poll(() => appends).toBe(1)
    await opened.log.record({ ...opened.access, operation: 'getCase' })
    expect(await opened.events()).toHaveLength(0)
    release()
    await slow
    expect(opened.log.lagSeconds()).toBe(0)
    expect(await opened.events()).toHaveLength(1)
    await opened.close()
  })

  it('of the service client is none where its steps read, and one elsewhere', async () => {
    const opened = open()
    const own = { ...opened.access, clientId: 'OWN' }
    await opened.log.record({ ...own, operation: 'getUserContact' })
    await opened.log.record({ ...own, operation: 'getPatient' })
    expect((await dataOf(opened)).map(({ data }) => 'operation' in data && data.operation)).toEqual(['getPatient'])
    await opened.close()
  })
})

describe('the same access again', () => {
  it('within the window raises the count, which is stored when the window ends', async () => {
    const opened = open()
    await opened.log.record(opened.access)
    world.pass(20)
    const last = world.now().toISOString()
    await opened.log.record({ ...opened.access, requestId: 'request-2' })
    world.pass(20)
    expect(await opened.events()).toHaveLength(1)
    world.pass(20)
    await expect.poll(() => dataOf(opened), { timeout: 10_000 }).toHaveLength(2)
    const [first, second] = await dataOf(opened)
    const accessId = first !== undefined && first.data.accessId
    expect(second).toEqual({ type: 'AccessRepeated', data: { accessId, count: 2, lastAt: last } })
    await opened.log.record(opened.access)
    expect((await dataOf(opened)).map(({ type }) => type)).toEqual([
      'AccessRecorded',
      'AccessRepeated',
      'AccessRecorded',
    ])
    await opened.close()
  })

  it('is an access of its own after the clock was set back, and the counts of before are stored', async () => {
    const opened = open()
    await opened.log.record(opened.access)
    await opened.log.record(opened.access)
    world.pass(-3_600)
    try {
      const at = world.now().toISOString()
      await opened.log.record({ ...opened.access, operation: 'getCase' })
      await expect.poll(() => dataOf(opened), { timeout: 10_000 }).toHaveLength(3)
      await opened.log.record(opened.access)
      const [first, , ...others] = await dataOf(opened)
      const accessId = first !== undefined && first.data.accessId
      expect(others).toMatchObject([
        { type: 'AccessRepeated', data: { accessId, count: 2 } },
        { type: 'AccessRecorded', data: { operation: 'getPatient', at } },
      ])
    } finally {
      world.pass(3_600)
      await opened.close()
    }
  })

  it('is counted when the process stops', async () => {
    const opened = open()
    for (let time = 0; time < 5; time += 1) await opened.log.record(opened.access)
    await opened.close()
    expect((await dataOf(opened)).map(({ data }) => ('count' in data ? data.count : 1))).toEqual([1, 5])
  })

  it('is an access of its own with a window of 0', async () => {
    const opened = open({ windowSeconds: 0 })
    await opened.log.record(opened.access)
    await opened.log.record(opened.access)
    expect((await dataOf(opened)).map(({ type }) => type)).toEqual(['AccessRecorded', 'AccessRecorded'])
    await opened.close()
  })

  it.each([
    ['another client', { clientId: 'client-b' }],
    ['another user', { userId: 'user-b' }],
    ['another patient', { patientIds: [randomUUID()] }],
    ['another operation', { operation: 'getCase' }],
    ['another purpose', { purpose: 'TREAT' }],
    ['another address', { sourceAddress: '192.0.2.8' }],
    ['more content', { categories: ['record', 'results'] }],
  ] satisfies readonly (readonly [string, Partial<Access>])[])('is another access with %s', async (_, changes) => {
    const opened = open()
    await opened.log.record(opened.access)
    await opened.log.record({ ...opened.access, ...changes })
    expect(await opened.events()).toHaveLength(2)
    await opened.close()
  })
})

describe('while the event store is away', () => {
  function failing(isAway: () => boolean, error: () => Error): AccessLogOptions['store'] {
    return {
      presume: (target) => world.store.presume(target),
      load: (target) => world.store.load(target),
      writeMetadata: (...given) => world.store.writeMetadata(...given),
      append: async (...given) => {
        if (isAway()) throw error()
        return world.store.append(...given)
      },
    }
  }

  it('only what the window contains may leave', async () => {
    let isAway = false
    const opened = open({
      store: failing(
        () => isAway,
        () => new EventStoreUnavailableError('away'),
      ),
    })
    await opened.log.record(opened.access)
    isAway = true
    await opened.log.record(opened.access)
    const other = { ...opened.access, patientIds: [randomUUID()] }
    await expect(opened.log.record(other)).rejects.toMatchObject({ code: 'access-log-unavailable', status: 503 })
    await expect(opened.log.record(other)).rejects.toMatchObject({ code: 'access-log-unavailable' })
    isAway = false
    await opened.log.record(other)
    await opened.close()
    expect((await dataOf(opened)).map(({ type }) => type)).toEqual([
      'AccessRecorded',
      'AccessRecorded',
      'AccessRepeated',
    ])
  })

  it('counts are kept until it is back', async () => {
    let isAway = false
    const opened = open({
      store: failing(
        () => isAway,
        () => new EventStoreUnavailableError('away'),
      ),
    })
    await opened.log.record(opened.access)
    await opened.log.record(opened.access)
    isAway = true
    world.pass(61)
    const lagLater = () => {
      world.pass(1)
      return opened.log.lagSeconds()
    }
    await expect.poll(lagLater, { timeout: 10_000 }).toBeGreaterThan(2)
    expect(await opened.events()).toHaveLength(1)
    isAway = false
    await expect.poll(async () => (await opened.events()).length, { timeout: 10_000 }).toBe(2)
    await expect.poll(() => opened.log.lagSeconds()).toBe(0)
    await opened.close()
  })

  it('an append whose answer was lost does not end the log', async () => {
    let isLost = true
    const opened = open({
      store: {
        ...failing(
          () => false,
          () => new Error(),
        ),
        append: async (...given) => {
          const appended = await world.otherStore.append(...given)
          if (isLost) throw new AppendOutcomeUnknownError(given[0].stream, 1)
          return appended
        },
      },
    })
    await expect(opened.log.record(opened.access)).rejects.toMatchObject({ code: 'access-log-unavailable' })
    isLost = false
    await opened.log.record(opened.access)
    expect(await opened.events()).toHaveLength(2)
    await opened.close()
  })
})
