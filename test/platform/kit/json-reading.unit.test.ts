import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJson } from '../../../platform/http/body-parsers.ts'
import { readJsonText } from '../../../platform/kit/json-reading.ts'

/** Every character of names and texts as its number. */
function escaped(value: unknown): string {
  if (typeof value === 'string')
    return `"${value
      .split('')
      .map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('')}"`
  if (Array.isArray(value)) return `[ ${value.map(escaped).join(' , ')} ]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([name, member]) => `${escaped(name)} : ${escaped(member)}`)
    .join(' , ')} }`
}

test('a body has one meaning, however its names and texts are escaped', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (body) => {
      expect(escaped(readJsonText(escaped(body)))).toBe(escaped(body))
      expect(escaped(readJsonText(JSON.stringify(body)))).toBe(escaped(body))
    }),
    { numRuns: 300 },
  )
})

test.each([
  ['{"\\\\u0067iven":1}', '{"\\u0067iven_name":2}', { given_name: 2 }],
  ['{"a":0,"\\\\u00":1}', '{"a":0,"\\u00e9tat":2}', { a: 0, état: 2 }],
  ['{"b":0,"\\\\":1}', '{"b":0,"\\"":2}', { b: 0, '"': 2 }],
])('after %s from another request, %s keeps its meaning', (planted, json, meaning) => {
  for (let turn = 0; turn < 3; turn += 1) {
    parseJson(Buffer.from(planted))
    expect(Object.entries(parseJson(Buffer.from(json)) as object)).toEqual(Object.entries(meaning))
  }
})

test('values of every kind stay unchanged', () => {
  const json =
    ' {"t":"\\"[{,:}]\\\\","n":[-1.5e3,0,true,false,null,"",{},[],[[]]],"o":{"__proto__":{"a":1}},"e\\n":{"":""}} '
  const value = readJsonText(json)
  expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(json)))
  expect(Object.getPrototypeOf((value as { o: object }).o)).toBe(Object.prototype)
  expect([readJsonText(' "\\u0061" '), readJsonText('1'), readJsonText('null')]).toEqual(['a', 1, null])
})

test('refuses invalid JSON', () => {
  for (const json of ['', '{"a\\n":1', '["\\x"]', '{"\\u0061":1}}'])
    expect(() => readJsonText(json)).toThrow(SyntaxError)
})
