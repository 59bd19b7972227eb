import { expect, test } from 'vitest'
import type { Seen } from '../../../tools/torture/acknowledged.ts'
import { checkAccessLog } from '../../../tools/torture/checks/access-log.ts'
import { exampleLog, streamOf, type ExampleEvent } from '../../../tools/torture/example-log.ts'

const stream = streamOf('access_log', '2026-03-01-p1')
const at = '2026-03-01T10:00:00.000Z'
const access = { accessId: 'a1', operation: 'getPatient', patientIds: ['p1'], purpose: 'TREAT', requestId: 'r1', at }
const recorded = (changed: object = {}) => [stream, 'AccessRecorded', { ...access, ...changed }] as const
const repeated = [stream, 'AccessRepeated', { accessId: 'a1', count: 2 }] as const

const seen = (changed: Partial<Seen> = {}): Seen => ({
  operation: 'getPatient',
  patientId: 'p1',
  purpose: 'TREAT',
  requestId: 'r1',
  at: Date.parse(at) + 50,
  ...changed,
})
const said = (reads: readonly Seen[], ...log: readonly ExampleEvent[]) =>
  checkAccessLog(reads, exampleLog(...log)).findings.map(({ what }) => what)

test('accepts answers that were recorded, and those within the window of the same read', () => {
  expect(checkAccessLog([seen()], exampleLog(recorded()))).toMatchObject({ examined: 1, findings: [] })
  expect(said([seen(), seen({ requestId: 'r2' })], recorded(), repeated)).toEqual([])
  // The record comes first, so it may be of an answer that did not leave.
  expect(said([], recorded())).toEqual([])
})

test('finds an answer that is missing', () => {
  const missing = ['shown, but not in the access log']
  expect(said([seen()])).toEqual(missing)
  expect(said([seen({ requestId: 'r2', patientId: 'p2' })], recorded())).toEqual(missing)
  expect(said([seen({ requestId: 'r2', purpose: 'ETREAT' })], recorded())).toEqual(missing)
  expect(said([seen({ requestId: 'r2', operation: 'getCase' })], recorded())).toEqual(missing)
  expect(said([seen({ requestId: 'r2', at: Date.parse(at) + 60_000 })], recorded())).toEqual(missing)
  expect(said([seen({ requestId: 'r2', at: Date.parse(at) - 1 })], recorded())).toEqual(missing)
})

test('finds a count of no access', () => {
  expect(said([], repeated)).toEqual(['a count without its access'])
  expect(said([], repeated, recorded())).toEqual(['a count without its access'])
})
