import { describe, expect, it } from 'vitest'
import { EgressError } from '../../../platform/outbound/egress-error.ts'
import { OutsideCalls, type CallEnd, type CountedCall } from '../../../platform/outbound/outside-calls.ts'

function collector() {
  const clock = { ms: 0 }
  const counted: CountedCall[] = []
  const calls = new OutsideCalls({
    onCall: (call) => void counted.push(call),
    now: () => clock.ms,
    clock: () => new Date(clock.ms),
  })
  return { clock, counted, calls, end: (how: CallEnd) => calls.begin('provider').end(how) }
}
const reply = (responseCode: number) => ({ error: Object.assign(new Error('canary'), { responseCode }) })
const noAnswer = { error: new EgressError('connect') }

describe('the outcomes of calls', () => {
  it('follow from the status, the reply or the error', () => {
    const { counted, end } = collector()
    const ends: readonly CallEnd[] = [
      { status: 204 },
      { status: 404 },
      { status: 503 },
      reply(550),
      reply(421),
      noAnswer,
      { error: new EgressError('dns') },
      { error: new EgressError('timeout') },
      { error: new EgressError('body_too_large') },
    ]
    for (const how of ends) end(how)
    expect(counted.map(({ outcome }) => outcome)).toEqual([
      'ok',
      'refused',
      'failed',
      'refused',
      'failed',
      'unreachable',
      'unreachable',
      'timeout',
      'failed',
    ])
  })

  it('do not count a call that was ended by its caller, or not made', () => {
    const { calls, counted, end } = collector()
    for (const code of ['aborted', 'circuit_open'] as const) end({ error: new EgressError(code) })
    expect([counted, calls.take()]).toEqual([[], []])
  })

  it('count each call once, with its duration', () => {
    const { clock, counted, calls } = collector()
    const { end } = calls.begin('mail')
    clock.ms = 30
    for (let time = 0; time < 2; time += 1) end({ status: 250 })
    expect(counted).toEqual([{ system: 'mail', outcome: 'ok', durationMs: 30 }])
  })
})

describe('the news of a system', () => {
  it('contain the failures after the last success', () => {
    const { clock, calls, end } = collector()
    end(noAnswer)
    clock.ms = 1_000
    end({ status: 200 })
    clock.ms = 2_000
    end(noAnswer)
    clock.ms = 3_000
    end({ status: 503 })
    expect(calls.take()).toEqual([
      {
        system: 'provider',
        lastSuccessAt: new Date(1_000),
        failures: 2,
        failingSince: new Date(2_000),
        error: { class: 'Answer', code: '503', host: null },
      },
    ])
    expect(calls.take()).toEqual([])
  })

  it('count a refusal as success, but not one of our credentials', () => {
    const { calls, end } = collector()
    for (const how of [{ status: 401 }, reply(535)]) end(how)
    expect(calls.take()).toMatchObject([{ failures: 2 }])
    for (const how of [{ status: 409 }, reply(550)]) end(how)
    expect(calls.take()).toMatchObject([{ failures: 0, error: null }])
  })

  it('are kept when they could not be stored', () => {
    const { clock, calls, end } = collector()
    end(noAnswer)
    const taken = calls.take()
    clock.ms = 1_000
    end(noAnswer)
    calls.putBack(taken)
    expect(calls.take()).toMatchObject([{ failures: 2, failingSince: new Date(0) }])
    end({ status: 200 })
    calls.putBack(taken)
    expect(calls.take()).toMatchObject([{ failures: 0, lastSuccessAt: new Date(1_000) }])
  })
})

it('a system is suspect while its last call had no answer, or a call waits for one', () => {
  const { clock, calls, end } = collector()
  const isSuspect = () => calls.isSuspect('provider', 2_000)
  end({ status: 503 })
  expect(isSuspect()).toBe(false)
  end(noAnswer)
  calls.take()
  expect(isSuspect()).toBe(true)
  end({ status: 200 })
  const { end: waiting } = calls.begin('provider')
  expect(isSuspect()).toBe(false)
  clock.ms = 2_000
  expect(isSuspect()).toBe(true)
  waiting({ status: 200 })
  expect(isSuspect()).toBe(false)
})
