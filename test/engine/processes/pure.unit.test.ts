import { describe, expect, it } from 'vitest'
import { jittered } from '../../../platform/kit/backoff.ts'
import { stepCommand } from '../../../engine/processes/step-identity.ts'
import { completionOf, leaseUntil } from '../../../engine/processes/step-run.ts'

const now = new Date('2026-03-01T10:00:00.000Z')

it('spreads a delay around itself', () => {
  expect([0, 0.5, 0.999999].map((random) => jittered(1_000, 0.2, () => random))).toEqual([800, 1_000, 1_200])
})

it('ends a lease after its time', () => {
  expect(leaseUntil(now, 20_000)).toBe('2026-03-01T10:00:20.000Z')
})

describe('the command of a step', () => {
  it('follows from the event that caused it', () => {
    const cause = {
      process: 'ai_review',
      name: 'ai_review.start',
      eventId: '0f4cbb1e-0f36-4d5c-8f4a-0c8a34a1a111',
      correlationId: 'c',
      orgId: 'o',
    }
    expect(stepCommand(cause)).toEqual(stepCommand({ ...cause }))
    expect(stepCommand(cause)).toMatchObject({
      causationId: cause.eventId,
      correlationId: 'c',
      orgId: 'o',
      process: 'ai_review',
    })
    expect(stepCommand({ ...cause, name: 'ai_review.poll' }).commandId).not.toBe(stepCommand(cause).commandId)
    const ofTwo = ['review-1', 'review-2'].map((key) => stepCommand({ ...cause, key }).commandId)
    expect(new Set([...ofTwo, stepCommand(cause).commandId]).size).toBe(3)
  })
})

describe('the completion of a step', () => {
  const claimed = { todo: { key: 'k', step: 's', orgId: null, dueAt: now, payload: {} }, failures: 2 }
  const completed = (result: Parameters<typeof completionOf>[1]) => completionOf(claimed, result, now, () => 1)

  it('fences the row with the position of the last append', () => {
    const position = { commit: 5n, prepare: 5n }
    expect(completed({ kind: 'done', position })).toEqual({
      isDone: true,
      key: 'k',
      step: 's',
      notBefore: now,
      fence: position,
      failures: 0,
      isFailed: false,
      endedAt: now,
    })
  })

  it('records why a step failed or was put off, and nothing while another attempt runs', () => {
    const refused = Object.assign(new Error('canary'), { code: 'ECONNREFUSED', address: '10.0.0.1', port: 5432 })
    expect(completed({ error: refused }).error).toEqual({ class: 'Error', code: 'ECONNREFUSED', host: '10.0.0.1:5432' })
    const putOff = completed({ kind: 'retry', after: 1_500, reason: 'circuit_open' })
    expect(putOff.error).toEqual({ class: 'put_off', code: 'circuit_open', host: null })
    expect(completed({ kind: 'wait', until: now })).not.toHaveProperty('isFailed')
    expect(completed({ kind: 'done' })).toMatchObject({ isFailed: false })
  })

  it('delays a row more each time if its step appends nothing or throws', () => {
    expect(completed({ kind: 'done' })).toMatchObject({
      notBefore: new Date(now.getTime() + 400),
      fence: undefined,
      failures: 3,
    })
    expect(completed({ error: new Error('x') })).toMatchObject({
      notBefore: new Date(now.getTime() + 800),
      failures: 3,
    })
  })

  it('waits for an open attempt, and keeps the count of failures', () => {
    const until = new Date('2026-03-01T10:00:09.000Z')
    expect(completed({ kind: 'wait', until })).toMatchObject({ notBefore: until, failures: claimed.failures })
  })

  it('delays a retry without counting a failure', () => {
    expect(completed({ kind: 'retry', after: 1_500, reason: 'circuit_open' })).toMatchObject({
      notBefore: new Date('2026-03-01T10:00:01.500Z'),
      failures: 0,
    })
  })
})
