import { randomUUID } from 'node:crypto'
import { copyFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { EventLog } from '../log/event-log.ts'
import { LogFolder, appendTo, everything } from '../test/files/log-folder.ts'
import type { SeededRandom } from './seeded-random.ts'

/** Files of a killed node. Some appends are acknowledged, others lie behind the mark. */
export type WrittenLog = {
  folder: LogFolder
  /** Every event in order, formatted as by `everything`. */
  texts: string[]
  byStream: Map<string, string[]>
  /** Numbers of acknowledged events, in total and by stream. */
  acknowledged: number
  acknowledgedByStream: Map<string, number>
  /** Acknowledged bytes of the newest segment. */
  acknowledgedSize: number
}

/** Writes a log of random appends in one or several segments. */
export async function writtenLog(random: SeededRandom): Promise<WrittenLog> {
  const folder = new LogFolder()
  const streams = Array.from(
    { length: 2 + random.below(8) },
    (_, n) => random.pick(['plain', 'größe', 'a@b']) + `-${n}`,
  )
  if (random.oneIn(2)) await writeSegments(random, folder, streams)
  await writeMore(random, folder, streams, 5 + random.below(40))
  const acknowledgedTexts = await everythingIn(folder)
  const newest =
    readdirSync(join(folder.path, 'log'))
      .filter((name) => name.endsWith('.segment'))
      .toSorted()
      .at(-1) ?? ''
  const acknowledgedSize = statSync(join(folder.path, 'log', newest)).size
  const oldMark = join(folder.path, 'mark-before')
  copyFileSync(folder.mark, oldMark)
  await writeMore(random, folder, streams, random.below(8))
  const texts = await everythingIn(folder)
  copyFileSync(oldMark, folder.mark)
  rmSync(oldMark)
  const ofStream = (all: string[], stream: string): string[] => all.filter((text) => text.startsWith(`${stream} `))
  return {
    folder,
    texts,
    byStream: new Map(streams.map((stream) => [stream, ofStream(texts, stream)])),
    acknowledged: acknowledgedTexts.length,
    acknowledgedByStream: new Map(streams.map((stream) => [stream, ofStream(acknowledgedTexts, stream).length])),
    acknowledgedSize,
  }
}

/** Only the log, in smaller segments than a node makes. The next start builds the index. */
async function writeSegments(random: SeededRandom, folder: LogFolder, streams: string[]): Promise<void> {
  const log = new EventLog({
    folder: join(folder.path, 'log'),
    segmentSize: 1000 + random.below(8000),
    indexed: undefined,
    onIdentified: () => {},
    onRecovered: () => {},
    onDurable: () => {},
    onFailure: (error) => {
      throw error
    },
  })
  const heads = new Map<string, number>()
  for (let left = 10 + random.below(40); left > 0; left -= 1) {
    const stream = random.pick(streams)
    const firstRevision = heads.get(stream) ?? 0
    const events = textsOf(random).map((text) => ({
      id: randomUUID(),
      type: 'Noted',
      contentType: 'application/json',
      data: Buffer.from(JSON.stringify({ text })),
      metadata: Buffer.alloc(0),
    }))
    heads.set(stream, firstRevision + events.length)
    await new Promise<void>((resolve) => {
      log.append({ stream, firstRevision, createdAt: Date.now(), events }, resolve)
    })
  }
  await log.close()
}

async function writeMore(random: SeededRandom, folder: LogFolder, streams: string[], appends: number): Promise<void> {
  const store = folder.open()
  for (let left = appends; left > 0; left -= 1) {
    await appendTo(store, random.pick(streams), textsOf(random))
    if (random.oneIn(10)) store.index.flush()
  }
  await store.close()
}

async function everythingIn(folder: LogFolder): Promise<string[]> {
  const store = folder.open()
  const texts = everything(store)
  await store.close()
  return texts
}

function textsOf(random: SeededRandom): string[] {
  return Array.from({ length: random.oneIn(3) ? 1 + random.below(5) : 1 }, () =>
    'x'.repeat(random.oneIn(12) ? random.below(5000) : random.below(60)),
  )
}
