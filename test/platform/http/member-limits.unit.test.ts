import { afterEach, expect, test, vi } from 'vitest'
import { parseJson } from '../../../platform/http/body-parsers.ts'
import { mostMembers, mostValues } from '../../../platform/http/member-limits.ts'
import { Problem } from '../../../platform/http/problems.ts'

afterEach(() => void vi.restoreAllMocks())

function refusalOf(json: string): unknown {
  try {
    parseJson(Buffer.from(json))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return [error.code, ...(error.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)]
  }
  return 'taken'
}

const times = (count: number, piece: (n: number) => string) => Array.from({ length: count }, (_, n) => piece(n)).join()
const members = (count: number) => `{${times(count, (n) => `"m${n}":0`)}}`
const items = (count: number) => `[${times(count, () => '0')}]`

test.each([
  ['members of one object', members, mostMembers],
  ['members of many objects', (count: number) => `[${times(count, (n) => `{"m${n}":0}`)}]`, mostMembers],
  ['items of a list', items, mostValues],
  ['empty lists', (count: number) => `[${times(count, () => '[ ]')}]`, mostValues],
])('a body may have the most %s, and not one more', (_case, body, most) => {
  expect([refusalOf(body(most)), refusalOf(body(most + 1))]).toEqual([
    'taken',
    ['malformed-body', expect.stringMatching(/^(?:\/m\d+)? too-many-members$/)],
  ])
})

test('members and items count together', () => {
  const body = (count: number) => `{"members":${members(mostMembers - 2)},"items":${items(count)}}`
  expect(refusalOf(body(mostValues - mostMembers))).toBe('taken')
  expect(refusalOf(body(mostValues - mostMembers + 1))).toEqual(['malformed-body', '/items too-many-members'])
})

test.each([
  [`{"a":0,"ste/ps":[${members(mostMembers)}]}`, '/ste~1ps'],
  [`{"clinical_context":${members(mostMembers)},"a":0}`, '/clinical_context'],
  [`{"\\u0061":${items(mostValues + 1)}`, '/a'],
  [`{"\\x":${items(mostValues + 1)}`, ''],
  [`[{"a":0},${members(mostMembers)}]`, ''],
])('the error points at the member of the body, case %#', (json, pointer) => {
  expect(refusalOf(json)).toEqual(['malformed-body', `${pointer} too-many-members`])
})

test('marks in texts do not count', () => {
  expect(refusalOf(JSON.stringify({ text: '{"a":[0,0]},\\'.repeat(mostValues) }))).toBe('taken')
})

test('a body with too many members is not parsed', () => {
  const parse = vi.spyOn(JSON, 'parse')
  expect(refusalOf(`[${members(60_000)}]`)).toEqual(['malformed-body', ' too-many-members'])
  expect(refusalOf('['.repeat(500_000))).toEqual(['malformed-body', ' too-many-members'])
  expect(parse.mock.calls.filter(([text]) => text.length > 100)).toEqual([])
})
