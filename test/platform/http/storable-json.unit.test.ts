import { expect, test } from 'vitest'
import { requireStorable } from '../../../platform/http/storable-json.ts'
import { Problem } from '../../../platform/http/problems.ts'

function refusalOf(json: string): unknown {
  try {
    requireStorable(JSON.parse(json))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return [error.code, ...(error.errors ?? []).map(({ pointer, code }) => `${pointer} ${code}`)]
  }
  return 'taken'
}

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

test.each([
  ['"\\u0000"', ' text'],
  ['{"images":[{},{"mime_type":"\\ud800"}]}', '/images/1/mime_type text'],
  ['{"a":{"b\\u0000":1}}', '/a text'],
  ['{"a/b":[0,"\\u0000"]}', '/a~1b/1 text'],
  ['{"a":[{"__proto__":1}]}', '/a/0 name'],
  ['{"clinical_context":{"Ada":{"Example":"\\u0000"}}}', '/clinical_context text'],
  [`{"variables":${nested(65)}}`, '/variables too-deep'],
])('%s cannot be stored, and the error contains its place', (json, place) => {
  expect(refusalOf(json)).toEqual(['malformed-body', place])
})

test('accepts the deepest nesting and complete surrogate pairs', () => {
  for (const json of [nested(64), '"\\ud83d\\ude00"', '{"proto":1}', 'null']) expect(refusalOf(json)).toBe('taken')
})
