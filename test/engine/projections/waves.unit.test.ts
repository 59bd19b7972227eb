import { expect, it } from 'vitest'
import type { Write } from '../../../engine/projections/checkpoint-moves.ts'
import { defineTable, insertSelect, type RowChange } from '../../../engine/projections/projector.ts'
import {
  insertRow,
  patchRow,
  patchRows,
  removeRow,
  removeRows,
  upsertRow,
} from '../../../engine/projections/row-changes.ts'
import { RowPlan } from '../../../engine/projections/row-plan.ts'
import { statementsOf } from '../../../engine/projections/row-statements.ts'
import { wavesOf } from '../../../engine/projections/statements-at-once.ts'

const images = defineTable({
  name: 'images',
  columns: { review: 'text', place: 'integer', sent: 'boolean' },
  primaryKey: ['review', 'place'],
})
const todo = defineTable({ name: 'todo', columns: { key: 'text', step: 'text' }, primaryKey: ['key', 'step'] })
const waiting = defineTable({ name: 'waiting', columns: { id: 'text', cause: 'text' }, primaryKey: ['id'] })

const image = (review: string) => ({ review, place: 1, sent: true })
const reset = (review: string) => patchRows(images, { review }, { sent: false })
const ofWaiting = (step: string, cause = 'any') =>
  insertSelect(todo, {
    from: waiting,
    where: { cause },
    columns: { key: { column: 'id' }, step: { value: step } },
    existing: 'replace',
  })

function writesOf(changes: readonly RowChange[]): Write[] {
  const plan = new RowPlan([images, todo, waiting])
  for (const change of changes) plan.add([change])
  return plan.steps.flatMap((step) =>
    statementsOf('waves', step).map((statement) => ({ table: step.table.name, statement, parameters: [] })),
  )
}

it.each<[string, readonly RowChange[], readonly (readonly string[])[]]>([
  [
    'a reset of the images of a review, and images of others',
    [reset('a'), patchRow(images, image('b')), removeRow(images, { review: 'c', place: 1 })],
    [['images rows', 'images wide', 'images rows']],
  ],
  [
    'a reset of images that are added with it',
    [insertRow(images, image('a')), reset('a')],
    [['images wide', 'images rows']],
  ],
  [
    'a reset of the images of a review, and one of its images',
    [reset('a'), patchRow(images, image('a'))],
    [['images wide'], ['images rows']],
  ],
  [
    'rows of a lookup for a step, and removals for others',
    [ofWaiting('begin'), removeRow(todo, { key: 'a', step: 'end' }), removeRows(todo, { step: 'wait' })],
    [['todo insert-select', 'todo rows', 'todo remove-where']],
  ],
  [
    'rows of a lookup for a step, and a removal for the same',
    [ofWaiting('begin'), removeRow(todo, { key: 'a', step: 'begin' })],
    [['todo insert-select'], ['todo rows']],
  ],
  [
    'rows of a lookup for a step, and the removals of a key',
    [ofWaiting('begin'), removeRows(todo, { key: 'a' })],
    [['todo insert-select'], ['todo remove-where']],
  ],
  [
    'a lookup of a row that the batch adds',
    [upsertRow(waiting, { id: 'a', cause: 'any' }), ofWaiting('begin')],
    [['waiting rows'], ['todo insert-select']],
  ],
  [
    'a row that the lookup before it must not find',
    [ofWaiting('begin'), upsertRow(waiting, { id: 'a', cause: 'any' })],
    [['todo insert-select', 'waiting rows']],
  ],
  [
    'a row that a later lookup must not find, because an earlier change of its list comes before it',
    [
      ofWaiting('begin'),
      removeRows(todo, { key: 'a' }),
      ofWaiting('end', 'other'),
      upsertRow(waiting, { id: 'a', cause: 'other' }),
      removeRow(images, { review: 'a', place: 1 }),
    ],
    [
      ['images rows', 'todo insert-select'],
      ['todo remove-where', 'todo insert-select', 'waiting rows'],
    ],
  ],
])('%s', (_name, changes, expected) => {
  const waves = wavesOf(writesOf(changes)).map((wave) =>
    wave.map(({ table, statement }) => `${table} ${statement.effect.kind}`),
  )
  expect(waves).toEqual(expected)
})

it('writes of other rows in another order are the same statement', () => {
  const removal = removeRow(images, { review: 'b', place: 1 })
  const [sent, added] = [patchRow(images, image('a')), insertRow(images, image('c'))]
  const steps = [sent, removal, added].map((change) => writesOf([change]))
  const textsOf = (writes: readonly Write[]) =>
    wavesOf(writes).map((wave) => wave.map(({ statement }) => statement.text('rows')))
  expect(textsOf(steps.toReversed().flat())).toEqual(textsOf(steps.flat()))
})
