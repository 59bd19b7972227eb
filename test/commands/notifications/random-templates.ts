import * as fc from 'fast-check'

const paths = ['a', 'b', 'none', 'no', 'list', 'map', 'map.a', 'map.map.b', 'this', 'this.a', './b', '../a', '../../b']
const inLoops = ['@index', '@key', '@first', '@last', '@root.a', '@../index', '@root', 'item', 'item.a', 'i']
const path = fc.constantFrom(...paths, ...inLoops, 'absent', 'list.length')
const value = fc.oneof(
  path,
  path,
  fc.constantFrom('(lookup map "a")', '(lookup map @key)', '(lookup list 1)', '0', '""'),
)
const space = fc.constantFrom('', '', ' ', '\n', '  \n ', 'x', '<p>\n')
/** Sources of templates. Most of them are accepted. */
export const { source } = fc.letrec<{ readonly source: string; readonly block: string; readonly piece: string }>(
  (tie) => ({
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
  }),
)
