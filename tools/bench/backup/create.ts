import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openLogCopy } from 'embedded-eventstore/log-copy'
import { readBackupKeys } from '../../../platform/backup/backup-keys.ts'
import { ChunkStore } from '../../../platform/backup/chunks.ts'
import { folderPlace } from '../../../platform/backup/folder-place.ts'
import { newMasterKey } from '../../../platform/vault/master-keys.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { writeMainJobs } from '../projections/log.ts'
import { startWorld } from '../projections/world.ts'

const readBytes = 4 * 1024 * 1024
const seconds = (since: number): number => (performance.now() - since) / 1_000

/** The first backup of a log: each append checked, hashed, encrypted and durable. */
export const backupCreate: Benchmark = {
  name: 'backup-create',
  goals: ['38'],
  about: 'the first backup of a log over a bare copy of its files, which is hashed and durable',
  run: async ({ quick, events: asked }, { compare }) => {
    await withScope(async ({ folder, started }) => {
      const world = await started(startWorld(folder))
      await writeMainJobs(world.store, { events: asked ?? (quick ? 20_000 : 200_000) })
      const dataDir = join(folder, 'eventstore')
      // Their names begin with the position, so this is the order of the segments.
      const segments = (await readdir(join(dataDir, 'log'))).filter((name) => name.endsWith('.segment')).toSorted()
      const files = segments.map((name) => join(dataDir, 'log', name))
      let round = 0

      const create = async (): Promise<number> => {
        const to = join(folder, `place-${(round += 1)}`)
        const place = folderPlace(to)
        const chunks = new ChunkStore(place, readBackupKeys(newMasterKey('bench')).newest)
        const log = openLogCopy(dataDir)
        const since = performance.now()
        for (const segment of log.segments) await chunks.store(segment.chunks())
        await place.flush()
        const taken = seconds(since)
        log.close()
        await rm(to, { recursive: true })
        return taken
      }

      const bare = async (): Promise<number> => {
        const to = join(folder, `copy-${(round += 1)}`)
        await mkdir(to)
        const log = openLogCopy(dataDir)
        const since = performance.now()
        for (const [at, { bytes }] of log.segments.entries())
          await copyBare(files[at] ?? '', join(to, String(at)), bytes)
        const taken = seconds(since)
        log.close()
        await rm(to, { recursive: true })
        return taken
      }

      await compare(
        single({
          goalNumber: '38',
          name: 'first backup of a log over a bare copy of its files',
          unit: 's',
          // It reads back what it wrote.
          goal: atMost(1.5, { reached: 2.9 }),
          ours: { name: 'backup create', measure: create },
          other: { name: 'read, hashed, written and synchronised', measure: bare },
        }),
      )
    })
  },
}

/** What any copy that can be trusted does at least. */
async function copyBare(from: string, to: string, bytes: number): Promise<void> {
  const [source, target] = [await open(from, 'r'), await open(to, 'wx')]
  try {
    const hash = createHash('sha256')
    const buffer = Buffer.alloc(readBytes)
    for (let at = 0; at < bytes;) {
      const { bytesRead } = await source.read(buffer, 0, Math.min(readBytes, bytes - at), at)
      const piece = buffer.subarray(0, bytesRead)
      hash.update(piece)
      await target.write(piece)
      at += bytesRead
    }
    hash.digest()
    await target.sync()
  } finally {
    await source.close()
    await target.close()
  }
}
