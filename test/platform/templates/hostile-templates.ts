import type { RenderFailure } from '../../../platform/templates/faults.ts'

/** What becomes of a hostile template: refused when it is saved, a failure when it is rendered, or harmless output. */
export type Fate =
  | { readonly refused: string }
  | { readonly fails: RenderFailure }
  /** The body; and the subject, if there is one. */
  | { readonly prints: string }

export interface HostileTemplate {
  readonly title: string
  readonly body: string
  readonly subject?: string
  readonly channel?: 'email' | 'slack'
  readonly variables?: Readonly<Record<string, unknown>>
  readonly fate: Fate
}

const body = (title: string, source: string, fate: Fate, variables = {}): HostileTemplate => ({
  title,
  body: source,
  fate,
  variables,
})
const subject = (title: string, source: string, fate: Fate, variables = {}): HostileTemplate => ({
  ...body(title, 'x', fate, variables),
  subject: source,
})
const chat = (title: string, source: string, fate: Fate, variables = {}): HostileTemplate => ({
  ...body(title, source, fate, variables),
  channel: 'slack',
})
const refused = (code: string): Fate => ({ refused: code })
const fails = (failure: RenderFailure): Fate => ({ fails: failure })
const prints = (text: string): Fate => ({ prints: text })
const nested = (open: string, within: string, close: string, times: number) =>
  open.repeat(times) + within + close.repeat(times)
const thousand = Array.from({ length: 1000 }, (_, index) => index)
const names = thousand.map((number) => `a${number}`).join(' ')
const long = 'x'.repeat(30_000)
/** As JSON can contain them: own members with names of prototypes. */
const ownNames: unknown = JSON.parse('{"__proto__":{"evil":"own"},"constructor":"own"}')

export const hostileTemplates: readonly HostileTemplate[] = [
  // Prototypes and constructors.
  body('the constructor of the variables', '{{constructor}}', refused('path-not-allowed')),
  body('the constructor by a path', '{{this.constructor}}', refused('path-not-allowed')),
  body('the constructor of the constructor', '{{constructor.constructor}}', refused('path-not-allowed')),
  body('a constructor of a value', '{{name.constructor.name}}', refused('path-not-allowed')),
  body('__proto__', '{{__proto__}}', refused('path-not-allowed')),
  body('__proto__ in a segment', '{{[__proto__]}}', refused('path-not-allowed')),
  body('__proto__ in the middle', '{{a.__proto__.b}}', refused('path-not-allowed')),
  body('__proto__ of the root', '{{@root.__proto__}}', refused('path-not-allowed')),
  body('__proto__ in a condition', '{{#if __proto__}}x{{/if}}', refused('path-not-allowed')),
  body('__defineGetter__', '{{__defineGetter__}}', refused('path-not-allowed')),
  body('__lookupGetter__', '{{#with __lookupGetter__}}x{{/with}}', refused('path-not-allowed')),
  body('toString', '{{toString}}', refused('path-not-allowed')),
  body('hasOwnProperty as a block', '{{#each hasOwnProperty}}x{{/each}}', refused('path-not-allowed')),
  body('prototype', '{{a.prototype}}', refused('path-not-allowed')),
  body('a block parameter named constructor', '{{#each a as |constructor|}}x{{/each}}', refused('path-not-allowed')),
  body('lookup of the constructor', '{{lookup this "constructor"}}', fails('missing-variable')),
  body('lookup of __proto__', '{{lookup this "__proto__"}}', fails('missing-variable')),
  body('lookup of a name from a variable', '{{lookup this name}}', fails('missing-variable'), { name: 'constructor' }),
  body('lookup of a lookup', '{{lookup (lookup this "constructor") "name"}}', fails('missing-variable')),
  body('lookup of a method of a list', '{{lookup list "map"}}', fails('missing-variable'), { list: [1] }),
  body('lookup of a method of a text', '{{lookup name "big"}}', fails('missing-variable'), { name: 'x' }),
  body('lookup by an object', '{{lookup this key}}', fails('missing-variable'), { key: { toString: 'a' }, a: 1 }),
  body('a method of a list', '{{list.push}}', fails('missing-variable'), { list: [] }),
  body('a method of a text', '{{name.link}}', fails('missing-variable'), { name: 'x' }),
  body(
    'own members with names of prototypes, in a list',
    '{{#each this}}{{@key}} {{/each}}',
    prints('__proto__ constructor '),
    ownNames as object,
  ),
  body(
    'own members with names of prototypes, looked up',
    '{{lookup this "constructor"}}',
    prints('own'),
    ownNames as object,
  ),
  body(
    'an own __proto__ reaches no prototype',
    '{{lookup (lookup this "__proto__") "evil"}}',
    prints('own'),
    ownNames as object,
  ),
  // Helpers, partials and decorators.
  body('a helper that logs', '{{log name}}', refused('unknown-helper'), { name: 'x' }),
  body('helperMissing', '{{helperMissing name}}', refused('unknown-helper')),
  body('blockHelperMissing', '{{#blockHelperMissing name}}x{{/blockHelperMissing}}', refused('unknown-helper')),
  body('a helper of its own', '{{shout name}}', refused('unknown-helper')),
  body('a variable as a block', '{{#name}}x{{/name}}', refused('unknown-helper')),
  body('an inverse variable as a block', '{{^name}}x{{/name}}', refused('unknown-helper')),
  body('a helper in parentheses', '{{#if (equal a b)}}x{{/if}}', refused('unknown-helper')),
  body('a block helper without a block', '{{each list}}', refused('unknown-helper')),
  body('a block helper as a variable', '{{if}}', refused('unknown-helper')),
  body('lookup without values', '{{lookup}}', refused('arguments')),
  body('lookup with three values', '{{lookup a b c}}', refused('arguments')),
  body('lookup with a hash', '{{lookup a b c=1}}', refused('arguments')),
  body('if with two values', '{{#if a b}}x{{/if}}', refused('arguments')),
  body('if with a hash', '{{#if a includeZero=true}}x{{/if}}', refused('arguments')),
  body('if without a value', '{{#if}}x{{/if}}', refused('arguments')),
  body('if with parameters', '{{#if a as |b|}}x{{/if}}', refused('arguments')),
  body('a hash at a variable', '{{name a=1}}', refused('unknown-helper')),
  body('a partial', '{{> header}}', refused('partial')),
  body('a partial from a variable', '{{> (lookup . "name")}}', refused('partial')),
  body('a partial with a block', '{{#> layout}}x{{/layout}}', refused('partial')),
  body('an inline partial', '{{#*inline "a"}}x{{/inline}}', refused('not-allowed')),
  body('a decorator', '{{* decorate}}', refused('not-allowed')),
  body('the block of a partial', '{{> @partial-block}}', refused('partial')),
  body('a literal as a variable', '{{"constructor"}}', refused('unknown-helper')),
  body('a number as a variable', '{{1}}', refused('unknown-helper')),
  body('null as a value', '{{#if null}}x{{/if}}', refused('not-allowed')),
  body('undefined as a value', '{{#if undefined}}x{{/if}}', refused('not-allowed')),
  body('data of the runtime', '{{@level}}', refused('path-not-allowed')),
  body('data of a parent', '{{@_parent}}', refused('path-not-allowed')),
  body('the index outside of a list', '{{@index}}', fails('missing-variable')),
  body('above the variables', '{{../name}}', fails('missing-variable'), { name: 'x' }),
  // Output without escaping.
  body('three braces', '{{{name}}}', refused('unescaped-output')),
  body('an ampersand', '{{&name}}', refused('unescaped-output')),
  body('an ampersand with a space', '{{& name}}', refused('unescaped-output')),
  body('three braces with lookup', '{{{lookup a b}}}', refused('unescaped-output')),
  chat('three braces in chat', '{{{name}}}', refused('unescaped-output')),
  body('a raw block', '{{{{raw}}}} {{name}} {{{{/raw}}}}', refused('raw-block')),
  body('a raw block with an allowed name', '{{{{if a}}}} {{name}} {{{{/if}}}}', refused('raw-block')),
  body('an escaped tag stays a text', '\\{{constructor}}', prints('{{constructor}}')),
  body('markup in a variable', '<p>{{name}}</p>', prints('<p>&lt;script&gt;&quot;&#x27;&#x60;&#x3D;&amp;</p>'), {
    name: '<script>"\'`=&',
  }),
  body('markup in a key', '{{#each map}}{{@key}}{{/each}}', prints('&lt;b&gt;'), { map: { '<b>': 1 } }),
  body('markup in a block parameter', '{{#each map as |value key|}}{{key}}{{/each}}', prints('&lt;b&gt;'), {
    map: { '<b>': 1 },
  }),
  body('markup by lookup', '{{lookup map "a"}}', prints('&lt;b&gt;'), { map: { a: '<b>' } }),
  body('a tag in a variable is not run', '{{name}}', prints('{{constructor}}'), { name: '{{constructor}}' }),
  body('an entity in a variable', '{{name}}', prints('&amp;lt;b&amp;gt;'), { name: '&lt;b&gt;' }),
  body('an object', '{{name}}', fails('not-printable'), { name: {} }),
  body('a list', '{{name}}', fails('not-printable'), { name: [1] }),
  body('an object with a toHTML of its own', '{{name}}', fails('not-printable'), { name: { toHTML: '<b>' } }),
  body('an object with a toString of its own', '{{name}}', fails('not-printable'), { name: { toString: '<b>' } }),
  body('all variables', '{{this}}', fails('not-printable'), { name: 'x' }),
  chat('a mention of everybody', '{{name}}', prints('&lt;!channel&gt;'), { name: '<!channel>' }),
  chat('a mention by the author of the template stays', '<!here> {{name}}', prints('<!here> x'), { name: 'x' }),
  chat('a mention of a user', '{{name}}', prints('&lt;@U0123&gt;'), { name: '<@U0123>' }),
  chat('a link with another text', '{{name}}', prints('&lt;https://evil.example|Sign in&gt;'), {
    name: '<https://evil.example|Sign in>',
  }),
  chat('an entity in chat', '{{name}}', prints('&amp;lt;!here&amp;gt;'), { name: '&lt;!here&gt;' }),
  // Whitespace control.
  body('whitespace control takes spaces only', 'a {{~name~}} b', prints('a&lt;b&gt;b'), { name: '<b>' }),
  body('a comment ends at its first braces', 'a {{! {{constructor}} }} b', prints('a  }} b')),
  // Subjects.
  subject('a line break in a variable', 'Hi {{name}}', fails('control-character'), {
    name: 'x\r\nBcc: a@evil.example',
  }),
  subject('a line feed in a variable', '{{name}}', fails('control-character'), { name: 'a\nb' }),
  subject('a null character in a variable', '{{name}}', fails('control-character'), { name: 'a\u0000b' }),
  subject('a next-line character', '{{name}}', fails('control-character'), { name: 'a\u0085b' }),
  subject('a line separator', '{{name}}', fails('control-character'), { name: 'a\u2028b' }),
  subject('a line break by lookup', '{{lookup map "a"}}', fails('control-character'), { map: { a: '\r' } }),
  subject('a line break in the source', 'Hi\r\nBcc: a@evil.example', refused('control-character')),
  subject('a line break in a tag', '{{name\n}}', refused('control-character')),
  subject('a tab in the source', 'a\tb', refused('control-character')),
  subject('three braces in a subject', '{{{name}}}', refused('unescaped-output')),
  subject('a partial in a subject', '{{> a}}', refused('partial')),
  subject('a long subject', '{{#each list}}0123456789{{/each}}', fails('too-large'), { list: thousand }),
  subject('markup stays a text', '{{name}} 😀', prints('<b> & 😀'), { name: '<b> &' }),
  { ...chat('a subject on chat', 'x', refused('subject-on-chat')), subject: 'x' },
  // Size, depth and time.
  body('a source of more than 64 KiB', 'x'.repeat(65_537), refused('too-large')),
  body('a source of more than 64 KiB in bytes', '😀'.repeat(16_385), refused('too-large')),
  body('21 blocks', nested('{{#if a}}', '', '{{/if}}', 21), refused('too-deep')),
  body('20 blocks', nested('{{#if a}}', 'x', '{{/if}}', 20), prints('x'), { a: true }),
  body('3,000 blocks', nested('{{#if a}}', '', '{{/if}}', 3000), refused('too-deep')),
  body('21 branches', `{{#if a}}${'{{else if b}}'.repeat(21)}{{/if}}`, refused('too-deep')),
  body('4,000 branches', `{{#if a}}${'{{else if b}}'.repeat(4000)}{{/if}}`, refused('too-deep')),
  body(
    'blocks behind closing tags',
    '{{/if}}'.repeat(100) + nested('{{#if a}}', '', '{{/if}}', 100),
    refused('too-deep'),
  ),
  body('blocks behind comments with closing tags', '{{#if a}}{{!--{{/if}}--}}'.repeat(100), refused('too-deep')),
  body('inverse blocks', nested('{{^if a}}', '', '{{/if}}', 500), refused('too-deep')),
  body('partial blocks', nested('{{#> a}}', '', '{{/a}}', 500), refused('too-deep')),
  body('5,000 parentheses', `{{#if ${'(lookup a '.repeat(5000)}a${')'.repeat(5000)}}}{{/if}}`, refused('too-deep')),
  body('12,000 tags', '{{a}}'.repeat(12_000), refused('too-complex')),
  body('a path of 30,000 names', `{{a${'.a'.repeat(30_000)}}}`, refused('too-complex')),
  body('20,000 steps up', `{{${'../'.repeat(20_000)}a}}`, refused('too-complex')),
  body('400 tags', '{{a}}'.repeat(400), prints('1'.repeat(400)), { a: 1 }),
  body('a name of 201 characters', `{{[${'a'.repeat(201)}]}}`, refused('path-not-allowed')),
  body('three block parameters', '{{#each a as |b c d|}}x{{/each}}', refused('arguments')),
  body('three block parameters of with', '{{#with a as |b c d|}}x{{/with}}', refused('arguments')),
  body('1,000 block parameters', `{{#each a as |${names}|}}{{/each}}`, refused('arguments')),
  body('9,000 block parameters', `{{#each a as |${`${names} `.repeat(9)}|}}{{/each}}`, refused('too-complex')),
  body('250 comments', '{{!--x--}}'.repeat(250), { prints: '' }),
  body('251 comments', '{{!--x--}}'.repeat(251), refused('too-complex')),
  body('4,000 comments', '{{!--x--}}'.repeat(4000), refused('too-complex')),
  body('4,000 comments that take space', '{{~!--x--}}'.repeat(4000), refused('too-complex')),
  body('16,000 comments in each other', '{{!-'.repeat(16_000), refused('too-complex')),
  body('a list in itself, 20 deep', nested('{{#each @root.list}}', '', '{{/each}}', 20), fails('too-many-steps'), {
    list: thousand,
  }),
  body('a billion laughs', nested('{{#each @root.list}}', 'ha', '{{/each}}', 20), fails('too-many-steps'), {
    list: thousand.slice(0, 10),
  }),
  body('each of a long list, in many blocks', '{{#each a}}{{/each}}'.repeat(200), fails('too-many-steps'), {
    a: thousand,
  }),
  body('each of an object with many keys', '{{#each a}}{{/each}}'.repeat(200), fails('too-many-steps'), {
    a: Object.fromEntries(thousand.map((key) => [`k${key}`, key])),
  }),
  body(
    'a long path in a long list',
    `{{#each a}}{{#if b${'.b'.repeat(400)}}}{{/if}}{{/each}}`,
    fails('too-many-steps'),
    {
      a: thousand,
    },
  ),
  body(
    'block parameters within each other',
    nested('{{#each @root.a as |b c|}}', '', '{{/each}}', 20),
    fails('too-many-steps'),
    { a: thousand.slice(0, 10) },
  ),
  body(
    'long equal texts within each other',
    '{{#each a}}{{#with @root.b}}{{#with @root.c}}{{/with}}{{/with}}{{/each}}',
    fails('too-many-steps'),
    { a: thousand, b: long, c: long },
  ),
  body('a long key in a list', '{{#each a}}{{#if (lookup @root.b @root.c)}}{{/if}}{{/each}}', fails('too-many-steps'), {
    a: thousand,
    b: { [long]: 1 },
    c: long,
  }),
  body('a long text in a list', '{{#each a}}{{@root.text}}{{/each}}', fails('too-large'), {
    a: thousand,
    text: 'x'.repeat(100_000),
  }),
  body('a text that escaping makes longer', '{{text}}', fails('too-large'), { text: '"'.repeat(100_000) }),
  body('a text that is longer in bytes', '{{text}}', fails('too-large'), { text: '€'.repeat(100_000) }),
  // Broken and odd sources.
  body('an open tag', '{{name', refused('syntax')),
  body('an open block', '{{#if a}}x', refused('syntax')),
  body('another closing tag', '{{#if a}}x{{/each}}', refused('syntax')),
  body('a closing tag alone', '{{/if}}', refused('syntax')),
  body('an open raw block', '{{{{a}}}} x', refused('syntax')),
  body('a path out of a value', '{{a/../b}}', refused('syntax')),
  body('code in a tag', '{{process.exit()}}', refused('syntax')),
  body('a template literal', '${process.exit()}', prints('${process.exit()}')),
  body('a null character', 'a\u0000{{name}}', refused('syntax'), { name: 'x' }),
  body('an unpaired surrogate in a segment', '{{[\ud800]}}', fails('missing-variable')),
  body('a name with full-width letters', '{{ｃonstructor}}', fails('missing-variable')),
  body('text from right to left', '{{name}}', prints('\u202eevil'), { name: '\u202eevil' }),
]
