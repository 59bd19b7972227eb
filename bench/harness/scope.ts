import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What a benchmark has started, ended in reverse order when it is over, and a folder of its own. */
export interface Scope {
  readonly folder: string
  readonly started: <Running extends { stop(): Promise<unknown> }>(starting: Promise<Running>) => Promise<Running>
  readonly atEnd: (end: () => Promise<unknown>) => void
}

/** Runs `work`, then ends what it started and removes its folder, whatever happened. */
export async function withScope<Result>(work: (scope: Scope) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  const ends: (() => Promise<unknown>)[] = []
  const atEnd = (end: () => Promise<unknown>) => void ends.push(end)
  try {
    return await work({
      folder,
      atEnd,
      started: async (starting) => {
        const running = await starting
        atEnd(() => running.stop())
        return running
      },
    })
  } finally {
    for (const end of ends.toReversed()) await end()
    await rm(folder, { recursive: true, force: true })
  }
}
