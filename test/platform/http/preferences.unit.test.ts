import { expect, it } from 'vitest'
import { preferencesOf } from '../../../platform/http/preferences.ts'
import { preferredSeconds } from '../../../platform/http/waiting.ts'

it.each([
  ['wait=5', 5],
  ['WAIT=5', 5],
  ['wait = 5', 5],
  ['wait="5"', 5],
  ['respond-async, wait=7', 7],
  ['wait=7;x=y, wait=9', 7],
  ['wait=25', 25],
  ['foo="a,wait=3", wait=4', 4],
  ['wait=26', 25],
  ['wait=99999999999999999999999999', 25],
  ['wait=007', 7],
  ['return=minimal; wait=2, wait=3', 3],
])('%s means %i seconds', (header, seconds) => {
  expect(preferredSeconds(header)).toBe(seconds)
})

it.each([
  'wait',
  'wait=',
  'wait=x',
  'wait=-1',
  'wait=1.5',
  'wait=1e1',
  'wait=0',
  'wait=000',
  'wait=5s',
  'wait=x, wait=5',
  'await=5',
  'foo="wait=5"',
  'foo="wait=5',
  '',
  ',,,',
  '=5',
  'wait==5',
  'wait=5 6',
  'wait:5',
])('%s means no preference', (header) => {
  expect(preferredSeconds(header)).toBeUndefined()
})

it('names are distinct, and the first value of each counts', () => {
  expect([...preferencesOf('Respond-Async, wait=3;p="q", wait=4, handling="len\\"ient"')]).toEqual([
    ['respond-async', ''],
    ['wait', '3'],
    ['handling', 'len\\"ient'],
  ])
  expect(preferencesOf(undefined).size).toBe(0)
})
