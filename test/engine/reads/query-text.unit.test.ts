import { describe, expect, it } from 'vitest'
import { SelectQuery, sqlOf } from '../../../engine/reads/query-text.ts'

const things = () => new SelectQuery('shop.things as t')

describe('the text of a query', () => {
  it('names all columns of a table that selects none', () => {
    expect(things().statement()).toEqual({ text: 'select * from "shop"."things" as "t"', values: [] })
  })

  it('has every clause in the order of SQL, whatever the order of the calls', () => {
    const query = things()
      .limit(5)
      .orderByRaw('?? desc', ['t.size'])
      .groupBy('t.kind')
      .where('t.size', 7)
      .whereRaw('?? > ?', ['t.place', 3])
      .leftJoin('shop.parts as p', { 'p.thing_id': 't.thing_id', 'p.place': 't.place' })
      .joinRaw('join unnest(?::text[]) as asked on true', [['a', 'b']])
      .join('shop.owners as o', { 'o.owner_id': 't.owner_id' })
      .distinctOn('t.kind')
      .select({ kind: 't.kind', number: sqlOf('count(*) - ?', [1]) }, 't.*')
    expect(query.statement()).toEqual({
      text: [
        'select distinct on ("t"."kind") "t"."kind" as "kind", count(*) - $1 as "number", "t".* from "shop"."things" as "t"',
        'left join "shop"."parts" as "p" on "p"."thing_id" = "t"."thing_id" and "p"."place" = "t"."place"',
        'join unnest($2::text[]) as asked on true join "shop"."owners" as "o" on "o"."owner_id" = "t"."owner_id"',
        'where "t"."size" = $3 and "t"."place" > $4 group by "t"."kind" order by "t"."size" desc limit $5',
      ].join(' '),
      values: [1, ['a', 'b'], 7, 3, 5],
    })
  })

  it('contains other queries in the place of a value or of a name, with their values', () => {
    const inner = things().select({ id: 't.thing_id' }).where('t.size', 7)
    const outer = new SelectQuery(sqlOf('(?) as x', [inner]))
      .where('x.kind', 'a')
      .whereRaw('?? in (?) and ?? is null', ['x.id', inner, sqlOf('coalesce(?, ??)', [1, 'x.size'])])
    const text = (place: number) =>
      `(select "t"."thing_id" as "id" from "shop"."things" as "t" where "t"."size" = $${place})`
    expect(outer.statement()).toEqual({
      text: `select * from ${text(1)} as x where "x"."kind" = $2 and "x"."id" in ${text(3)} and coalesce($4, "x"."size") is null`,
      values: [7, 'a', 7, 1],
    })
  })

  it('contains what a query within it became until the text is made', () => {
    const inner = things()
    const outer = things().whereRaw('exists (?)', [inner])
    inner.where('t.size', 7)
    expect(outer.statement().values).toEqual([7])
  })
})

describe('a placeholder', () => {
  it('takes no name or value as SQL', () => {
    const query = things().whereRaw('?? = ?', ['t.a"b', `' or true --`])
    expect(query.statement()).toEqual({
      text: 'select * from "shop"."things" as "t" where "t"."a""b" = $1',
      values: [`' or true --`],
    })
  })

  it('may be escaped, for the question marks of Postgres', () => {
    expect(sqlOf(`?? #> '$ \\? (@ == ?)'`, ['t.a', 7]).write([])).toBe(`"t"."a" #> '$ ? (@ == $1)'`)
  })

  it('needs one value each, and no value may be undefined', () => {
    expect(() => sqlOf('? = ?', [1]).write([])).toThrow('more placeholders than bindings')
    expect(() => sqlOf('?', [1, 2]).write([])).toThrow('more bindings than placeholders')
    expect(() => things().where('t.size', undefined).statement()).toThrow('undefined value')
  })

  it('takes null, dates, lists and objects as values', () => {
    const given = [null, new Date(0), ['a'], { write: 'a value with the name of a method' }]
    expect(given.map((value) => things().where('t.size', value).statement().values[0])).toEqual(given)
  })
})
