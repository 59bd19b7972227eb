import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Ends everything that a benchmark has started, in reverse order, at its end. Has its own folder. */
export interface Scope {
  readonly folder: string
  readonly started: <Running extends { stop(): Promise<unknown> }>(starting: Promise<Running>) => Promise<Running>
  readonly atEnd: (end: () => Promise<unknown>) => void
}

/** Runs `work`, then always ends what it started and removes its folder. */
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
