import { describe, expect, it } from 'vitest'
import { holds, valueAt } from '../../../commands/workflows/conditions.ts'
import type { Condition } from '../../../streams/workflow-definition/steps.ts'

const outputs = new Map([
  ['q', { answers: { text: 'b', number: 7, boolean: false, date: '2026-03-01', empty: '' } }],
  ['p', { image_ids: ['one'] }],
  ['none', { image_ids: [] }],
  ['erased', null],
])

const path = (name: string) => `q.answers.${name}`

describe('a condition holds', () => {
  it.each<readonly [boolean, Condition]>([
    [true, { op: 'eq', path: path('text'), value: 'b' }],
    [false, { op: 'eq', path: path('text'), value: 'B' }],
    [true, { op: 'ne', path: path('number'), value: 8 }],
    [false, { op: 'ne', path: path('number'), value: 7 }],
    [true, { op: 'gt', path: path('number'), value: 6 }],
    [false, { op: 'gt', path: path('number'), value: 7 }],
    [true, { op: 'gte', path: path('number'), value: 7 }],
    [true, { op: 'lt', path: path('date'), value: '2026-03-02' }],
    [false, { op: 'lt', path: path('date'), value: '2026-03-01' }],
    [true, { op: 'lte', path: path('date'), value: '2026-03-01' }],
    [true, { op: 'in', path: path('number'), values: [1, 7] }],
    [false, { op: 'in', path: path('number'), values: [1] }],
    [true, { op: 'exists', path: path('boolean') }],
    [true, { op: 'exists', path: path('empty') }],
    [true, { op: 'exists', path: 'p.image_ids' }],
    [false, { op: 'exists', path: 'none.image_ids' }],
    [true, { op: 'not', condition: { op: 'exists', path: path('missing') } }],
    [
      true,
      {
        op: 'and',
        conditions: [
          { op: 'exists', path: path('text') },
          { op: 'exists', path: 'p.image_ids' },
        ],
      },
    ],
    [
      false,
      {
        op: 'and',
        conditions: [
          { op: 'exists', path: path('text') },
          { op: 'exists', path: path('x') },
        ],
      },
    ],
    [
      true,
      {
        op: 'or',
        conditions: [
          { op: 'exists', path: path('x') },
          { op: 'exists', path: path('text') },
        ],
      },
    ],
    [false, { op: 'or', conditions: [{ op: 'exists', path: path('x') }] }],
  ])('%s: %o', (expected, condition) => {
    expect(holds(condition, outputs)).toBe(expected)
  })

  it.each(['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const)('never for a comparison %s with a missing value', (op) => {
    for (const missing of [path('missing'), 'later.answers.number', 'erased.answers.number', path('constructor')])
      expect(holds({ op, path: missing, value: 7 }, outputs)).toBe(false)
  })
})

it('a path leads to an answer, to images, or nowhere', () => {
  expect(valueAt(outputs, 'q.answers.number')).toBe(7)
  expect(valueAt(outputs, 'p.image_ids')).toEqual(['one'])
  for (const nowhere of ['q', 'q.number', 'q.answers.toString', 'x.answers.number', 'erased.image_ids'])
    expect(valueAt(outputs, nowhere)).toBeUndefined()
})
