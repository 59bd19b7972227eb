import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { defineProjector, defineTable } from '../../../engine/projections/projector.ts'
import {
  insertRow,
  patchRow,
  patchRows,
  removeRow,
  removeRows,
  upsertRow,
} from '../../../engine/projections/row-changes.ts'
import { shapeOf } from '../../../engine/projections/schema.ts'

const things = defineTable({
  name: 'things',
  columns: {
    thing_id: 'uuid',
    kind: { type: 'text', values: ['large', 'small'] },
    sha256_sum: { type: 'text', nullable: true },
    parts: { type: 'jsonb', schema: Type.Array(Type.String()), nullable: true },
  },
  primaryKey: ['thing_id'],
})
const event = { thingId: 'a', kind: 'small', sha256Sum: null, fingerprint: 'of no column' } as const
const table = 'things'

describe('a row change', () => {
  it('keeps the members that have a column, under the name of the column', () => {
    const row = { thing_id: 'a', kind: 'small', sha256_sum: null }
    expect(insertRow(things, event)).toStrictEqual({ op: 'insert', table, row })
    expect(upsertRow(things, event)).toStrictEqual({ op: 'upsert', table, row })
  })

  it('sets the given members in the row with its key', () => {
    expect(patchRow(things, { ...event, parts: ['wheel'] })).toStrictEqual({
      op: 'patch',
      table,
      key: { thing_id: 'a' },
      set: { kind: 'small', sha256_sum: null, parts: ['wheel'] },
    })
    expect(removeRow(things, event)).toStrictEqual({ op: 'remove', table, key: { thing_id: 'a' } })
  })

  it('changes the matching rows', () => {
    const where = { sha256_sum: null }
    expect(removeRows(things, { sha256Sum: null })).toStrictEqual({ op: 'remove-where', table, where })
    expect(patchRows(things, { sha256Sum: null }, { kind: 'large' })).toStrictEqual({
      op: 'patch-where',
      table,
      where,
      set: { kind: 'large' },
    })
  })
})

it('the values of a column are not part of the stored shape', () => {
  const projector = defineProjector<never>()({ name: 'things', version: 1, tables: [things], handlers: {} })
  const columns = {
    thing_id: 'uuid',
    kind: 'text',
    sha256_sum: { type: 'text', nullable: true },
    parts: { type: 'jsonb', nullable: true },
  }
  expect(shapeOf(projector)).toBe(JSON.stringify([{ name: 'things', columns, primaryKey: ['thing_id'] }]))
})
