import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { personalReaderOf } from '../../../platform/http/personal-members.ts'
import { Nullable } from '../../../platform/http/members.ts'
import { personal } from '../../../platform/kit/personal-content.ts'

const Patient = Type.Object({ id: Type.String() }, { $id: 'Patient', ...personal('record') })
const Visit = Type.Object({
  id: Type.String(),
  status: Type.String(),
  note: Nullable(Type.String(), personal('notes')),
  images: Type.Array(Type.Object({ url: Type.Optional(Type.String()) }), personal('images')),
  answers: Type.Record(Type.String(), Nullable(Type.Object({ value: Type.String(personal('answers')) }))),
})
const bare = { id: '1', status: 'open', note: null, images: [], answers: {} }

describe('the personal content of a value', () => {
  it.each([
    ['a record that is personal as a whole', Patient, { id: '1' }, ['record']],
    ['ids and codes only', Visit, bare, []],
    ['a member', Visit, { ...bare, note: 'seen' }, ['notes']],
    ['a list', Visit, { ...bare, images: [{}] }, ['images']],
    ['a member below any name', Visit, { ...bare, answers: { first: null, second: { value: 'x' } } }, ['answers']],
    ['an empty text', Visit, { ...bare, note: '' }, []],
    ['an absent member', Visit, { id: '1' }, []],
    ['an empty page', Type.Object({ data: Type.Array(Patient) }), { data: [] }, []],
    ['a page', Type.Object({ data: Type.Array(Patient) }), { data: [{ id: '1' }] }, ['record']],
    ['a record that may be missing', Type.Object({ one: Nullable(Patient) }), { one: null }, []],
    ['several kinds', Visit, { ...bare, note: 'seen', images: [{}] }, ['images', 'notes']],
  ])('%s', (_, schema, value, expected) => {
    expect([...(personalReaderOf(schema)?.(value) ?? [])].toSorted()).toEqual(expected)
  })

  it('has no reader without a mark', () => {
    expect(personalReaderOf(Type.Object({ id: Type.String() }))).toBeUndefined()
  })

  it('is not read where a mark would be missed', () => {
    const hidden = Type.Object({ id: Type.String() }, { if: Type.Object({ id: Type.String(personal('record')) }) })
    expect(() => personalReaderOf(hidden)).toThrow('where the access log does not look')
  })
})
