import { expect, test } from 'vitest'
import { parseJson } from '../../../platform/http/body-parsers.ts'
import { repeatedMember } from '../../../platform/http/repeated-members.ts'
import { Problem } from '../../../platform/problems.ts'

test.each([
  ['{"a":1,"a":2}', '/a'],
  ['{"a":{"b":[0,{"c":"","c":""}]}}', '/a/b/1/c'],
  ['[[{}],{"x":[],"y":{},"x":null}]', '/1/x'],
  ['{"data":1,"d\\u0061ta":2}', '/data'],
  ['{"a\\\\":1,"b":"\\"","a\\\\":2}', '/a\\'],
  ['{"a/b~":1,"a/b~":1}', '/a~1b~0'],
  ['{"":1, "" :2}', '/'],
])('%s repeats %s', (json, pointer) => {
  expect(repeatedMember(json)).toBe(pointer)
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
  expect(repeatedMember(json)).toBeUndefined()
})

function refusalOf(json: string): unknown {
  try {
    return parseJson(Buffer.from(json))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return { code: error.code, errors: error.errors }
  }
}

test('a body that says two things is refused where it does; of free-form members no names are told', () => {
  const errors = (pointer: string) => [{ pointer, detail: 'stands twice in its object', code: 'repeated-member' }]
  expect(refusalOf('{"grace_seconds":0,"grace_seconds":60}')).toEqual({ code: 'malformed-body', errors: errors('/grace_seconds') })
  expect(refusalOf('{"clinical_context":{"Ada":1,"Ada":2}}')).toEqual({ code: 'malformed-body', errors: errors('/clinical_context') })
  expect(refusalOf('{"grace_seconds":60}')).toEqual({ grace_seconds: 60 })
})
