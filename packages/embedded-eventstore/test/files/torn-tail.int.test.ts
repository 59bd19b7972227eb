import { copyFileSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AcknowledgedMark, readMark } from '../../log/acknowledged-mark.ts'
import { LogFolder, appendTo, everything } from './log-folder.ts'

/** Three acknowledged appends, and three behind the mark. */
let original: LogFolder
let acknowledgedSize = 0
let acknowledged: string[] = []
let all: string[] = []

beforeAll(async () => {
  original = new LogFolder()
  let store = original.open()
  for (const n of [1, 2, 3]) await appendTo(store, `kept-${n}`, ['a', 'b'])
  acknowledged = everything(store)
  await store.close()
  acknowledgedSize = statSync(original.segment).size
  copyFileSync(original.mark, join(original.path, 'old-mark'))
  store = original.open()
  for (const n of [1, 2, 3]) await appendTo(store, `torn-${n}`, ['c', 'd'])
  all = everything(store)
  await store.close()
  copyFileSync(join(original.path, 'old-mark'), original.mark)
})

afterAll(() => original.remove())

/** Opens a damaged copy. Expects a prefix of the appends with all acknowledged ones. Then appends further events. */
async function expectPrefix(folder: LogFolder): Promise<string[]> {
  let store = folder.open()
  const found = everything(store)
  expect(found).toEqual(all.slice(0, found.length))
  expect(found.length).toBeGreaterThanOrEqual(acknowledged.length)
  expect(found.length % 2).toBe(0)
  await appendTo(store, 'after-1', ['e'])
  await store.close()
  store = folder.open()
  expect(everything(store)).toHaveLength(found.length + 1)
  await store.close()
  folder.remove()
  return found
}

test('a cut behind the last acknowledged append loses no acknowledged append and halves none', async () => {
  const size = statSync(original.segment).size
  const lengths = new Set<number>()
  for (let cut = acknowledgedSize; cut <= size; cut += 19) {
    const folder = new LogFolder(original)
    truncateSync(folder.segment, cut)
    lengths.add((await expectPrefix(folder)).length)
  }
  expect([...lengths]).toEqual([6, 8, 10, 12].filter((length) => lengths.has(length)))
  expect(lengths.size).toBeGreaterThanOrEqual(3)
})

test('the same with zeros or garbage in place of the tail', async () => {
  const bytes = readFileSync(original.segment)
  for (let cut = acknowledgedSize; cut < bytes.length; cut += 41) {
    for (const filler of [0x00, 0xa5]) {
      const folder = new LogFolder(original)
      writeFileSync(folder.segment, Buffer.concat([bytes.subarray(0, cut), Buffer.alloc(5000, filler)]))
      await expectPrefix(folder)
    }
  }
})

test('the same without the index', async () => {
  for (let cut = acknowledgedSize; cut <= statSync(original.segment).size; cut += 97) {
    const folder = new LogFolder(original)
    folder.removeIndex()
    truncateSync(folder.segment, cut)
    await expectPrefix(folder)
  }
})

test('a cut before the last acknowledged append stops the start', () => {
  for (let cut = 0; cut < acknowledgedSize; cut += 61) {
    const folder = new LogFolder(original)
    truncateSync(folder.segment, cut)
    expect(() => folder.open(), `cut at ${cut}`).toThrow(/event log is damaged/)
    folder.remove()
  }
})

test('the start of an empty log writes a mark whose file is empty', () => {
  const folder = new LogFolder()
  const log = join(folder.path, 'log')
  mkdirSync(log)
  // A start was killed after it had created the file.
  writeFileSync(folder.mark, '')
  // This one is killed after it has created the first segment.
  new AcknowledgedMark(log, true).close()
  expect(readMark(log)).toBe(0)
  folder.remove()
})
