import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { toRecord, wholeValues } from '../../../engine/reads/records.ts'

const Place = Type.Object({ x1: Type.Number(), y1: Type.Number() })
const Thing = Type.Object({
  id: Type.String(),
  made_at: Type.String(),
  note: Type.Union([Type.String(), Type.Null()]),
  place: Type.Union([Place, Type.Null()]),
  parts: Type.Array(Type.Object({ part_name: Type.String(), places: Type.Array(Place) })),
  web_address: Type.Optional(Type.String()),
})
const place = { y1: 2, x1: 1 }
const values = {
  webAddress: undefined,
  parts: [{ places: [place], part_name: 'wheel' }],
  place,
  note: null,
  madeAt: 'then',
  id: 'a',
  streamRevision: '5',
}

describe('a record', () => {
  it('has exactly the members of its schema in their order and casing, also in its parts', () => {
    const inOrder = { x1: 1, y1: 2 }
    const expected = {
      id: 'a',
      made_at: 'then',
      note: null,
      place: inOrder,
      parts: [{ part_name: 'wheel', places: [inOrder] }],
    }
    expect(JSON.stringify(toRecord(Thing, values))).toBe(JSON.stringify(expected))
  })

  it('has an optional member if the values have it', () => {
    expect(toRecord(Thing, { ...values, place: null, webAddress: 'https://example.org' })).toMatchObject({
      place: null,
      web_address: 'https://example.org',
    })
  })

  it('may be camelCase', () => {
    const Camel = Type.Object({ madeAt: Type.String(), id: Type.String() })
    expect(JSON.stringify(toRecord(Camel, values))).toBe('{"madeAt":"then","id":"a"}')
  })
})

describe('the values of a part', () => {
  it('have null for what the part leaves out, and the members of the code', () => {
    const same = { id: 'a', note: null, place, parts: [] }
    const expected = { ...same, madeAt: 'then', webAddress: null }
    expect(wholeValues(Thing, { ...same, made_at: 'then' })).toStrictEqual(expected)
  })
})
