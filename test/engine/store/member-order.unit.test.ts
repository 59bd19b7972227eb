import { Type, type TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { orderingOf } from '../../../engine/store/member-order.ts'
import { closeObjects } from '../../../engine/store/schema-inspection.ts'

const Room = Type.Object({ floor: Type.Integer(), number: Type.Optional(Type.Integer()) })
const Seat = Type.Object({ row: Type.Integer(), number: Type.Integer() })
const Place = Type.Union([Room, Seat, Type.Array(Room), Type.String()])

/** As text, because only text shows the order. */
function ordered(schema: TSchema, json: string): string {
  return JSON.stringify(orderingOf(closeObjects(schema))(JSON.parse(json)))
}

describe('members follow the order of the schema', () => {
  test.each([
    ['in an object', Room, '{"number":1,"floor":2}', '{"floor":2,"number":1}'],
    ['where an optional one is missing', Seat, '{"number":1}', '{"number":1}'],
    [
      'in a nested object',
      Type.Object({ room: Room }),
      '{"room":{"number":1,"floor":2}}',
      '{"room":{"floor":2,"number":1}}',
    ],
    ['in a list', Type.Array(Room), '[{"number":1,"floor":2},{"floor":3}]', '[{"floor":2,"number":1},{"floor":3}]'],
    [
      'in an object that may be null',
      Type.Union([Room, Type.Null()]),
      '{"number":1,"floor":2}',
      '{"floor":2,"number":1}',
    ],
    ['in the matching one of several shapes', Place, '{"number":1,"row":2}', '{"row":2,"number":1}'],
    ['in a list next to other shapes', Place, '[{"number":1,"floor":2}]', '[{"floor":2,"number":1}]'],
  ])('%s', (_, schema, given, expected) => {
    expect(ordered(schema, given)).toBe(expected)
  })
})

describe('nothing changes', () => {
  test.each([
    ['in a record', Type.Record(Type.String(), Type.Integer()), '{"b":1,"a":2,"__proto__":3}'],
    ['in a free-form member', Type.Object({ free: Type.Unknown() }), '{"free":{"b":1,"a":{"d":1,"c":2}}}'],
    ['in null', Type.Union([Room, Type.Null()]), 'null'],
    ['in a scalar next to other shapes', Place, '"outside"'],
  ])('%s', (_, schema, given) => {
    expect(ordered(schema, given)).toBe(given)
  })
})

test('undeclared members of an open object follow in the given order', () => {
  const schema = Type.Object({ a: Type.Integer(), b: Type.Integer() }, { additionalProperties: true })
  expect(ordered(schema, '{"z":1,"b":2,"__proto__":3,"a":4}')).toBe('{"a":4,"b":2,"z":1,"__proto__":3}')
})
