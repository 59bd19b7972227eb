import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { outsideCall } from '../../../engine/processes/attempt.ts'
import { defineProcess, Nothing, step } from '../../../engine/processes/define-process.ts'
import { runStep } from '../../../engine/processes/step-run.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { notifications, type NotificationState } from '../../../streams/notification/aggregate.ts'
import { ids } from '../../streams/facts.ts'

const calls: string[] = []
const store: EventStore = new Proxy(Object.create(null), {
  get: (_, member) => {
    throw new Error(`the store is used: ${String(member)}`)
  },
})
const isAny = (_: NotificationState): _ is NotificationState => true

const late = defineProcess<never, object>()({
  name: 'late',
  version: 1,
  steps: {
    call: step(Nothing, async (todo, _, context) => {
      // As if a read had waited for the event store.
      while (context.hasTime()) await turn()
      return outsideCall({ todo, step: context, store }, notifications.of(todo.orgId, todo.key), {
        open: () => [],
        isOpen: isAny,
        waitsUntil: () => null,
        call: async () => calls.push('called'),
        conclude: async () => ({ kind: 'done' }),
      })
    }),
  },
  on: {},
})

it('a step whose time is half over opens no attempt and makes no call: it runs again at once', async () => {
  const { call } = late.steps
  if (call === undefined) throw new Error('no step')
  const now = new Date('2026-03-01T10:00:00.000Z')
  const row = {
    step: 'call',
    key: ids.event,
    orgId: ids.org,
    dueAt: now,
    payload: { cause: { eventId: ids.event, correlationId: ids.event } },
  }
  const surroundings = { now: () => now, leaseUntil: '2026-03-01T10:00:20.000Z', endedLeases: [] }
  const limits = { timeoutMs: 40, abandonMs: 60_000, signal: new AbortController().signal }
  expect(await runStep((todo, context) => call(todo, {}, context), row, surroundings, limits)).toEqual({
    kind: 'retry',
    after: 0,
    reason: 'too-late-for-a-call',
  })
  expect(calls).toEqual([])
})
