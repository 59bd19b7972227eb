import { describe, expect, it } from 'vitest'
import { asyncApiDifferences, openApiDifferences } from '../../../tools/contract/differences.ts'
import type { Json } from '../../../tools/contract/json.ts'
import { asyncApi, breaking, changed, compatible, made, openApi, text } from './planted-differences.ts'

const said = (differences: readonly { readonly where: string; readonly what: string }[]) =>
  differences.map(({ where, what }) => `${where}: ${what}`)

describe('a document that did not change', () => {
  it('has no difference', () => {
    expect(openApiDifferences({ released: openApi, current: openApi })).toEqual([])
    expect(asyncApiDifferences({ released: asyncApi, current: asyncApi })).toEqual([])
  })
})

describe('a breaking difference of OpenAPI', () => {
  it.each(breaking)('%s is named', (_, path, value, found) => {
    const differences = said(openApiDifferences({ released: openApi, current: changed(openApi, path, value) }))
    expect(differences.filter((one) => found.test(one))).not.toEqual([])
  })
})

describe('a compatible difference of OpenAPI', () => {
  it.each(compatible)('%s passes', (_, path, value) => {
    const current = changed(openApi, path, value)
    expect(current).not.toEqual(openApi)
    expect(openApiDifferences({ released: openApi, current })).toEqual([])
  })
})

describe('a difference of AsyncAPI', () => {
  it.each([
    ['a removed channel', 'channels others', undefined, /channel others: is gone/],
    ['another address', 'channels things address', 'x.events', /address was things.events/],
    ['a removed event', 'channels things messages thing.gone', undefined, /thing.gone: is gone/],
    ['another name', 'components messages gone name', 'x', /has another name/],
    ['a removed member', `${made} properties size`, undefined, /size: is gone/],
    ['a member of another type', `${made} properties size`, text, /size: the type was integer/],
    ['a member that may be missing', `${made} required`, ['event_id'], /reason: may be missing/],
    ['a member that may be null', `${made} properties size`, { type: ['integer', 'null'] }, /size: may be null/],
  ] as const)('%s is named', (_, path, value, found) => {
    const current = changed(asyncApi, path, value)
    expect(said(asyncApiDifferences({ released: asyncApi, current }))).toEqual([expect.stringMatching(found)])
  })

  it.each([
    ['a new channel', 'channels more', { address: 'more.events', messages: {} }],
    ['a new event', 'channels things messages thing.moved', { $ref: '#/components/messages/gone' }],
    ['a new member', `${made} properties more`, text],
    ['a new value', `${made} properties reason enum`, ['a', 'b', 'c']],
    ['a member that is always there', `${made} required`, ['event_id', 'reason', 'size']],
  ] as const)('%s passes', (_, path, value) => {
    expect(asyncApiDifferences({ released: asyncApi, current: changed(asyncApi, path, value as Json) })).toEqual([])
  })
})
