import Handlebars from 'handlebars'
import { describe, expect, it } from 'vitest'
import { plainTextOf } from '../../../platform/templates/plain-text.ts'
import { TemplateFault } from '../../../platform/templates/faults.ts'
import { compileTemplate, type TemplateSource, type Variables } from '../../../platform/templates/rendering.ts'

const mail = (bodyTemplate: string, subject: string | null = null) =>
  compileTemplate({ channel: 'email', subject, bodyTemplate })

const rendered = async (bodyTemplate: string, variables: Variables) => (await mail(bodyTemplate)).render(variables)

async function faultOf(template: TemplateSource): Promise<TemplateFault> {
  try {
    await compileTemplate(template)
  } catch (error) {
    if (error instanceof TemplateFault) return error
    throw error
  }
  throw new Error('the template is accepted')
}

it('compiles a template although others fill the cache meanwhile', async () => {
  const waiting = mail('{{a}}', 'It has a subject, so it takes longer')
  const long = 'x'.repeat(65_000)
  const others = Array.from({ length: 20 }, (_, number) => mail(`${number} ${long}`))
  expect((await waiting).variables).toEqual(['a'])
  await Promise.all(others)
})

describe('the language of templates', () => {
  const variables = {
    a: 1,
    name: 'Jo <b>',
    zero: 0,
    empty: '',
    no: false,
    none: null,
    noItems: [],
    key: 'k',
    list: [1, 2],
    map: { k: 'v', z: 0 },
    items: [
      { n: 'x', t: [7, 8] },
      { n: 'y', t: [] },
    ],
  }

  it.each([
    '{{a}} {{name}} {{this.a}} {{./a}} {{[a]}} {{none}}|{{no}}|{{zero}}',
    '{{#if zero}}y{{else}}n{{/if}}{{#if noItems}}y{{else}}n{{/if}}{{#if empty}}1{{else if a}}2{{else}}3{{/if}}',
    '{{#if absent}}y{{/if}}{{#unless absent.deeper}}n{{/unless}}{{#if none}}y{{else}}n{{/if}}{{^if no}}x{{/if}}',
    '{{#each list}}{{this}}-{{@index}}-{{@first}}{{#unless @last}},{{/unless}}{{else}}none{{/each}}',
    '{{#each noItems}}x{{else}}none{{/each}}{{#each absent}}x{{else}}none{{/each}}{{#each a}}x{{else}}none{{/each}}',
    '{{#each map}}{{@key}}={{this}}{{@index}};{{/each}}',
    '{{#each items as |item i|}}{{i}}:{{item.n}}{{#each item.t}}{{this}}{{../n}}{{@../index}}{{/each}}{{/each}}',
    '{{#each items as |item|}}{{#each item.t as |t j|}}{{item.n}}{{t}}{{j}}{{@first}}{{/each}}{{/each}}',
    '{{#each items}}{{#if t}}{{../a}}{{#with this}}{{../a}}{{n}}{{/with}}{{/if}}{{/each}}',
    '{{#with map}}{{k}}{{../a}}{{#if z}}y{{else}}n{{/if}}{{/with}}{{#with zero}}z{{/with}}{{#with empty}}z{{else}}e{{/with}}',
    '{{#with map as |m|}}{{m.k}}{{k}}{{@root.a}}{{/with}}{{#with absent}}x{{else}}e{{/with}}',
    '{{lookup map key}}{{lookup list 1}}{{#with (lookup items 1)}}{{n}}{{/with}}{{#if (lookup map "z")}}1{{else}}0{{/if}}',
    '{{#each items as |item i|}}{{#with map as |m|}}{{#each item.t as |t|}}{{i}}{{m.k}}{{t}}{{item.n}}{{/each}}{{/with}}{{/each}}',
    '{{#each list as |item|}}{{#each ../list as |item|}}{{item}}{{else}}{{item}}{{/each}}{{#with map as |item|}}{{item.k}}{{/with}}{{item}}{{/each}}',
    '{{#each list as |a a|}}{{a}}{{/each}}{{#with map as |m n|}}{{#if n}}y{{else}}n{{/if}}{{/with}}{{#with name as |s|}}{{s}}{{this}}{{../a}}{{/with}}',
    '{{list.length}}{{list.[0]}}{{#each list}}{{#with ../map}}{{k}}{{@index}}{{/with}}{{/each}}',
    '{{#if a}}\n  {{name}}\n{{/if}}\nx {{~name~}} y\n{{! a comment }}\n{{!-- {{another}} --}}z',
    '\\{{a}} \\\\{{a}} { {a} } }}',
    '{{#each list as |a|}}{{a}}{{this.a}}{{@root.a}}{{/each}}'.replace('{{this.a}}', ''),
  ])('%s renders as Handlebars renders it', async (source) => {
    expect((await rendered(source, variables)).html).toBe(Handlebars.compile(source)(variables))
  })

  it('a missing variable fails with its path, also where Handlebars prints nothing', async () => {
    await expect(rendered('{{#each list}}{{absent.name}}{{/each}}', variables)).rejects.toThrow(
      expect.objectContaining({ missing: 'absent.name', errorDetail: 'the variable absent.name is missing' }),
    )
  })

  it('an inherited member is missing', async () => {
    for (const [of, name] of [
      ['this', 'constructor'],
      ['list', 'map'],
      ['name', 'big'],
    ])
      await expect(rendered(`{{lookup ${of} "${name}"}}`, variables)).rejects.toThrow('is missing')
  })

  it('a failure contains no value of a variable', async () => {
    const secret = 'canary-value'
    await expect(rendered('{{lookup map secret}}', { map: { a: 1 }, secret })).rejects.toThrow(
      'lookup map secret is missing',
    )
    await expect(rendered('{{secret.name}}', { secret })).rejects.toThrow('the variable secret.name is missing')
  })
})

describe('what a template uses', () => {
  it.each([
    ['{{a}} {{b.c}}', ['a', 'b.c']],
    ['{{#if a}}{{a}}{{/if}}', []],
    ['{{#if a}}{{a}}{{/if}}{{a}}', ['a']],
    ['{{#if b}}{{a}}{{/if}}', ['a']],
    ['{{#if a}}x{{else}}{{a}}{{/if}}', ['a']],
    ['{{#unless a}}x{{else}}{{a}}{{/unless}}', []],
    ['{{#unless a}}{{a}}{{/unless}}', ['a']],
    ['{{#if a.b}}{{a.b}}{{a.c}}{{/if}}', ['a.c']],
    ['{{#each list}}{{name}}{{../a}}{{@root.b}}{{@index}}{{this}}{{/each}}', ['a', 'b']],
    ['{{#each list as |item|}}{{item.name}}{{/each}}{{item}}', ['item']],
    ['{{#with a}}{{b}}{{else}}{{c}}{{/with}}', ['c']],
    ['{{lookup map key}}', ['map', 'key']],
    ['{{#if (lookup map key)}}{{map}}{{/if}}', ['map']],
    ['no variables', []],
  ])('%s requires %j', async (source, required) => {
    expect((await mail(source)).requiredVariables).toEqual(required)
  })

  it('names all variables, and those of the subject', async () => {
    const { variables, subjectVariables } = await mail(
      '{{a.b}}{{#if c}}{{d}}{{/if}}{{#each list}}{{e}}{{/each}}',
      '{{f}}',
    )
    expect(variables.toSorted()).toEqual(['a', 'c', 'd', 'f', 'list'])
    expect(subjectVariables).toEqual(['f'])
  })

  it('lists required paths without a value; null is one', async () => {
    const { missingFrom } = await mail('{{a.b}}{{c}}{{d}}', '{{e}}')
    expect(missingFrom({ a: { x: 1 }, c: null, d: 0 })).toEqual(['a.b', 'e'])
    expect(missingFrom({ a: { b: '' }, c: 1, d: 1, e: 1 })).toEqual([])
  })
})

describe('a fault', () => {
  const source = 'Dear {{name}},\n  {{#if a}}x{{/if}} {{{b}}}'
  it.each([
    [{ channel: 'email', subject: null, bodyTemplate: source }, '/bodyTemplate unescaped-output 2:21'],
    [{ channel: 'email', subject: '{{a}} {{> b}}', bodyTemplate: 'x' }, '/subject partial 1:7'],
    [{ channel: 'email', subject: null, bodyTemplate: 'a\n {{#if a}} x {{/each}}' }, '/bodyTemplate syntax 2:5'],
    [{ channel: 'email', subject: null, bodyTemplate: 'a\nbc {{ #! }}' }, '/bodyTemplate syntax 2:7'],
    [{ channel: 'email', subject: null, bodyTemplate: '{{#if a}}\n\nx' }, '/bodyTemplate syntax 3:2'],
    [{ channel: 'slack', subject: 'x', bodyTemplate: 'x' }, '/subject subject-on-chat 1:1'],
  ] as const)('%j names member, line and column: %s', async (template, place) => {
    const { pointer, code, line, column, message } = await faultOf(template)
    expect(`${pointer} ${code} ${line}:${column}`).toBe(place)
    expect(message).not.toContain('{{')
  })
})

it('branches count as blocks within each other', async () => {
  const chain = (branches: number) => `{{#if a}}${'{{else if b}}'.repeat(branches)}{{/if}}`
  expect((await faultOf({ channel: 'email', subject: null, bodyTemplate: chain(20) })).code).toBe('too-deep')
  expect((await rendered(chain(19).repeat(3), {})).html).toBe('')
})

it('a template is compiled once, also for several messages at once', async () => {
  const bodyTemplate = '<p>{{name}}</p>'
  const [first, second] = await Promise.all([mail(bodyTemplate, 'A'), mail(bodyTemplate, 'A')])
  expect(second).toBe(first)
  expect(await mail(bodyTemplate, 'A')).toBe(first)
  expect(await mail(bodyTemplate, 'B')).not.toBe(first)
  expect(await mail(bodyTemplate)).not.toBe(first)
})

it('a template that is refused is refused again', async () => {
  const template = { channel: 'email', subject: null, bodyTemplate: '{{#if a}}' } as const
  expect(await faultOf(template)).toEqual(await faultOf(template))
})

describe('a rendered message', () => {
  it('of a mail has the subject as text, the body as HTML and the same as text', async () => {
    const template = await mail('<p>Dear {{name}},</p><p>see <a href="{{url}}">here</a></p>', 'For {{name}}')
    expect(await template.render({ name: 'A & <B>', url: 'https://a.example/?x=1&y=2' })).toEqual({
      subject: 'For A & <B>',
      html: '<p>Dear A &amp; &lt;B&gt;,</p><p>see <a href="https://a.example/?x&#x3D;1&amp;y&#x3D;2">here</a></p>',
      text: 'Dear A & <B>,\n\nsee here (https://a.example/?x=1&y=2)',
    })
  })

  it('of a chat has only the text, with the three characters of Slack escaped', async () => {
    const template = await compileTemplate({
      channel: 'slack',
      subject: null,
      bodyTemplate: '*{{name}}* <https://a.example>',
    })
    expect(await template.render({ name: '<!channel> & "x"' })).toEqual({
      subject: null,
      html: null,
      text: '*&lt;!channel&gt; &amp; "x"* <https://a.example>',
    })
  })
})

describe('the text of an HTML mail', () => {
  it.each([
    ['<p>One</p>\n<p>Two<br>three</p>', 'One\n\nTwo\nthree'],
    ['<ul><li>one</li>\n<li>two</li></ul>after', '- one\n- two\n\nafter'],
    ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
    ['text<div>a</div><div>b</div>after<br><br>end', 'text\na\nb\nafter\n\nend'],
    ['<head><title>t</title></head><style>p > a {}</style><script>x</script>body', 'body'],
    ['<a href="https://a.example">https://a.example</a>', 'https://a.example'],
    ['<a href="javascript:x">here</a> <a>there</a>', 'here there'],
    ["<A HREF='mailto:a@b.example'>mail</A>", 'mail (mailto:a@b.example)'],
    ['a &lt; b &amp;&nbsp;c &#228;&#xe4; &unknown; &#0; &#x110000;', 'a < b & c ää &unknown; \ufffd \ufffd'],
    ['&euro; &copy; &Auml; &hellip; &CounterClockwiseContourIntegral; &#128; &amp;lt; &copy', '€ © Ä … ∳ € &lt; ©'],
    ['1 < 2 and <3', '1 < 2 and <3'],
    ['a<!-- hidden > -->b<!doctype html>c', 'abc'],
    ['<img alt="a > b">x', 'a > bx'],
    ['<a href="https://a.example"><img src="x" alt="The clinic"></a>', 'The clinic (https://a.example)'],
    ['<a href="https://a.example"><img src="x"></a>', 'https://a.example'],
    ['<a data-href="https://b.example" href="https://a.example">here</a>', 'here (https://a.example)'],
    ['<a data-href="https://b.example">here</a>', 'here'],
    [`<a title="href='https://b.example'" href="https://a.example">here</a>`, 'here (https://a.example)'],
    ['<a href=https://a.example/?x=1&amp;y=2 title=x>here</a>', 'here (https://a.example/?x=1&y=2)'],
    ['<a href="https://a.example" href="https://b.example">here</a>', 'here (https://a.example)'],
    ['<a\nhref = "https://a.example"\n>here', 'here (https://a.example)'],
    ['<main><nav>a</nav><article>b<aside>c</aside></article></main>d', 'a\nb\nc\nd'],
    ['<p title="</p><p>">a</p>', 'a'],
    ['<ul><li><p>a</p></li><li></li><li>b</ul>', '- a\n\n- b'],
    ['<div>a</div><div><br></div><div>b</div>', 'a\n\nb'],
    ['<head><meta charset="utf-8"><title>a &lt;/title&gt;</title><body>b', 'b'],
    ['<template><p>a</p><template>b</template>c</template>d', 'd'],
    ['<template><li><a href="https://a.example">a</template>b', 'b'],
    ['<script>"<p>a</p>"</script>b<!-- c --!>d<!---->e</ f>g', 'bdeg'],
    ['a <b open', 'a'],
    ['<style>never closed', ''],
    ['  \n\n a  \t b \n\n\n', 'a b'],
    ['<a href="tel:+49 30 123">+49 30 123</a> <a href="TEL:1">call</a>', '+49 30 123 (tel:+49 30 123) call (TEL:1)'],
    [
      '<map><area href="https://a.example" alt=" Berlin "><area alt="Bonn" href="tel:1"/></map>.',
      'Berlin (https://a.example) Bonn (tel:1) .',
    ],
    ['<area href="https://a.example"><area alt="no link"><area href="javascript:x">', 'https://a.example no link'],
    ['<a href=" https://a.example/\n ">https://a.example/ </a>', 'https://a.example/'],
    [
      '<a href="https://a.example">a  b\t<i>c</i>d</a><img alt="  two \n words ">',
      'a b cd (https://a.example) two words',
    ],
  ])('%j is %j, at every place of a long mail', async (html, text) => {
    expect(await plainTextOf(html)).toBe(text)
    // Long mails are read in pieces. What stands on the border of two pieces is one thing all the same.
    for (let before = 1; before < html.length; before++)
      expect(await plainTextOf(`${' '.repeat(16_384 - before)}${html}`), `after ${before} characters`).toBe(text)
  })

  it.each([
    ['of words', 'a '],
    ['of lines', 'a\n'],
    ['of entities', '&lt; '],
    ['in a link', 'a\n', '<a href="https://a.example">', '</a>'],
    ['in an address', 'a\n', '<a href="https://', '">b</a>'],
    ['of an image', 'a\n', '<img alt="', '">'],
  ])('lets other work have its turn during one long text %s', async (_, word, before = '', after = '') => {
    const html = `${before}${word.repeat((256 * 1024) / word.length)}${after}`
    let turns = 0
    let next = setImmediate(turn)
    const text = await plainTextOf(html)
    clearImmediate(next)
    expect(text.length).toBeGreaterThan(html.length / 5)
    expect(turns).toBeGreaterThanOrEqual(16)

    function turn(): void {
      turns += 1
      next = setImmediate(turn)
    }
  })
})
