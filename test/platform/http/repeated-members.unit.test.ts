import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJson } from '../../../platform/http/body-parsers.ts'
import { ambiguousPlace } from '../../../platform/http/repeated-members.ts'
import { Problem } from '../../../platform/http/problems.ts'

test.each([
  ['{"a":1,"a":2}', '/a'],
  ['{"a":{"b":[0,{"c":"","c":""}]}}', '/a/b/1/c'],
  ['[[{}],{"x":[],"y":{},"x":null}]', '/1/x'],
  ['{"data":1,"d\\u0061ta":2}', '/data'],
  ['{"a\\\\":1,"b":"\\"","a\\\\":2}', '/a\\'],
  ['{"a/b~":1,"a/b~":1}', '/a~1b~0'],
  ['{"":1, "" :2}', '/'],
])('%s repeats %s', (json, pointer) => {
  expect(ambiguousPlace(json)).toEqual({ pointer, code: 'repeated-member' })
})

test.each([
  '{"a":{"a":{"a":"a"}},"b":[{"a":1},{"a":1}],"c":"a"}',
  '{"a":"\\",\\"a\\":1","b":"{\\"a\\":1,\\"a\\":2}"}',
  '{"a":"\\\\","b":["a","a"],"A":1}',
  '["a","a"]',
  '"a"',
  '1',
  ' { } ',
])('%s repeats nothing', (json) => {
  expect(ambiguousPlace(json)).toBeUndefined()
})

function refusalOf(json: string): unknown {
  try {
    return parseJson(Buffer.from(json))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { code: error.code, errors: error.errors }
  }
}

test('an ambiguous body is refused with its place; names in free-form members are hidden', () => {
  const errors = (pointer: string) => [{ pointer, detail: 'occurs twice in its object', code: 'repeated-member' }]
  expect(refusalOf('{"grace_seconds":0,"grace_seconds":60}')).toEqual({
    code: 'malformed-body',
    errors: errors('/grace_seconds'),
  })
  expect(refusalOf('{"clinical_context":{"Ada":1,"Ada":2}}')).toEqual({
    code: 'malformed-body',
    errors: errors('/clinical_context'),
  })
  expect(refusalOf('{"grace_seconds":60}')).toEqual({ grace_seconds: 60 })
})

test.each([
  ['-0', ''],
  ['{"a":-0.0}', '/a'],
  ['[1,-0e-5]', '/1'],
  ['{"a":{"b":[9007199254740991,9007199254740992]}}', '/a/b/1'],
  ['[-9007199254740993]', '/0'],
  ['[9007199254740993.0]', '/0'],
  ['[9007199254740990.5]', '/0'],
  ['[0,1e16]', '/1'],
  ['[1e21]', '/0'],
  ['[1E400]', '/0'],
  ['[1e-400]', '/0'],
  ['[3.14159265358979323846]', '/0'],
  [`[0.${'1'.repeat(500)}]`, '/0'],
])('%s has a number that cannot be stored without loss', (json, pointer) => {
  expect(ambiguousPlace(json)).toEqual({ pointer, code: 'number' })
})

test.each([
  '0',
  '0.0',
  '0e5',
  '[-1,1.50,1e3,-2.5E-1]',
  '[9007199254740991,-9007199254740991]',
  '1e15',
  '12345678901234.5',
  '1.5e-308',
  '5e-324',
  '0.30000000000000004',
  '0.10000000000000001',
  '{"a":"9007199254740993","b":"-0"}',
])('keeps the numbers of %s unchanged', (json) => {
  expect(ambiguousPlace(json)).toBeUndefined()
})

test('a body may have at most 16,384 numbers that need the slow check', () => {
  const list = (count: number) =>
    `[${Array.from({ length: count }, () => '1e5').join(',')},${'1234567890.5,'.repeat(20_000)}0]`
  expect(parseJson(Buffer.from(list(16_384)))).toHaveLength(36_385)
  expect(() => parseJson(Buffer.from(list(16_385)))).toThrow(
    'The body has more than 16384 numbers with an exponent or more than 15 characters.',
  )
})

test('keeps every double as written by JavaScript, Python (shortest form) and C (17 digits)', () => {
  const doubles = fc
    .double({ noDefaultInfinity: true, noNaN: true })
    .filter((value) => !Object.is(value, -0) && (!Number.isInteger(value) || Number.isSafeInteger(value)))
  fc.assert(
    fc.property(doubles, (value) => {
      for (const text of [JSON.stringify(value), value.toPrecision(17), value.toExponential(20)])
        expect(ambiguousPlace(text)).toBeUndefined()
    }),
    { seed: 15, numRuns: 2000 },
  )
})

test('refuses an inexact number in a free-form member before any use of the body', () => {
  const detail =
    'cannot be stored without loss: send whole numbers beyond 2^53 and longer decimals as text, and 0 instead of -0'
  const refused = (pointer: string) => ({ code: 'malformed-body', errors: [{ pointer, detail, code: 'number' }] })
  expect(refusalOf('{"clinical_context":{"Ada":[1,9007199254740993]}}')).toEqual(refused('/clinical_context'))
  expect(refusalOf('{"images":[{"size":-0}]}')).toEqual(refused('/images/0/size'))
  expect(refusalOf('{"clinical_context":{"size_mm":4.2}}')).toEqual({ clinical_context: { size_mm: 4.2 } })
})
