import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LogFolder, appendTo, everything, everythingByStream } from './log-folder.ts'

const streams = ['first-1', 'second-1']
let original: LogFolder
let byStream: string[] = []

beforeAll(async () => {
  original = new LogFolder()
  let store = original.open()
  for (let n = 0; n < 5; n += 1) await appendTo(store, 'first-1', [`early ${n}`])
  await store.close()
  mkdirSync(join(original.path, 'old-index'))
  for (const file of indexFiles(original)) cpSync(join(original.path, file), join(original.path, 'old-index', file))
  store = original.open()
  for (let n = 0; n < 5; n += 1) for (const stream of streams) await appendTo(store, stream, [`late ${n}`, 'and more'])
  byStream = everythingByStream(store, streams)
  await store.close()
})

afterAll(() => original.remove())

function indexFiles(folder: LogFolder): string[] {
  return readdirSync(folder.path).filter((file) => file.startsWith('index.sqlite'))
}

async function expectWhole(folder: LogFolder): Promise<void> {
  const store = folder.open()
  expect(everythingByStream(store, streams)).toEqual(byStream)
  expect(everything(store)).toHaveLength(byStream.length)
  expect([store.head('first-1'), store.head('second-1')]).toEqual([14, 9])
  await store.close()
  folder.remove()
}

test('a deleted index is built again from the log', async () => {
  const folder = new LogFolder(original)
  folder.removeIndex()
  await expectWhole(folder)
})

test('an outdated index is brought up to date', async () => {
  const folder = new LogFolder(original)
  folder.removeIndex()
  for (const file of readdirSync(join(folder.path, 'old-index')))
    cpSync(join(folder.path, 'old-index', file), join(folder.path, file))
  await expectWhole(folder)
})

test('an index of another log is rejected', async () => {
  const other = new LogFolder()
  const store = other.open()
  for (let n = 0; n < 30; n += 1) await appendTo(store, 'foreign-1', [`foreign ${n}`])
  await store.close()
  const folder = new LogFolder(original)
  folder.removeIndex()
  for (const file of indexFiles(other)) cpSync(join(other.path, file), join(folder.path, file))
  other.remove()
  await expectWhole(folder)
})

test('an index beyond the end of the log is rejected', async () => {
  const folder = new LogFolder(original)
  const store = folder.open()
  await appendTo(store, 'gone-1', ['gone'])
  await store.close()
  rmSync(join(folder.path, 'log'), { recursive: true })
  cpSync(join(original.path, 'log'), join(folder.path, 'log'), { recursive: true })
  const opened = folder.open()
  expect(opened.head('gone-1')).toBe(-1)
  await opened.close()
  await expectWhole(folder)
})
