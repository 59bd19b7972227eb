import * as fc from 'fast-check'
import Handlebars from 'handlebars'
import { expect, it } from 'vitest'
import { RenderFault, TemplateFault } from '../../../commands/notifications/template-fault.ts'
import { compileTemplate } from '../../../commands/notifications/template-rendering.ts'

const variables = {
  a: 1,
  b: 'B <b>',
  none: null,
  no: false,
  list: [1, 'two', { a: 3, list: [4] }],
  map: { a: 'in a map', list: [], map: { b: 'deep' } },
}

const paths = ['a', 'b', 'none', 'no', 'list', 'map', 'map.a', 'map.map.b', 'this', 'this.a', './b', '../a', '../../b']
const inLoops = ['@index', '@key', '@first', '@last', '@root.a', '@../index', '@root', 'item', 'item.a', 'i']
const path = fc.constantFrom(...paths, ...inLoops, 'absent', 'list.length')
const value = fc.oneof(
  path,
  path,
  fc.constantFrom('(lookup map "a")', '(lookup map @key)', '(lookup list 1)', '0', '""'),
)
const space = fc.constantFrom('', '', ' ', '\n', '  \n ', 'x', '<p>\n')
const { source } = fc.letrec<{ readonly source: string; readonly block: string; readonly piece: string }>((tie) => ({
  source: fc.array(tie('piece'), { maxLength: 4 }).map((pieces) => pieces.join('')),
  block: fc
    .tuple(
      fc.constantFrom('if', 'unless', 'each', 'with', '^if'),
      value,
      fc.constantFrom('', '', ' as |item|', ' as |item i|'),
      tie('source'),
      fc.constantFrom('', '{{else}}', '{{^}}', '{{else if b}}', '{{~else~}}', '{{else each list}}'),
      tie('source'),
    )
    .map(([name, of, names, first, otherwise, second]) => {
      const open = name === '^if' ? '{{^if' : `{{#${name}`
      const parameters = name === 'each' || name === 'with' ? names : ''
      return `${open} ${of}${parameters}}}${first}${otherwise}${otherwise === '' ? '' : second}{{/${name.replace('^', '')}}}`
    }),
  piece: fc.oneof(
    { depthSize: 'small' },
    space,
    path.map((name) => `{{${name}}}`),
    path.map((name) => `{{~${name}~}}`),
    fc.constantFrom(
      '{{! comment }}\n',
      '{{!-- {{a}} --}}',
      '\\{{a}}',
      '{{lookup map "a"}}',
      '{{lookup list 1}}',
      '}}',
      '{{',
    ),
    tie('block'),
  ),
}))

it('every template that renders has the output that Handlebars gives it', () => {
  let rendered = 0
  fc.assert(
    fc.property(source, (bodyTemplate) => {
      try {
        const { html } = compileTemplate({ channel: 'email', subject: null, bodyTemplate }).render(variables)
        expect(html).toBe(Handlebars.compile(bodyTemplate)(variables))
        rendered += 1
      } catch (error) {
        // Ours is stricter: it refuses what is missing, or has no text.
        if (!(error instanceof TemplateFault) && !(error instanceof RenderFault)) throw error
      }
    }),
    { numRuns: 3000 },
  )
  expect(rendered).toBeGreaterThan(500)
})

it('any text is refused by a fault, or renders', () => {
  const marks = '{{ }} {{{ {{{{ # / ^ if else each | as ( ) " ! -- \\ ~ @ [ ] = . .. > * & a constructor 0'.split(' ')
  const pieces = fc.constantFrom(...marks, ' ', '\n')
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (all) => {
      try {
        compileTemplate({ channel: 'email', subject: all.join(''), bodyTemplate: all.join('') }).render(variables)
      } catch (error) {
        if (!(error instanceof TemplateFault) && !(error instanceof RenderFault)) throw error
      }
    }),
    { numRuns: 3000 },
  )
})
