import { expect, test } from 'vitest'
import { differenceText } from '../../../app/projections/comparison-text.ts'
import { reportOfRebuild } from '../../../app/projections/rebuild.ts'
import type { Comparison } from '../../../engine/rebuild/content.ts'

const position = { commit: 70n, prepare: 65n }
const nothing: ReadonlySet<string> = new Set()
const equal: Comparison = {
  position: { commit: 50n, prepare: 50n },
  isEqual: true,
  tables: [
    { table: 'cases', rows: 3, copyRows: 3, hash: 'a', copyHash: 'a' },
    { table: 'case_images', rows: 4, copyRows: 4, hash: 'b', copyHash: 'b' },
  ],
}
const missing: Comparison = {
  ...equal,
  isEqual: false,
  tables: [{ table: 'cases', rows: 2, copyRows: 3, hash: 'a', copyHash: 'c' }],
  difference: { kind: 'missing', table: 'cases', key: { case_id: '17', part: '2' } },
}
const switched = {
  name: 'cases',
  kind: 'switched',
  comparison: equal,
  versions: { from: 1, to: 1 },
  position,
  status: 'running',
} as const

test('a switch reports its position, and that both copies were equal before', () => {
  expect(reportOfRebuild(switched, nothing)).toEqual({
    isDone: true,
    text: 'cases: rebuilt and switched at 70/65 (version 1; 7 rows, equal by content hash at 50/50)',
  })
  expect(reportOfRebuild(switched, new Set(['1/1', '2/2'])).text).toContain(
    '7 rows, 2 events skipped, equal by content hash',
  )
})

test('a switch to a newer version reports the difference and the instances on standby; a stopped projector stays stopped', () => {
  expect(
    reportOfRebuild({ ...switched, comparison: missing, versions: { from: 1, to: 2 }, status: 'stopped' }, nothing),
  ).toEqual({
    isDone: true,
    text: [
      'cases: rebuilt and switched at 70/65 (version 1 replaced by 2; 2 rows, 3 by the log, different)',
      '  first difference: table cases, row case_id 17, part 2: is missing from the serving copy',
      '  instances of version 1 stand by from now on: start those of version 2',
      '  it is stopped, as before: projections retry cases resumes it',
    ].join('\n'),
  })
})

test('without a switch it is not done: after a difference, a failed event, or a refusal', () => {
  const differs = reportOfRebuild({ name: 'cases', kind: 'differs', comparison: missing }, nothing)
  expect(differs.isDone).toBe(false)
  expect(differs.text).toMatch(
    /^cases: not switched: at 50\/50 [^]*is missing from the serving copy\n.*--accept-difference$/,
  )
  const failure = {
    eventId: 'e17',
    eventType: 'CaseOpened',
    category: 'case',
    position,
    reason: 'RowConflictError: insert',
  }
  expect(reportOfRebuild({ name: 'cases', kind: 'failed', failure }, nothing)).toEqual({
    isDone: false,
    text: 'cases: failed at 70/65: CaseOpened e17 of a case stream\n  RowConflictError: insert',
  })
  const refused = {
    name: 'cases',
    kind: 'refused',
    reason: 'under-way',
    message: 'a rebuild of cases is under way',
  } as const
  expect(reportOfRebuild(refused, nothing)).toEqual({ isDone: false, text: 'cases: a rebuild of cases is under way' })
})

test.each([
  [
    { kind: 'changed', table: 'cases', key: { case_id: '17' }, columns: ['status', 'closed_at'] },
    'table cases, row case_id 17: differs in status, closed_at',
  ],
  [
    { kind: 'surplus', table: 'cases', key: { case_id: '17' } },
    'table cases, row case_id 17: is in the serving copy, but not in the log',
  ],
  [{ kind: 'shape', table: 'cases', columns: ['closed_at'] }, 'table cases: closed_at is not the same in both'],
  [{ kind: 'shape', table: 'cases', columns: [] }, 'table cases: the whole table is not the same in both'],
] as const)('%j becomes one sentence', (difference, sentence) => {
  expect(differenceText(difference)).toBe(sentence)
})
