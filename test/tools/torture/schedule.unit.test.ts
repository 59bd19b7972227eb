import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { describeStrike, parts, scheduleOf } from '../../../tools/torture/schedule.ts'

test('a seed repeats its schedule, and another seed gives another one', () => {
  expect(scheduleOf(7, 40)).toEqual(scheduleOf(7, 40))
  expect(scheduleOf(7, 40)).not.toEqual(scheduleOf(8, 40))
  expect(scheduleOf(7, 40)).toEqual(scheduleOf(7, 80).slice(0, 40))
})

test('a long schedule strikes every part, several at once, all at once, and during recoveries', () => {
  const schedule = scheduleOf(1, 400)
  expect(new Set(schedule.flatMap(({ victims }) => victims))).toEqual(new Set(parts))
  expect(new Set(schedule.map(({ victims }) => victims.length))).toEqual(new Set([0, 1, 2, 3, parts.length]))
  expect(new Set(schedule.map(({ after }) => after))).toEqual(new Set(['recovery', 'strike']))
  for (const { victims } of schedule) expect(new Set(victims).size).toBe(victims.length)
  expect(schedule[0]?.after).toBe('recovery')
})

test('the cluster of the event store fails in every way, alone and among kills', () => {
  const mixed = scheduleOf(1, 400).flatMap(({ cluster }) => cluster?.fault ?? [])
  expect(mixed.length).toBeGreaterThan(50)
  expect(mixed.length).toBeLessThan(200)
  const alone = scheduleOf(1, 400, ['silence', 'hang', 'quorum']).map(({ cluster }) => cluster?.fault)
  expect(new Set(alone.map((fault) => fault?.kind))).toEqual(new Set(['silence', 'hang', 'quorum']))
  expect(scheduleOf(1, 40, ['kill']).every(({ victims }) => victims.length > 0)).toBe(true)
})

test('processes of the platform stand still, for longer than each lease', () => {
  const alone = scheduleOf(1, 400, ['suspend']).flatMap(({ suspended }) => suspended ?? [])
  expect(alone).toHaveLength(400)
  expect(new Set(alone.map(({ part }) => part))).toEqual(new Set(parts.slice(0, 6)))
  expect(alone.some(({ lastsMs }) => lastsMs > 30_000)).toBe(true)
  expect(scheduleOf(1, 400).flatMap(({ suspended }) => suspended ?? []).length).toBeGreaterThan(20)
})

test('a strike is described with its victims and its time', () => {
  expect(describeStrike({ after: 'strike', pauseMs: 3, victims: ['node', 'api-1'] })).toBe(
    '3 ms after the previous strike: node, api-1',
  )
  expect(describeStrike({ after: 'recovery', pauseMs: 0, victims: parts })).toBe('0 ms after recovery: everything')
  const suspended = { part: 'api-1', lastsMs: 900 } as const
  expect(describeStrike({ after: 'recovery', pauseMs: 0, victims: [], suspended })).toBe(
    '0 ms after recovery: api-1 stands still for 900 ms',
  )
})

test('the command refuses a kind of strikes that does not exist, and strikes nothing', () => {
  const args = ['tools/torture/main.ts', '--plan', '--kinds', 'kill,qourum']
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([status, stderr.includes(': qourum')]).toEqual([1, true])
})
