import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createExtraction } from '../../../platform/http/json-extraction.ts'
import { readJsonText } from '../../../platform/kit/json-reading.ts'
import { Problem } from '../../../platform/http/problems.ts'

interface Taken {
  readonly rest: Buffer
  /** The extracted strings, in the order of the body. */
  readonly texts: readonly (readonly [index: number, text: string])[]
}

/** Pushes a body in pieces that end at these places. */
function extract(body: string | Buffer, cuts: readonly number[] = [], mostRest = 1024 * 1024): Taken {
  const bytes = Buffer.from(body)
  const extraction = createExtraction({ mostRest })
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  const texts: [number, string][] = []
  let isOpen = false
  let from = 0
  for (const end of ends) {
    // Each piece has its own memory, wiped after the push: nothing may keep a reference to it.
    const piece = Buffer.from(bytes.subarray(from, end))
    for (const part of extraction.push(piece)) {
      if (part.kind === 'begin') {
        expect(isOpen).toBe(false)
        texts.push([part.index, ''])
      } else if (part.kind === 'text') {
        const last = texts.at(-1)
        expect(isOpen && part.text.length > 0).toBe(true)
        if (last !== undefined) last[1] += part.text.toString('latin1')
      }
      isOpen = part.kind !== 'end'
    }
    piece.fill('x')
    from = end
  }
  return { rest: extraction.rest(), texts }
}

function codeOf(work: () => unknown): string {
  try {
    work()
    return 'none'
  } catch (error) {
    if (error instanceof Problem) return error.code
    throw error
  }
}

const parse = (bytes: Buffer): unknown => readJsonText(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The strings to extract from a body, computed from its parsed form. */
function expected(body: unknown): { readonly rest: unknown; readonly texts: readonly (readonly [number, string])[] } {
  if (!isObject(body) || !Array.isArray(body['images'])) return { rest: body, texts: [] }
  const texts: [number, string][] = []
  const images = body['images'].map((image: unknown, index) => {
    if (!isObject(image) || typeof image['data'] !== 'string') return image
    texts.push([index, image['data']])
    return { ...image, data: '' }
  })
  return { rest: { ...body, images }, texts }
}

const ascii = fc.string({ unit: 'grapheme-ascii' })
const anything = fc.jsonValue({ maxDepth: 4 })
const image = fc.record(
  {
    data: fc.oneof(ascii, ascii, anything),
    mime_type: fc.string(),
    nested: fc.dictionary(fc.constantFrom('data', 'images', 'x'), anything),
  },
  { requiredKeys: [] },
)
const lookAlike = fc.dictionary(
  fc.constantFrom('images', 'data', 'image', '"', '\\', 'x'),
  fc.oneof(anything, fc.array(image)),
)
const bodies = fc.oneof(
  anything,
  lookAlike,
  fc.record(
    {
      images: fc.array(fc.oneof(image, image, anything, fc.array(image))),
      patient: lookAlike,
      external_reference: fc.string(),
    },
    { requiredKeys: ['images'] },
  ),
)
const cuts = fc.array(fc.nat(4000), { maxLength: 12 })

/** JSON texts of one value, with escapes and blanks at all allowed places. */
function written(value: unknown, escapes: (character: string) => boolean, blank: string): string {
  if (typeof value === 'string') {
    const text = value.split('').map((character) => {
      if (character === '/' && escapes('/')) return '\\/'
      if (/^[\x20-\x7e]$/.test(character) && escapes(character))
        return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`
      return JSON.stringify(character).slice(1, -1)
    })
    return `"${text.join('')}"`
  }
  if (Array.isArray(value))
    return `[${blank}${value.map((item) => written(item, escapes, blank)).join(`${blank},${blank}`)}${blank}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, member]) => `${written(name, escapes, blank)}${blank}:${blank}${written(member, escapes, blank)}`,
  )
  return `{${blank}${members.join(`${blank},${blank}`)}${blank}}`
}

describe('the data of images in a JSON body', () => {
  it('is extracted wherever the body is cut, and the rest stays unchanged', () => {
    fc.assert(
      fc.property(bodies, cuts, (body, places) => {
        const text = JSON.stringify(body)
        const { rest, texts } = extract(text, places)
        const { rest: kept, texts: taken } = expected(readJsonText(text))
        expect(parse(rest)).toEqual(kept)
        expect(texts).toEqual(taken)
      }),
      { numRuns: 500 },
    )
  })

  it('is the same for all escapes and blanks in the body', () => {
    fc.assert(
      fc.property(bodies, cuts, fc.nat(), fc.constantFrom('', ' ', '\n\t', ' \r\n'), (body, places, seed, blank) => {
        let turn = seed
        const escapes = () => (turn = (turn * 31 + 7) % 101) % 3 === 0
        const text = written(readJsonText(JSON.stringify(body)), escapes, blank)
        const { rest, texts } = extract(text, places)
        const { rest: kept, texts: taken } = expected(readJsonText(text))
        expect(parse(rest)).toEqual(kept)
        expect(texts).toEqual(taken)
      }),
      { numRuns: 300 },
    )
  })

  it('never turns an invalid body into valid JSON: the rest is invalid too', () => {
    const broken = fc.tuple(bodies, fc.nat(4000), fc.constantFrom('', '"', '\\', '{', ']', ',', ':', '\u0000', 'x'))
    fc.assert(
      fc.property(broken, cuts, ([body, place, added], places) => {
        const whole = JSON.stringify(body)
        const at = place % (whole.length + 1)
        const text = `${whole.slice(0, at)}${added}${whole.slice(at + 1)}`
        const isJson = succeeds(() => readJsonText(text))
        const isTaken = succeeds(() => parse(extract(text, places).rest))
        // A repeated name is valid JSON, but is refused.
        if (!isJson) expect(isTaken).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it('is also extracted byte by byte', () => {
    const text = JSON.stringify({ images: [{ mime_type: 'é', data: 'AAAA' }, { data: 'B/=' }], a: '€' })
    const { rest, texts } = extract(
      text,
      Array.from({ length: Buffer.byteLength(text) }, (_, place) => place),
    )
    expect(texts).toEqual([
      [0, 'AAAA'],
      [1, 'B/='],
    ])
    expect(parse(rest)).toEqual({ images: [{ mime_type: 'é', data: '' }, { data: '' }], a: '€' })
  })

  it.each([
    ['of a list', '[{"images":[{"data":"x"}]}]'],
    ['of a nested object', '{"a":{"images":[{"data":"x"}]}}'],
    ['of an object of images', '{"images":{"0":{"data":"x"}}}'],
    ['of a list in the list', '{"images":[[{"data":"x"}]]}'],
    ['deeper in an image', '{"images":[{"a":{"data":"x"}},{"a":[{"data":"x"}]}]}'],
    ['in a list', '{"images":[{"data":["x"]}]}'],
    ['as a member name', '{"images":[{"data":{"data":"x"}}]}'],
    ['by another name', '{"images":[{"Data":"x","dat\\u0061a":"y","":"z"}],"Images":[{"data":"x"}]}'],
    ['after the list', '{"images":[],"data":"x","a":[{"data":"x"}]}'],
  ])('is not extracted %s', (_, text) => {
    const { rest, texts } = extract(text)
    expect([rest.toString(), texts]).toEqual([text, []])
  })

  it('is extracted under a name with escapes', () => {
    const { rest, texts } = extract(
      '{"\\u0069\\u006d\\u0061\\u0067\\u0065\\u0073":[1,{"d\\u0061ta":"QUJD\\/\\u002b\\u003D"}]}',
    )
    expect(texts).toEqual([[1, 'QUJD/+=']])
    expect(parse(rest)).toEqual({ images: [1, { data: '' }] })
  })

  it('contains characters that are invalid in base64: plain ones unchanged, others as a byte outside ASCII', () => {
    const [[, text] = [0, '']] = extract('{"images":[{"data":"a\\n\\"\\\\\\b\\f\\r\\t\\u0000\\u00e9é"}]}').texts
    expect(text).toBe('a\n"\\\b\f\r\t\u0000\u0080\u00c3\u00a9')
  })

  it('may follow a byte order mark, and 64 levels of nesting', () => {
    const deep = `${'['.repeat(64)}${']'.repeat(64)}`
    const { rest, texts } = extract(`\u{feff}{"a":${deep},"images":[{"x":${deep},"data":"QQ=="}]}`)
    expect(texts).toEqual([[0, 'QQ==']])
    expect(parse(rest)).toEqual(readJsonText(`{"a":${deep},"images":[{"x":${deep},"data":""}]}`))
  })

  it.each([
    ['a second list of images', '{"images":[],"images":[]}'],
    ['a second list under an escaped name', '{"images":1,"a":{"images":2},"\\u0069mages":[]}'],
    ['two data members in one image', '{"images":[{"data":"x","data":"y"}]}'],
    ['two data members, one of which is no text', '{"images":[{"data":1,"x":{"data":2},"data":"y"}]}'],
    ['an invalid escape', '{"images":[{"data":"\\x"}]}'],
    ['an escape without digits', '{"images":[{"data":"\\u00g0"}]}'],
    ['a line break', '{"images":[{"data":"a\nb"}]}'],
  ])('is refused with %s', (_, text) => {
    expect(codeOf(() => extract(text))).toBe('malformed-body')
    expect(
      codeOf(() =>
        extract(
          text,
          Array.from({ length: text.length }, (_unused, place) => place),
        ),
      ),
    ).toBe('malformed-body')
  })

  it('may have any length; only the rest has a limit', () => {
    const body = { images: [{ data: 'A'.repeat(10_000) }, { data: 'B'.repeat(10_000) }], a: '' }
    const bare = JSON.stringify({ images: [{ data: '' }, { data: '' }], a: '' }).length
    const of = (more: number) => () =>
      extract(JSON.stringify({ ...body, a: 'x'.repeat(more) }), [5_000, 15_000], bare + 100)
    expect([codeOf(of(100)), codeOf(of(101))]).toEqual(['none', 'body-too-large'])
  })

  it('arrives in pieces of any size', () => {
    const bytes = Buffer.from(JSON.stringify({ images: [{ data: 'AAAA' }], a: 'x'.repeat(100_000) }))
    const extraction = createExtraction({ mostRest: 1024 * 1024 })
    for (let at = 0; at < bytes.length; at += 1) extraction.push(bytes.subarray(at, at + 1))
    expect(extraction.rest().toString()).toBe(bytes.toString().replace('AAAA', ''))
  })
})

function succeeds(work: () => unknown): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}
