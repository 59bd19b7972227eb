import { expect, it } from 'vitest'
import type { Json } from '../../../tools/contract/json.ts'
import { formsOf } from '../../../tools/contract/schema-forms.ts'

const text = { type: 'string' }
const document = { components: { schemas: { Named: { type: 'object', properties: { name: text } } } } }
const named = { $ref: '#/components/schemas/Named' }

it.each<[string, Json, boolean]>([
  ['types', { type: ['string', 'null'] }, true],
  ['values', { enum: ['a', null] }, true],
  ['variants', { anyOf: [text, { type: 'null' }] }, true],
  ['variants beside a type without null', { type: 'object', anyOf: [named, { type: 'null' }] }, false],
  ['variants beside a type with null', { type: ['object', 'null'], anyOf: [named, { type: 'null' }] }, true],
  ['parts', { allOf: [{ type: ['string', 'null'] }, text] }, false],
])('null is apart from the shape: %s', (_, schema, isNullable) => {
  expect(formsOf(document, schema)).toEqual({ isNullable, forms: [expect.anything()] })
})

it.each<[string, readonly Json[], object | undefined]>([
  ['the narrower type', [{ type: 'number' }, { type: ['integer', 'string'] }], { type: ['integer'] }],
  ['the common values', [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }], { enum: ['b'] }],
  ['one value', [{ const: 'a' }, { enum: ['a', 'b'] }], { enum: ['a'] }],
  [
    'the narrower limits',
    [
      { minimum: 1, maximum: 9 },
      { minimum: 2, maximum: 8 },
    ],
    { minimum: 2, maximum: 8 },
  ],
  ['all required members', [{ required: ['a'] }, { required: ['b', 'a'] }], { required: ['a', 'b'] }],
  ['all patterns', [{ pattern: 'a' }, { pattern: 'b' }], { pattern: ['a', 'b'] }],
  [
    'no further members',
    [{ additionalProperties: false }, { additionalProperties: true }],
    { additionalProperties: false },
  ],
  [
    'all that is excluded',
    [{ not: { const: 1 } }, { not: { const: 2 } }],
    { not: { anyOf: [{ const: 1 }, { const: 2 }] } },
  ],
  [
    'both schemas of a member',
    [named, { properties: { name: { maxLength: 5 }, more: text } }],
    { properties: { name: { allOf: [text, { maxLength: 5 }] }, more: text } },
  ],
  ['nothing of two types', [text, { type: 'object' }], undefined],
  ['nothing of other values', [{ const: 'a' }, { const: 'b' }], undefined],
])('parts together have %s', (_, allOf, expected) => {
  const { forms } = formsOf(document, { allOf })
  expect(forms.map(({ schema }) => schema)).toEqual(expected === undefined ? [] : [expect.objectContaining(expected)])
})

it('a shape has the name of its variants', () => {
  const schema = { properties: { kind: text }, oneOf: [named, { title: 'Other' }], allOf: [named] }
  expect(formsOf(document, schema).forms.map(({ name }) => name)).toEqual(['Named and Named', 'Other and Named'])
})
