import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import type { TenantId } from '../../../platform/kit/tenants.ts'
import { defineProjector, defineTable } from '../../../engine/projections/projector.ts'
import {
  childrenOf,
  computed,
  filtered,
  matching,
  on,
  pageOf,
  rowsFrom,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewByIds,
} from '../../../engine/reads/tenant-rows.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { ids } from '../../streams/facts.ts'
import { org, otherOrg, problemOf } from '../../read-api/read-tables.ts'

let database: FreshDatabase
let pool: Pool
beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 3 })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const thingsTable = defineTable({
  name: 'things',
  columns: { thing_id: 'uuid', org_id: 'uuid', size: 'integer', made_at: 'timestamptz' },
  primaryKey: ['thing_id'],
})
const things = defineProjector<never>()({ name: 'things', version: 1, tables: [thingsTable], handlers: {} })
const t = tableOf(things, thingsTable, 't')
const getThing = viewByIds((tenant: TenantId, id: string) => rowsOfTenant(t, tenant).where(t.thingId, id))
const onAll = () => Promise.all(Array.from({ length: 3 }, () => getThing(pool, org, ids.case)))

const partsTable = defineTable({
  name: 'parts',
  columns: {
    part_id: 'uuid',
    thing_id: 'uuid',
    place: 'integer',
    weight: 'bigint',
    checked_at: { type: 'timestamptz', nullable: true },
  },
  primaryKey: ['part_id'],
})
const parted = defineProjector<never>()({
  name: 'parted',
  version: 1,
  tables: [thingsTable, partsTable],
  handlers: {},
})
const columns = 'thing_id uuid, org_id uuid, made_at timestamptz'

describe('the row of a query by id', () => {
  it('is still read on every connection after its tables were replaced by tables of another shape', async () => {
    await pool.query(`create schema things create table things (${columns}, size text)`)
    await pool.query('insert into things.things values ($1, $2, $3, $4)', [ids.case, ids.org, '2026-03-01T10:00Z', 'S'])
    const thing = { thingId: ids.case, orgId: ids.org, madeAt: '2026-03-01T10:00:00.000Z' }
    expect(await onAll()).toEqual(Array.from({ length: 3 }, () => ({ ...thing, size: 'S' })))
    await pool.query(`create schema things__next create table things (${columns}, size int, more boolean)`)
    await pool.query('insert into things__next.things values ($1, $2, $3, 2, true)', [
      ids.case,
      ids.org,
      '2026-03-01T10:00Z',
    ])
    const client = await pool.connect()
    await client.query(
      'begin; alter schema things rename to things__previous; alter schema things__next rename to things; commit',
    )
    client.release()
    expect(await onAll()).toEqual(Array.from({ length: 3 }, () => ({ ...thing, size: 2 })))
    expect(await problemOf(getThing(pool, org, ids.patient))).toBe('not-found')
    expect(await problemOf(getThing(pool, otherOrg, ids.case))).toBe('not-found')
  })

  it('fails at once for a missing table', async () => {
    const missing = defineProjector<never>()({ name: 'missing', version: 1, tables: [thingsTable], handlers: {} })
    const find = viewByIds((tenant: TenantId) => rowsOfTenant(tableOf(missing, thingsTable, 't'), tenant))
    await expect(find(pool, org)).rejects.toThrow('missing.things')
  })
})

describe('the children of a row', () => {
  const w = tableOf(parted, thingsTable, 'w')
  const p = tableOf(parted, partsTable, 'p')
  const all = {
    on: { thingId: w.thingId },
    select: { place: p.place, weight: p.weight, checkedAt: p.checkedAt },
    orderBy: [p.place],
  }
  const read = viewByIds((tenant: TenantId, id: string) =>
    rowsOfTenant(w, tenant)
      .where(w.thingId, id)
      .select({ parts: childrenOf(p, all), checked: childrenOf(p, { ...all, given: ['checkedAt'] }) }),
  )

  it('are in the order of their columns, and have the values of a view', async () => {
    await pool.query(`create schema parted create table things (${columns}, size int)
      create table parts (part_id uuid default gen_random_uuid(), thing_id uuid, place int, weight bigint, checked_at timestamptz)`)
    await pool.query(`insert into parted.things select id, $2, '2026-03-01T10:00Z', 1 from unnest($1::uuid[]) as id`, [
      [ids.case, ids.patient],
      ids.org,
    ])
    await pool.query(
      `insert into parted.parts (thing_id, place, weight, checked_at)
       values ($1, 2, 9007199254740993, '2026-03-01T11:00:00.05+01:00'), ($1, 1, 7, null)`,
      [ids.case],
    )
    const second = { place: 2, weight: '9007199254740993', checkedAt: '2026-03-01T10:00:00.050Z' }
    const { parts, checked } = await read(pool, org, ids.case)
    expect(parts).toEqual([{ place: 1, weight: '7', checkedAt: null }, second])
    expect(checked).toEqual([second])
  })

  it('are an empty list where a row has none', async () => {
    expect(await read(pool, org, ids.patient)).toMatchObject({ parts: [], checked: [] })
  })

  it('contain no column of a table that the query does not read', () => {
    const foreign = { ...all, select: { size: w.size } }
    expect(() => childrenOf(p, foreign)).toThrow('w.size is not a column of the children')
  })
})

describe('a condition on a member that the table lacks', () => {
  const p = tableOf(parted, partsTable, 'p')
  const wide = { thingId: t.thingId, colour: t.size }

  it('is refused, and not left out', () => {
    expect(() => filtered(rowsOfTenant(t, org), t, { ...wide, size: 1 })).toThrow(
      'things.things as t has no member colour',
    )
    expect(() => on(p, wide)).toThrow('parted.parts as p has no member colour')
    expect(() => matching(p, wide)).toThrow('parted.parts as p has no member colour')
  })

  it('is refused if it equals no column', () => {
    const absent: string = Reflect.get(t, 'colour')
    expect(() => on(p, { place: absent })).toThrow('place of parted.parts as p equals no column')
  })

  it('needs a value in a filter', () => {
    const { sql, bindings } = filtered(rowsOfTenant(t, org), t, { size: 7, madeAt: undefined }).toSQL().toNative()
    expect(sql).toContain('"t"."size" = $2')
    expect([sql.includes('made_at" ='), bindings]).toEqual([false, [org, 7]])
  })
})

describe('a page of large rows', () => {
  it('ends before the row that exceeds the bytes of a page, and Postgres reads only a few rows beyond it', async () => {
    await pool.query(`create function text_of(n int) returns text language plpgsql stable cost 100000 as $$
      begin
        if n > 8 then raise exception 'read too far'; end if;
        return repeat('x', 600000);
      end $$`)
    const source = '(select n, text_of(n) as text from generate_series(1, 50) as n) as s'
    const byNumber = sortOrder<'n'>('asc', 's.n')
    const rows = () => rowsFrom(computed<{ readonly n: number; readonly text: string }>(source), 's.*')
    const page = await pageOf(pool, byNumber, rows(), { after: null, limit: 50 })
    expect(page.rows.map(({ n }) => n)).toEqual([1, 2, 3])
    expect(page.hasMore).toBe(true)
    const two = await pageOf(pool, byNumber, rows(), { after: [1], limit: 2 })
    expect([two.rows.map(({ n }) => n), two.hasMore]).toEqual([[2, 3], true])
  })

  it('has at least one row, whatever its size', async () => {
    const source = `(select n, repeat('x', 3000000) as text from generate_series(1, 2) as n) as s`
    const byNumber = sortOrder<'n'>('asc', 's.n')
    const shown = async (after: readonly [number] | null) => {
      const rows = rowsFrom(computed<{ readonly n: number }>(source), 's.*')
      const page = await pageOf(pool, byNumber, rows, { after, limit: 50 })
      return [page.rows.map(({ n }) => n), page.hasMore]
    }
    expect([await shown(null), await shown([1]), await shown([2])]).toEqual([
      [[1], true],
      [[2], false],
      [[], false],
    ])
  })
})
