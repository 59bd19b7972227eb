import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { outsideCall } from '../../../engine/processes/attempt.ts'
import { defineProcess, Nothing, step } from '../../../engine/processes/define-process.ts'
import type { StepContext } from '../../../engine/processes/process.ts'
import { runStep, type StepResult } from '../../../engine/processes/step-run.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { notifications, type NotificationState } from '../../../streams/notification/aggregate.ts'
import { ids } from '../../streams/facts.ts'

const store: EventStore = new Proxy(Object.create(null), {
  get: () => {
    throw new Error('the store is reached')
  },
})
const isAny = (_: NotificationState): _ is NotificationState => true
let waitsFor: (context: StepContext) => boolean
let wasAborted: boolean | undefined

const calling = defineProcess<never, object>()({
  name: 'calling',
  version: 1,
  steps: {
    call: step(Nothing, async (todo, _, context) => {
      // As if a read had waited for the event store.
      while (waitsFor(context)) await turn()
      wasAborted = context.signal.aborted
      return outsideCall({ todo, step: context, store }, notifications.of(todo.orgId, todo.key), {
        open: () => [],
        isOpen: isAny,
        waitsUntil: () => null,
        call: async () => undefined,
        conclude: async () => ({ kind: 'done' }),
      })
    }),
  },
  on: {},
})

function run(): Promise<StepResult> {
  const { call } = calling.steps
  if (call === undefined) throw new Error('no step')
  const now = new Date('2026-03-01T10:00:00.000Z')
  const cause = { eventId: ids.event, correlationId: ids.event }
  const row = { step: 'call', key: ids.event, orgId: ids.org, dueAt: now, payload: { cause } }
  const surroundings = { now: () => now, endedLeases: [], signal: new AbortController().signal }
  const term = { leaseUntil: '2026-03-01T10:00:20.000Z', timeoutMs: 2_000, abandonMs: 60_000 }
  return runStep((todo, context) => call(todo, {}, context), row, surroundings, term)
}

it('a step whose time is half over opens no attempt, long before its time limit', async () => {
  waitsFor = ({ hasTime }) => hasTime()
  expect(await run()).toMatchObject({ error: { name: 'TooLateForCallError' } })
  expect(wasAborted).toBe(false)
})

it('a step that has time opens its attempt', async () => {
  waitsFor = () => false
  expect(await run()).toMatchObject({ error: { message: 'the store is reached' } })
})
