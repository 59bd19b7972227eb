import { describe, expect, it } from 'vitest'
import { definitionErrors } from '../../../commands/workflows/definition-errors.ts'
import type { Condition, WorkflowStep } from '../../../streams/workflow-definition/steps.ts'
import { lesionSteps } from '../../streams/workflow-facts.ts'
import { decision, either, output, photos, questions, questionsOfEachType, to } from './graphs.ts'

/** `pointer code` of each error. The start is the first step. */
function faults(steps: readonly WorkflowStep[], startStepId = steps[0]?.step_id ?? ''): string[] {
  return definitionErrors({ startStepId, steps }).map(({ pointer, code }) => `${pointer} ${code}`)
}

/** A graph with one condition: questions, images, the decision with the condition, and an output. */
function deciding(when: Condition): WorkflowStep[] {
  return [questions('q', to('p')), photos('p', to('d')), decision('d', either(when, 'end', 'end')), output('end')]
}
const place = '/steps/2/next/0/when'

function levels(depth: number): Condition {
  let condition: Condition = { op: 'exists', path: 'q.answers.text' }
  for (let level = 1; level < depth; level += 1) condition = { op: 'not', condition }
  return condition
}

const [textQuestion, numberQuestion] = questionsOfEachType
if (textQuestion === undefined || numberQuestion === undefined) throw new Error('the questions are missing')
const withOptions = { ...textQuestion, options: ['a'] }

/** Each graph with its errors. */
const refusedGraphs: readonly (readonly [string, readonly WorkflowStep[], ...string[]])[] = [
  ['a branch to no step', [questions('q', to('x'))], '/steps/0/next/0/step_id unknown-step'],
  [
    'a second branch to no step',
    [decision('d', either({ op: 'exists', path: 'q.answers.text' }, 'q', 'x')), questions('q', to('d'))],
    '/steps/0/next/1/step_id unknown-step',
  ],
  ['two steps with one id', [questions('q', to('q')), questions('q', to('q'))], '/steps/1/step_id repeated'],
  [
    'three steps with one id',
    [output('q'), output('q'), output('q')],
    '/steps/1/step_id repeated',
    '/steps/2/step_id repeated',
  ],
  ['questions without a next step', [questions('q', [])], '/steps/0/next dead-end'],
  ['images without a next step', [photos('p', [])], '/steps/0/next dead-end'],
  ['a decision without a next step', [decision('d', [])], '/steps/0/next dead-end'],
  ['an output with a next step', [output('end', {}, to('end'))], '/steps/0/next next-of-output'],
  [
    'a branch behind one without a condition',
    [questions('q', [...to('end'), { when: { op: 'exists', path: 'q.answers.text' }, step_id: 'end' }]), output('end')],
    '/steps/0/next/1 never-taken',
  ],
  [
    'two branches without a condition',
    [questions('q', to('end', 'end')), output('end')],
    '/steps/0/next/1 never-taken',
  ],
  [
    'an output that no branch leads to',
    [questions('q', to('end')), output('end'), output('lost')],
    '/steps/2 unreachable-step',
  ],
  [
    'two steps that lead to each other only',
    [output('end'), questions('a', to('b')), questions('b', to('a'))],
    '/steps/1 unreachable-step',
    '/steps/2 unreachable-step',
  ],
  ['steps before the start', [output('end'), questions('q', to('end'))], '/steps/1 unreachable-step'],
  ['a decision that leads to itself', [decision('d', to('d'))], '/steps/0/next/0/step_id endless-cycle'],
  [
    'two decisions in a cycle',
    [decision('a', to('b')), decision('b', to('a'))],
    '/steps/1/next/0/step_id endless-cycle',
  ],
  [
    'three decisions in a cycle behind questions',
    [questions('q', to('a')), decision('a', to('b')), decision('b', to('c')), decision('c', to('a'))],
    '/steps/3/next/0/step_id endless-cycle',
  ],
  [
    'a cycle that one branch closes, beside a way out',
    [
      questions('q', to('a')),
      decision('a', either({ op: 'exists', path: 'q.answers.text' }, 'end', 'b')),
      decision('b', to('a')),
      output('end'),
    ],
    '/steps/2/next/0/step_id endless-cycle',
  ],
  [
    'two cycles',
    [
      questions('q', either({ op: 'exists', path: 'q.answers.text' }, 'a', 'b')),
      decision('a', to('a')),
      decision('b', to('b')),
    ],
    '/steps/1/next/0/step_id endless-cycle',
    '/steps/2/next/0/step_id endless-cycle',
  ],
  [
    'two questions with one id',
    [questions('q', to('end'), [textQuestion, textQuestion]), output('end')],
    '/steps/0/config/questions/1/id repeated',
  ],
  [
    'a choice without options',
    [questions('q', to('end'), [{ ...textQuestion, type: 'choice' }]), output('end')],
    '/steps/0/config/questions/0/options options-of-choice',
  ],
  ...(['text', 'number', 'boolean', 'date'] as const).map(
    (type) =>
      [
        `options of a ${type}`,
        [questions('q', to('end'), [{ ...withOptions, type }]), output('end')],
        '/steps/0/config/questions/0/options options-of-choice',
      ] as const,
  ),
  [
    'an option that is used twice',
    [questions('q', to('end'), [{ ...textQuestion, type: 'choice', options: ['a', 'b', 'a'] }]), output('end')],
    '/steps/0/config/questions/0/options/2 repeated',
  ],
  [
    'more images at least than at most',
    [photos('p', to('end'), { min: 3, max: 2 }), output('end')],
    '/steps/0/config/min min-above-max',
  ],
  [
    'a value of an unknown question',
    [questions('q', to('end')), output('end', { values: { a: 'q.answers.x' } })],
    '/steps/1/config/values/a unknown-path',
  ],
  [
    'a value of an unknown step',
    [questions('q', to('end')), output('end', { values: { a: 'x.answers.text' } })],
    '/steps/1/config/values/a unknown-path',
  ],
  [
    'a value that is no path',
    [questions('q', to('end')), output('end', { values: { a: 'text' } })],
    '/steps/1/config/values/a unknown-path',
  ],
  [
    'a value with a name that is none',
    [questions('q', to('end')), output('end', { values: { 'Jane Doe': 'q.answers.text' } })],
    '/steps/1/config/values pattern',
  ],
  [
    'a finding type without an effect',
    [questions('q', to('end')), output('end', { finding_type: 'rash' })],
    '/steps/1/config/finding_type effect-missing',
  ],
  [
    'an assessment without images',
    [questions('q', to('end')), output('end', { effect: 'assessment' })],
    '/steps/1/config/effect images-missing',
  ],
  [
    'an assessment on a way without images',
    [
      questions('q', either({ op: 'exists', path: 'q.answers.text' }, 'p', 'end')),
      photos('p', to('other')),
      output('other'),
      output('end', { effect: 'assessment' }),
    ],
    '/steps/3/config/effect images-missing',
  ],
]

describe('a definition is refused', () => {
  for (const [name, steps, ...expected] of refusedGraphs)
    it(`for ${name}`, () => {
      expect(faults(steps)).toEqual(expected)
    })

  it('for a start that is no step', () => {
    expect(faults([output('end')], 'begin')).toEqual(['/start_step_id unknown-step'])
  })

  it.each<readonly [string, Condition, string]>([
    ['a path to an unknown step', { op: 'exists', path: 'x.answers.text' }, `${place}/path unknown-path`],
    ['a path to an unknown question', { op: 'exists', path: 'q.answers.x' }, `${place}/path unknown-path`],
    ['a path to the answers of images', { op: 'exists', path: 'p.answers.text' }, `${place}/path unknown-path`],
    ['a path to the images of questions', { op: 'exists', path: 'q.image_ids' }, `${place}/path unknown-path`],
    ['a path into a decision', { op: 'exists', path: 'd.answers.text' }, `${place}/path unknown-path`],
    ['a path with too few parts', { op: 'exists', path: 'q.answers' }, `${place}/path unknown-path`],
    ['a path with too many parts', { op: 'exists', path: 'q.answers.text.more' }, `${place}/path unknown-path`],
    ['a path into images', { op: 'exists', path: 'p.image_ids.0' }, `${place}/path unknown-path`],
    ['an empty path', { op: 'exists', path: '' }, `${place}/path unknown-path`],
    [
      'a path to a member of every object',
      { op: 'exists', path: 'q.answers.constructor' },
      `${place}/path unknown-path`,
    ],
    ['a text compared with a number', { op: 'eq', path: 'q.answers.text', value: 1 }, `${place}/value wrong-type`],
    ['a number compared with a text', { op: 'ne', path: 'q.answers.number', value: '1' }, `${place}/value wrong-type`],
    [
      'a boolean compared with a text',
      { op: 'eq', path: 'q.answers.boolean', value: 'true' },
      `${place}/value wrong-type`,
    ],
    ['a date compared with a number', { op: 'eq', path: 'q.answers.date', value: 1 }, `${place}/value wrong-type`],
    [
      'a date compared with a day that is none',
      { op: 'gt', path: 'q.answers.date', value: '2026-02-30' },
      `${place}/value wrong-type`,
    ],
    [
      'a choice compared with no option',
      { op: 'eq', path: 'q.answers.choice', value: 'c' },
      `${place}/value wrong-type`,
    ],
    ['an order of texts', { op: 'gt', path: 'q.answers.text', value: 'a' }, `${place}/op wrong-operator`],
    ['an order of booleans', { op: 'lte', path: 'q.answers.boolean', value: true }, `${place}/op wrong-operator`],
    ['an order of choices', { op: 'gte', path: 'q.answers.choice', value: 'a' }, `${place}/op wrong-operator`],
    [
      'an order of a number and a text',
      { op: 'lt', path: 'q.answers.number', value: '1' },
      `${place}/value wrong-type`,
    ],
    [
      'a list with a value of another type',
      { op: 'in', path: 'q.answers.number', values: [1, '2'] },
      `${place}/values/1 wrong-type`,
    ],
    [
      'a list with no option',
      { op: 'in', path: 'q.answers.choice', values: ['a', 'c'] },
      `${place}/values/1 wrong-type`,
    ],
    ['images compared with a value', { op: 'eq', path: 'p.image_ids', value: 'x' }, `${place}/op wrong-operator`],
    ['images in a list', { op: 'in', path: 'p.image_ids', values: ['x'] }, `${place}/op wrong-operator`],
    [
      'a wrong part of a conjunction',
      {
        op: 'and',
        conditions: [
          { op: 'exists', path: 'p.image_ids' },
          { op: 'exists', path: 'x' },
        ],
      },
      `${place}/conditions/1/path unknown-path`,
    ],
    [
      'a wrong part of a negated disjunction',
      { op: 'not', condition: { op: 'or', conditions: [{ op: 'exists', path: 'x' }] } },
      `${place}/condition/conditions/0/path unknown-path`,
    ],
    ['a condition of 17 levels', levels(17), `${place}${'/condition'.repeat(16)} too-deep`],
  ])('for %s', (_, when, expected) => {
    expect(faults(deciding(when))).toEqual([expected])
  })

  it('with at most 20 errors', () => {
    expect(faults(Array.from({ length: 200 }, (__, index) => questions(`s${index}`, to('nowhere'))))).toHaveLength(20)
  })
})

describe('a definition is accepted', () => {
  it.each<readonly [string, readonly WorkflowStep[]]>([
    ['with a single output', [output('end')]],
    ['with questions, images and an assessment', lesionSteps],
    [
      'with a cycle in which a step waits',
      [
        questions('q', to('d')),
        decision('d', either({ op: 'exists', path: 'q.answers.text' }, 'end', 'q')),
        output('end'),
      ],
    ],
    [
      'with questions that lead to themselves',
      [questions('q', either({ op: 'exists', path: 'q.answers.text' }, 'end', 'q')), output('end')],
    ],
    [
      'with two ways to one step',
      [
        questions('q', either({ op: 'exists', path: 'q.answers.text' }, 'a', 'b')),
        decision('a', to('c')),
        decision('b', to('c')),
        decision('c', to('end')),
        output('end'),
      ],
    ],
    ['with a condition of 16 levels', deciding(levels(16))],
    [
      'without a branch that always fits',
      [questions('q', [{ when: { op: 'exists', path: 'q.answers.text' }, step_id: 'end' }]), output('end')],
    ],
  ])('%s', (_, steps) => {
    expect(faults(steps)).toEqual([])
  })

  it.each<Condition>([
    { op: 'eq', path: 'q.answers.text', value: '' },
    { op: 'gte', path: 'q.answers.number', value: -1.5 },
    { op: 'ne', path: 'q.answers.boolean', value: false },
    { op: 'lt', path: 'q.answers.date', value: '2024-02-29' },
    { op: 'in', path: 'q.answers.choice', values: ['a', 'b'] },
    { op: 'exists', path: 'p.image_ids' },
  ])('with the condition %o', (when) => {
    expect(faults(deciding(when))).toEqual([])
  })

  it('with 200 decisions that each lead to all later ones', () => {
    const when: Condition = { op: 'exists', path: 'q.answers.text' }
    const decisions = Array.from({ length: 198 }, (_, index) => {
      const later = Array.from({ length: 197 - index }, (__, more) => ({ when, step_id: `d${index + 1 + more}` }))
      return decision(`d${index}`, [...later, { step_id: 'end' }])
    })
    expect(faults([questions('q', to('d0')), ...decisions, output('end')])).toEqual([])
  })
})
