import { expect, test } from 'vitest'
import { superLinearIn, superLinearPatterns, superLinearSource } from './linear-patterns.ts'

test('all code that parses requests runs in linear time', async () => {
  expect(await superLinearSource()).toEqual([])
})

test.each([
  ['adjacent quantifiers', 'const a = /^\\s*x?\\s*$/'],
  [
    'adjacent quantifiers around a part that can be empty',
    `const a = /^\\s*([\\w-]+)\\s*(?:=\\s*([^\\s;"]*))?\\s*(?:;|$)/`,
  ],
  ['nested quantifiers', 'const a = /^(?:a+)+$/'],
  ['a search that starts at each place', 'const a = /\\s+$/'],
  ['a text for RegExp', `const a = new RegExp('^a*a*$')`],
  ['a call of RegExp', `const a = RegExp('^a*a*$', 'i')`],
  ['a pattern of a schema', `const a = Type.String({ minLength: 1, pattern: '^(?:a|b)*(?:b|c)*$' })`],
  ['uniqueItems', 'const a = Type.Array(Type.String(), { maxItems: 2, uniqueItems: true })'],
  ['quoted uniqueItems', `const a = { 'uniqueItems': true }`],
])('finds %s', (_, text) => {
  expect(superLinearIn('commands/planted.ts', `\n${text}\n`)).toEqual([
    expect.stringMatching(/^commands\/planted\.ts:2 /),
  ])
})

test.each([
  'const a = /^\\s*x\\s*$/',
  'const a = /^[a-z]+-[0-9]+$/',
  `const a = /"(?:[^"\\\\]|\\\\.)*"/`,
  `const a = RegExp(text)`,
  `const a = Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' })`,
])('takes %s', (text) => {
  expect(superLinearIn('commands/planted.ts', text)).toEqual([])
})

test('finds a pattern anywhere in a document', () => {
  const document = {
    components: { schemas: { A: { properties: { b: { pattern: '^a*a*$' } }, patternProperties: { '^(a+)+$': {} } } } },
  }
  expect(superLinearPatterns(document)).toEqual([
    '/components/schemas/A/properties/b/pattern /^a*a*$/u: two quantifiers can match the same text',
    '/components/schemas/A/patternProperties /^(a+)+$/u: a quantifier is nested in another',
  ])
})
