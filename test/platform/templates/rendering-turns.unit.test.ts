import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { RenderFault, TemplateFault } from '../../../platform/templates/faults.ts'
import { compileTemplate } from '../../../platform/templates/rendering.ts'
import { hostileTemplates } from './hostile-templates.ts'
import { source } from '../../commands/notifications/random-templates.ts'

/** Of CPU time, without a turn for other work of the process. */
const mostMs = 20
/** The shortest of several runs counts, because other programs on the machine make the same work longer. */
const mostRuns = 6

/** CPU milliseconds of the longest turn of the event loop during the work. */
async function longestTurnOf(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let began = process.threadCpuUsage()
  let next = setImmediate(turn)
  await work()
  clearImmediate(next)
  measure()
  return longest / 1000

  function turn(): void {
    measure()
    next = setImmediate(turn)
  }

  function measure(): void {
    const { user, system } = process.threadCpuUsage(began)
    longest = Math.max(longest, user + system)
    began = process.threadCpuUsage()
  }
}

let runs = 0

/** Compiles anew each time. */
async function compileAndRender(subject: string | null, bodyTemplate: string, variables: object): Promise<string> {
  runs += 1
  try {
    const template = { channel: 'email', subject, bodyTemplate: `${bodyTemplate} ${runs}` } as const
    await (await compileTemplate(template)).render({ ...variables })
    return 'rendered'
  } catch (error) {
    if (error instanceof TemplateFault) return error.code
    if (error instanceof RenderFault) return error.failure
    throw error
  }
}

interface Measured {
  /** How the first run ended. */
  readonly end: string
  readonly shortest: number
}

async function runAndMeasure(...given: Parameters<typeof compileAndRender>): Promise<Measured> {
  const ends: string[] = []
  let shortest = Infinity
  for (let run = 0; run < mostRuns && shortest >= mostMs; run++) {
    const turn = await longestTurnOf(async () => ends.push(await compileAndRender(...given)))
    shortest = Math.min(shortest, turn)
  }
  return { end: ends[0] ?? '', shortest }
}

const count = (length: number) => Array.from({ length }, (_, index) => index)
const nested = (open: string, within: string, close: string, times: number) =>
  open.repeat(times) + within + close.repeat(times)

type Heavy = readonly [title: string, body: string, variables: object, end?: string]

/** Each takes the most of one kind of work that is accepted. */
const heaviest: readonly Heavy[] = [
  ['branches', `{{#if a}}${'{{else if b}}'.repeat(19)}{{/if}}`.repeat(18), {}],
  ['blocks', nested('{{#if a}}', '', '{{/if}}', 20).repeat(10), {}],
  ['parentheses', `{{#if ${nested('(lookup a ', 'a', ')', 19)}}}{{/if}}`.repeat(16), {}],
  ['tags in 64 KiB', `{{a}}${'x\n'.repeat(80)}`.repeat(370), { a: '"' }],
  ['names in a path', `{{#if a${'.a'.repeat(700)}}}{{/if}}`, {}],
  ['comments', `{{!--${'x'.repeat(240)}--}}`.repeat(240), {}],
  ['space around tags', `{{~a~}}${' '.repeat(150)}`.repeat(370), { a: 1 }],
  ['block parameters', nested('{{#each @root.a as |b c|}}', '{{b}}', '{{/each}}', 13), { a: [1, 2] }, 'too-many-steps'],
  ['items', '{{#each a as |b c|}}{{b}}{{/each}}', { a: count(6_000) }],
  ['numbers', '{{#each a}}{{this}}{{/each}}', { a: count(9_000).map((number) => Math.sqrt(number) / 1e300) }],
  ['members', '{{#each a}}{{@key}}{{/each}}', { a: Object.fromEntries(count(9_000).map((n) => [`k${n * 7919}`, n])) }],
  [
    'members that are too many',
    '{{#each a}}{{/each}}',
    { a: Object.fromEntries(count(40_000).map((n) => [n, n])) },
    'too-many-steps',
  ],
  [
    'levels',
    `{{#each a}}${nested('{{#with @root.b}}{{#with @root.c}}', `{{${'../'.repeat(18)}d}}`, '{{/with}}{{/with}}', 9)}{{/each}}`,
    { a: count(9_000), b: {}, c: {}, d: 1 },
    'missing-variable',
  ],
  [
    'long equal texts',
    '{{#each a}}{{#with @root.b}}{{#with @root.c}}{{/with}}{{/with}}{{/each}}',
    { a: count(9_000), b: 'x'.repeat(30_000), c: 'x'.repeat(30_000) },
    'too-many-steps',
  ],
  ['characters to escape', '{{a}}', { a: '"'.repeat(43_000) }],
  ['elements', '{{#each a}}<p>{{/each}}', { a: count(9_900) }],
  ['elements in a text', '<p>a'.repeat(16_000), {}],
  ['brackets', '<'.repeat(65_000), {}],
  ['brackets in a list', `{{#each a}}${'<'.repeat(26)}{{/each}}`, { a: count(9_900) }],
  ['entities', '{{a}}', { a: '<'.repeat(60_000) }],
  ['links', '<a href=http:b>c</a>'.repeat(3_000), {}],
  ['words', '{{a}}', { a: 'a '.repeat(130_000) }],
  ['lines in a link', '<a href=http:b>{{a}}</a>', { a: 'a\n'.repeat(130_000) }],
  ['blanks in an address', '<a href="http:{{a}}">b</a>', { a: 'a\n'.repeat(130_000) }],
  ['blanks of an image', '<img alt="{{a}}">', { a: 'a\n'.repeat(130_000) }],
  ['entities of an image', '<img alt="{{a}}">', { a: '<'.repeat(60_000) }],
]

const cases = heaviest.map(([title, body, variables, end = 'rendered']) => ({ title, body, variables, end }))

it.each(cases)('the most $title let other work have its turn', async ({ body, variables, end }) => {
  const measured = await runAndMeasure(null, body, variables)
  expect(measured).toMatchObject({ end })
  expect(measured.shortest).toBeLessThan(mostMs)
})

it('no hostile template holds the process', async () => {
  for (const { title, subject = null, body, variables = {} } of hostileTemplates)
    expect((await runAndMeasure(subject, body, variables)).shortest, title).toBeLessThan(mostMs)
})

it('no random template holds the process, with as many tags and items as are accepted', async () => {
  const item = { a: 1, b: 'B <b>', none: null, no: false, list: count(3), map: { a: '"', list: [], map: { b: '&' } } }
  const variables = { ...item, list: count(2_000).map((n) => (n % 3 === 0 ? item : n)) }
  let rendered = 0
  await fc.assert(
    fc.asyncProperty(source, async (piece) => {
      for (let times = 512; times >= 1; times /= 2) {
        const { end, shortest } = await runAndMeasure(null, piece.repeat(times), variables)
        expect(shortest).toBeLessThan(mostMs)
        if (end === 'too-complex' || end === 'too-large') continue
        if (end === 'rendered') rendered += 1
        return
      }
    }),
    { numRuns: 80 },
  )
  expect(rendered).toBeGreaterThan(10)
})
