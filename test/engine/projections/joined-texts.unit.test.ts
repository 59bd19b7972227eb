import { expect, it } from 'vitest'
import { byTable, JoinedTexts, rowsPlace, type Slot } from '../../../engine/projections/joined-texts.ts'

const slot = (table: string, write: string, projector = 'shop'): Slot => ({
  projector,
  table,
  columns: [['id', 'text']],
  text: `insert into ${projector}.${table} /* ${write} */ select id from ${rowsPlace}`,
  expects: 'each',
  id: `${projector}.${table} ${write}`,
})
const options = { movesCheckpoints: true, projectors: new Set(['shop', 'other']) }
const tables = Array.from({ length: 90 }, (_, index) => `t${String(index).padStart(2, '0')}`)
const writesTo = (chosen: readonly string[]) => chosen.map((table) => slot(table, 'a'))

it('large batches with other writes share a few prepared statements, each write at its place', () => {
  const texts = new JoinedTexts()
  const prepared = new Set<string>()
  let unprepared = 0
  for (let batch = 0; batch < 500; batch += 1) {
    const writes = writesTo(
      tables.filter((_, index) => (index * 7 + batch * 13) % 3 === 0 || index % 11 === batch % 11),
    )
    const { text, slots, places, isPrepared } = texts.for(writes, options)
    expect(places.map((place) => slots[place]?.id)).toEqual(writes.map(({ id }) => id))
    if (isPrepared) prepared.add(text)
    else unprepared += 1
  }
  expect(unprepared).toBeLessThan(10)
  expect(prepared.size).toBeLessThanOrEqual(5)
})

it('as many statements are prepared as a connection may keep, however the batches differ', () => {
  const texts = new JoinedTexts()
  const prepared = new Set<string>()
  for (let batch = 0; batch < 2_000; batch += 1) {
    const size = 1 + (batch % 40)
    const writes = Array.from({ length: size }, (_, index) => slot(`t${100 + index}`, `${batch} ${index}`))
    const { text, slots, places, isPrepared } = texts.for(writes, options)
    expect(places.map((place) => slots[place]?.id)).toEqual(writes.map(({ id }) => id))
    if (isPrepared) prepared.add(text)
  }
  expect(prepared.size).toBe(130)
})

it('writes of one table keep their order in a shared statement', () => {
  const texts = new JoinedTexts()
  const rest = writesTo(tables.slice(30, 60))
  const first = [slot('t00', 'remove'), slot('t00', 'insert'), ...rest]
  const second = [slot('t00', 'insert'), slot('t00', 'remove'), ...rest]
  texts.for(first, options)
  for (const writes of [first, second, first]) {
    const { slots, places } = texts.for(writes, options)
    expect(places).toEqual(places.toSorted((one, other) => one - other))
    expect(places.map((place) => slots[place]?.id)).toEqual(writes.map(({ id }) => id))
  }
})

it('a statement names no table of a projector that the batch does not move', () => {
  const texts = new JoinedTexts()
  const both = [...writesTo(tables.slice(0, 25)), slot('t99', 'a', 'other')].toSorted((one, other) =>
    one.projector < other.projector ? -1 : Number(one.projector > other.projector),
  )
  texts.for(both, options)
  const { text, isPrepared } = texts.for(writesTo(tables.slice(0, 25)), { ...options, projectors: new Set(['shop']) })
  expect(isPrepared).toBe(true)
  expect(text).not.toContain('other.t99')
})

it('the waves after the first move no checkpoint', () => {
  const texts = new JoinedTexts()
  for (const size of [3, 30]) {
    const writes = writesTo(tables.slice(0, size))
    expect(texts.for(writes, options).text).toContain('runtime.projectors')
    expect(texts.for(writes, { ...options, movesCheckpoints: false }).text).not.toContain('runtime.projectors')
  }
})

it('an addition comes after all rows, as a claim locks its row before it adds itself', () => {
  const addition = { ...slot('claims', 'add', ''), isAddition: true }
  const sorted = [addition, slot('t02', 'a'), slot('t01', 'a', 'other'), slot('t01', 'a')].toSorted(byTable)
  expect(sorted.map(({ id }) => id)).toEqual(['other.t01 a', 'shop.t01 a', 'shop.t02 a', '.claims add'])
})
