import { rmSync, statSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LogFolder, appendTo, everything, everythingByStream } from './log-folder.ts'

const streams = ['first-1', 'second-1', 'größe-1']
let original: LogFolder
let all: string[] = []
let byStream: string[] = []

beforeAll(async () => {
  original = new LogFolder()
  const store = original.open()
  for (let round = 0; round < 4; round += 1) {
    for (const stream of streams) await appendTo(store, stream, [`round ${round}`, 'x'.repeat(40)])
  }
  all = everything(store)
  byStream = everythingByStream(store, streams)
  await store.close()
})

afterAll(() => original.remove())

/** The lines of a read, or the report of damage. */
function outcome(read: () => string[]): string[] | 'reported' {
  try {
    return read()
  } catch (error) {
    if (
      error instanceof Error &&
      (error.name === 'CorruptLogError' || error.name === 'CorruptIndexError' || 'errcode' in error)
    )
      return 'reported'
    throw error
  }
}

describe('a flipped bit in the log', () => {
  test('is reported by the start when the start reads that part of the log', () => {
    for (let offset = 0; offset < statSync(original.segment).size; offset += 59) {
      const folder = new LogFolder(original)
      folder.removeIndex()
      folder.flip(folder.segment, offset, 1 << (offset % 8))
      expect(() => folder.open(), `flipped at ${offset}`).toThrow(/event log is damaged/)
      folder.remove()
    }
  })

  test('is reported by the start or by the read; a changed event is never returned', async () => {
    let reportedByRead = 0
    for (let offset = 32; offset < statSync(original.segment).size; offset += 31) {
      const folder = new LogFolder(original)
      folder.flip(folder.segment, offset, 1 << (offset % 8))
      let store
      try {
        store = folder.open()
      } catch (error) {
        expect(String(error)).toMatch(/event log is damaged/)
        folder.remove()
        continue
      }
      const opened = store
      expect(
        outcome(() => everything(opened)),
        `flipped at ${offset}`,
      ).toBe('reported')
      const perStream = outcome(() => everythingByStream(opened, streams))
      expect(perStream === 'reported' || perStream.join() === byStream.join()).toBe(true)
      reportedByRead += 1
      await opened.close()
      folder.remove()
    }
    expect(reportedByRead).toBeGreaterThan(0)
  })

  test('stops the start when it lies in an acknowledged append that is not in the index', async () => {
    const folder = new LogFolder(original)
    const size = statSync(folder.segment).size
    folder.removeIndex()
    folder.flip(folder.segment, size - 20)
    expect(() => folder.open()).toThrow(/acknowledged/)
    folder.remove()
  })
})

test('a flipped bit in the acknowledged mark loses nothing', async () => {
  for (let offset = 0; offset < statSync(original.mark).size; offset += 1) {
    const folder = new LogFolder(original)
    folder.flip(folder.mark, offset)
    const store = folder.open()
    expect(everything(store)).toEqual(all)
    await store.close()
    folder.remove()
  }
})

test('a missing mark or a missing segment stops the start', () => {
  for (const file of ['mark', 'segment'] as const) {
    const folder = new LogFolder(original)
    rmSync(folder[file])
    expect(() => folder.open()).toThrow(/event log is damaged/)
    folder.remove()
  }
})
