import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { bytesOfBlock, IndexBlock, leavesIn, positionIn } from '../../../contracts/audit/event-index.ts'
import { blockLeaves, blockPath } from '../../../contracts/audit/log-objects.ts'

const position = (leaf: number) => ({ commit: BigInt(leaf) * 1_000n + 7n, prepare: BigInt(leaf) * 1_000n + 5n })

test('finds each event by its id, and the first event of its tile', () => {
  const ids = Array.from({ length: 700 }, () => randomUUID())
  const block = new IndexBlock(0)
  for (const [leaf, id] of ids.entries()) block.add(id, position(leaf))
  const stored = block.stored()
  expect(stored).toHaveLength(bytesOfBlock(700))
  for (const [leaf, id] of ids.entries()) {
    expect(leavesIn(stored, id)).toEqual([leaf])
    expect(positionIn(stored, blockLeaves * 3 + leaf)).toEqual(position(leaf - (leaf % 256)))
  }
  expect(leavesIn(stored, randomUUID())).toEqual([])
})

test('finds every event whose id ends in the same bytes, and no bytes of a position', () => {
  const block = new IndexBlock(0)
  const same = randomUUID()
  const twin = `${randomUUID().slice(0, -12)}${same.slice(-12)}`
  for (const id of [same, randomUUID(), twin]) block.add(id, { commit: 0n, prepare: 0n })
  expect(leavesIn(block.stored(), same)).toEqual([0, 2])
  expect(leavesIn(block.stored(), '00000000-0000-0000-0000-000000000000')).toEqual([])
})

test('goes on from its stored bytes', () => {
  const ids = Array.from({ length: 300 }, () => randomUUID())
  const whole = new IndexBlock(0)
  for (const [leaf, id] of ids.entries()) whole.add(id, position(leaf))
  const first = new IndexBlock(0)
  for (const [leaf, id] of ids.slice(0, 256).entries()) first.add(id, position(leaf))
  const second = new IndexBlock(256, first.stored())
  for (const [leaf, id] of ids.slice(256).entries()) second.add(id, position(256 + leaf))
  expect(second.stored()).toEqual(whole.stored())
  expect(blockPath(1_234, 300)).toBe('index/x001/234.p/300')
  expect(blockPath(0, blockLeaves)).toBe('index/000')
})
