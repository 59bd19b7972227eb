import { expect, test } from 'vitest'
import { checkFeed } from '../../../tools/torture/checks/feed.ts'
import { exampleLog } from '../../../tools/torture/example-log.ts'

const channel = 'users.events'
const one = { userId: 'u', organisationIds: ['a'] }
const shared = { userId: 'v', organisationIds: ['a', 'b'] }
const ofB = { userId: 'w', orgId: 'b', organisationId: 'b' }
const log = exampleLog(
  [channel, 'users.updated', one],
  [channel, 'users.updated', shared],
  [channel, 'users.role.changed', ofB],
)
const reading = (orgId: string, ...events: readonly object[]) => ({ channel, orgId, how: 'pages', events }) as const
const said = (...readings: readonly ReturnType<typeof reading>[]) =>
  checkFeed(log, readings, log).findings.map(({ what }) => what)

test('the check of the feed takes what each organisation may read', () => {
  const ofA = reading('a', one, { ...shared, organisationIds: ['a'] })
  expect(checkFeed(log, [ofA, reading('b', { ...shared, organisationIds: ['b'] }, ofB)], log)).toMatchObject({
    examined: 4,
    findings: [],
  })
})

test('the check of the feed finds what is missing, twice, foreign or not narrowed', () => {
  const narrowed = { ...shared, organisationIds: ['a'] }
  expect(said(reading('a', one))).toEqual(['pages of users.events differ at event 1 of 2'])
  expect(said(reading('a', one, one, narrowed))).toEqual(['pages of users.events differ at event 1 of 2'])
  expect(said(reading('a', one, narrowed, ofB))).toEqual(['pages of users.events have 3 of 2 events'])
  expect(said(reading('a', one, shared))).toEqual(['pages of users.events differ at event 1 of 2'])
})

test('the check of the feed takes an event late that came after the first reading of the log', () => {
  const narrowed = { ...shared, organisationIds: ['a'] }
  expect(checkFeed(log.slice(0, 1), [reading('a', one)], log).findings).toEqual([])
  expect(checkFeed(log.slice(0, 1), [reading('a', narrowed)], log).findings).toHaveLength(1)
})
