import {
  closeSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { readBackwards, readForwards } from '../streams/read-stream.ts'
import { readLogBackwards, readLogForwards } from '../streams/read-all.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import { LogFolder, appendTo } from '../test/files/log-folder.ts'
import { writtenLog, type WrittenLog } from './damaged-log.ts'
import type { Progress } from './model-check.ts'
import { SeededRandom } from './seeded-random.ts'

export type DamageResult = {
  rounds: number
  refusedStarts: number
  reportedReads: number
  repaired: number
  differences: string[]
}

const ROUNDS_PER_LOG = 40
const DIFFERENCES_SHOWN = 20

type Damage = { what: string; isTornTail: boolean }
type Served = { texts: string[]; isReported: boolean }

/**
 * R4: damages files of a node at random, while they are closed or open, and reads everything. A torn tail loses no
 * acknowledged event. After any other damage the events are right, or the start or the read reports it.
 */
export async function checkDamage(rounds: number, seed: number, progress: Progress): Promise<DamageResult> {
  const random = new SeededRandom(seed)
  const result: DamageResult = { rounds: 0, refusedStarts: 0, reportedReads: 0, repaired: 0, differences: [] }
  let log: WrittenLog | undefined
  try {
    for (; result.rounds < rounds && result.differences.length < DIFFERENCES_SHOWN; result.rounds += 1) {
      if (log === undefined || result.rounds % ROUNDS_PER_LOG === 0) {
        log?.folder.remove()
        log = await writtenLog(random)
      }
      const folder = new LogFolder(log.folder)
      if (random.oneIn(4)) folder.removeIndex()
      try {
        const wrong = random.oneIn(8)
          ? await damagedWhileOpen(random, log, folder, result)
          : await damagedWhileClosed(random, log, folder, result)
        if (wrong !== undefined) {
          result.differences.push(`round ${result.rounds}: ${wrong}`)
          progress(result.rounds, result.differences.at(-1))
        }
      } finally {
        folder.remove()
      }
      progress(result.rounds)
    }
  } finally {
    log?.folder.remove()
  }
  return result
}

async function damagedWhileClosed(
  random: SeededRandom,
  log: WrittenLog,
  folder: LogFolder,
  result: DamageResult,
): Promise<string | undefined> {
  const damage = random.oneIn(3) ? tearTail(random, log, folder) : damageFile(random, folder)
  let store: StreamStore
  try {
    store = folder.open()
  } catch (error) {
    if (!isReport(error)) return `${damage.what}: the start failed with ${String(error)}`
    if (damage.isTornTail) return `${damage.what}: the start was refused: ${String(error)}`
    result.refusedStarts += 1
    return undefined
  }
  const wrong = wrongInStore(store, log, result)
  if (wrong !== undefined) {
    await store.close()
    return `${damage.what}: ${wrong}`
  }
  return damage.isTornTail ? writesOn(store, log, folder, damage, result) : store.close().then(() => undefined)
}

/** After a torn tail the log accepts appends at its new end, also after the next start. */
async function writesOn(
  store: StreamStore,
  log: WrittenLog,
  folder: LogFolder,
  { what }: Damage,
  result: DamageResult,
): Promise<string | undefined> {
  const before = allForwards(store).texts
  await appendTo(store, 'after-1', ['more'])
  await store.close()
  const again = folder.open()
  const after = allForwards(again)
  await again.close()
  if (
    after.isReported ||
    after.texts.length !== before.length + 1 ||
    after.texts.slice(0, before.length).join() !== before.join()
  )
    return `${what}: a later append is missing after the next start`
  if (before.length < log.texts.length) result.repaired += 1
  return undefined
}

async function damagedWhileOpen(
  random: SeededRandom,
  log: WrittenLog,
  folder: LogFolder,
  result: DamageResult,
): Promise<string | undefined> {
  const store = folder.open()
  const segment = random.pick(segmentsOf(folder))
  const what = flip(random, segment)
  const wrong = wrongInStore(store, log, result)
  await store.close()
  return wrong === undefined ? undefined : `open, ${what}: ${wrong}`
}

/** The first wrong result of a store, over all ways of reading it. */
function wrongInStore(store: StreamStore, log: WrittenLog, result: DamageResult): string | undefined {
  const forwards = allForwards(store)
  const held = forwards.isReported ? undefined : forwards.texts.length
  if (forwards.texts.some((text, at) => text !== log.texts[at])) return '$all contains events that were not written'
  if (held !== undefined && held < log.acknowledged)
    return `${held} of ${log.acknowledged} acknowledged events are left, and nothing was reported`
  const backwards = allBackwards(store)
  if (!isSubsequence(backwards.texts.toReversed(), log.texts))
    return '$all backwards contains events that were not written'
  if (held !== undefined && !backwards.isReported && backwards.texts.length !== held)
    return '$all differs between the two directions'
  let isReported = forwards.isReported || backwards.isReported
  for (const [stream, written] of log.byStream) {
    for (const read of [oneForwards(store, stream), oneBackwards(store, stream)]) {
      isReported ||= read.isReported
      const kept = log.texts.slice(0, held).filter((text) => written.includes(text))
      if (
        read.isReported ? !isSubsequence(read.texts, written) : held !== undefined && read.texts.join() !== kept.join()
      )
        return `stream ${stream} differs from what was written, and nothing was reported`
      if (!read.isReported && read.texts.join() !== written.slice(0, read.texts.length).join())
        return `stream ${stream} contains events that were not written`
      if (!read.isReported && read.texts.length < (log.acknowledgedByStream.get(stream) ?? 0))
        return `stream ${stream} lost acknowledged events, and nothing was reported`
    }
  }
  if (isReported) result.reportedReads += 1
  return undefined
}

function allForwards(store: StreamStore): Served {
  return served(function* () {
    for (const chunk of readLogForwards(store, 0))
      for (const { frame, event } of chunk)
        yield `${frame.stream} ${event.revision} ${event.message.toString('base64')}`
  })
}

function allBackwards(store: StreamStore): Served {
  return served(function* () {
    for (const chunk of readLogBackwards(store, store.log.durableEnd))
      for (const { frame, event } of chunk)
        yield `${frame.stream} ${event.revision} ${event.message.toString('base64')}`
  })
}

function oneForwards(store: StreamStore, stream: string): Served {
  return served(function* () {
    for (const page of readForwards(store, stream, 0, Infinity))
      for (const event of page) yield `${stream} ${event.revision} ${event.message.toString('base64')}`
  })
}

function oneBackwards(store: StreamStore, stream: string): Served {
  const { texts, isReported } = served(function* () {
    for (const page of readBackwards(store, stream, Number.MAX_SAFE_INTEGER - 1, Infinity))
      for (const event of page) yield `${stream} ${event.revision} ${event.message.toString('base64')}`
  })
  return { texts: texts.toReversed(), isReported }
}

/** The results of a read until it ends or reports damage. */
function served(read: () => Iterable<string>): Served {
  const texts: string[] = []
  try {
    for (const text of read()) texts.push(text)
    return { texts, isReported: false }
  } catch (error) {
    if (!isReport(error)) throw error
    return { texts, isReported: true }
  }
}

function isReport(error: unknown): boolean {
  return error instanceof Error && (error.name === 'CorruptLogError' || error.name === 'CorruptIndexError')
}

function isSubsequence(part: string[], whole: string[]): boolean {
  let at = 0
  for (const text of whole) if (text === part[at]) at += 1
  return at === part.length
}

function segmentsOf(folder: LogFolder): string[] {
  return readdirSync(join(folder.path, 'log'))
    .filter((name) => name.endsWith('.segment'))
    .toSorted()
    .map((name) => join(folder.path, 'log', name))
}

/** The newest segment ends anywhere behind the acknowledged part. Zeros or old content of the disk may follow. */
function tearTail(random: SeededRandom, log: WrittenLog, folder: LogFolder): Damage {
  const newest = segmentsOf(folder).at(-1) ?? ''
  const cut = log.acknowledgedSize + random.below(statSync(newest).size - log.acknowledgedSize + 1)
  truncateSync(newest, cut)
  const filler = random.pick(['nothing', 'zeros', 'garbage'] as const)
  const tail = Buffer.from(
    Array.from({ length: random.below(5000) }, () => (filler === 'zeros' ? 0 : random.below(256))),
  )
  if (filler !== 'nothing') writeFileSync(newest, Buffer.concat([readFileSync(newest), tail]))
  return { what: `tail cut at ${cut}, then ${filler}`, isTornTail: true }
}

function damageFile(random: SeededRandom, folder: LogFolder): Damage {
  const segments = segmentsOf(folder)
  const others = readdirSync(folder.path)
    .filter((name) => name.startsWith('index.sqlite'))
    .map((name) => join(folder.path, name))
  const file = random.pick([...segments, ...segments, folder.mark, ...others])
  const what = random.pick([flip, flip, flip, overwrite, overwrite, cutAnywhere, remove])(random, file)
  return { what, isTornTail: false }
}

/** Flips one to three bits anywhere. */
function flip(random: SeededRandom, file: string): string {
  const { size } = statSync(file)
  if (size === 0) return `${basename(file)} is empty`
  const offsets = Array.from({ length: 1 + random.below(3) }, () => random.below(size))
  const fd = openSync(file, 'r+')
  const bytes = readFileSync(file)
  for (const offset of offsets) {
    bytes.writeUInt8(bytes.readUInt8(offset) ^ (1 << random.below(8)), offset)
    writeSync(fd, bytes, offset, 1, offset)
  }
  closeSync(fd)
  return `${basename(file)} flipped at ${offsets.join()}`
}

/** Overwrites a block with another block of the file or with other content. */
function overwrite(random: SeededRandom, file: string): string {
  const bytes = readFileSync(file)
  const [to, from] = [random.below(bytes.length + 1), random.below(bytes.length + 1)]
  const length = 1 + random.below(4096)
  const source = random.pick(['zeros', 'garbage', 'a copy'] as const)
  const block =
    source === 'a copy'
      ? Buffer.from(bytes.subarray(from, from + length))
      : Buffer.from(Array.from({ length }, () => (source === 'zeros' ? 0 : random.below(256))))
  block.copy(bytes, to)
  writeFileSync(file, bytes)
  return `${basename(file)} holds ${source} at ${to}, ${block.length} bytes`
}

function cutAnywhere(random: SeededRandom, file: string): string {
  const cut = random.below(statSync(file).size + 1)
  truncateSync(file, cut)
  return `${basename(file)} cut at ${cut}`
}

function remove(_random: SeededRandom, file: string): string {
  rmSync(file)
  return `${basename(file)} removed`
}
