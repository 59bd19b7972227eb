import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { PostgresBinaries } from '../../../embedded/postgres/binaries.ts'
import { clusterFolder, startCluster, type RunningCluster } from '../../../embedded/postgres/cluster.ts'
import { startLastingCluster } from '../../../embedded/postgres/lasting-cluster.ts'
import { waitFor } from '../../support/platform.ts'

const gaveUp = 1
let dataDir: string

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'lasting-cluster-'))
  await mkdir(clusterFolder(dataDir))
})

afterEach(async () => {
  await rm(dataDir, { recursive: true, force: true })
})

/** A server that ends on request, or by itself with an exit code. */
class Server implements RunningCluster {
  readonly #end = Promise.withResolvers<number | null>()
  readonly exited = this.#end.promise
  stops = 0

  async stop(): Promise<void> {
    this.stops += 1
    this.#end.resolve(0)
    await this.exited
  }

  endBy(code: number): void {
    this.#end.resolve(code)
  }
}

function optionsOf(binaries: PostgresBinaries) {
  const launcher = {
    name: 'same-user' as const,
    command: (program: string, args: readonly string[]): [string, string[]] => [program, [...args]],
    spawnAs: {},
    owner: undefined,
  }
  return { binaries, launcher, dataDir, durable: false, onLog: () => undefined, port: 1 }
}

async function lasting(starts: (() => Promise<Server>)[]) {
  let count = 0
  const options = optionsOf({ initdb: '', postgres: '', version: '' })
  const cluster = await startLastingCluster(options, async () => {
    const start = starts[count]
    count += 1
    if (start === undefined) throw new Error('started too often')
    return start()
  })
  return { cluster, count: () => count }
}

test('a stop during a restart ends the new server, and then itself', async () => {
  const [first, second] = [new Server(), new Server()]
  const recovery = Promise.withResolvers<Server>()
  const { cluster, count } = await lasting([async () => first, () => recovery.promise])
  first.endBy(gaveUp)
  await waitFor('the restart', async () => (count() === 2 ? true : undefined))
  const stopped = cluster.stop()
  recovery.resolve(second)
  await stopped

  expect([first.stops, second.stops]).toEqual([0, 1])
  expect(await cluster.exited).toBe(gaveUp)
})

test('a stop ends a failing start, and stops a restarted server like the first one', async () => {
  const recovery = Promise.withResolvers<Server>()
  const [first, other, again] = [new Server(), new Server(), new Server()]
  const failing = await lasting([async () => first, () => recovery.promise])
  first.endBy(gaveUp)
  await waitFor('the restart', async () => (failing.count() === 2 ? true : undefined))
  const stopped = failing.cluster.stop()
  recovery.reject(new Error('ended during its start'))
  await stopped
  expect(await failing.cluster.exited).toBe(gaveUp)

  const restarted = await lasting([async () => other, async () => again])
  other.endBy(gaveUp)
  await waitFor('the restart', async () => (restarted.count() === 2 ? true : undefined))
  await restarted.cluster.stop()
  expect(again.stops).toBe(1)
})

test('an end for another reason is final', async () => {
  const server = new Server()
  const { cluster, count } = await lasting([async () => server])
  server.endBy(2)
  expect(await cluster.exited).toBe(2)
  expect(count()).toBe(1)
})

/** Recovers for a moment, and is then ready. */
const recovering = `#!/bin/sh
trap 'exit 0' INT
printf '%s\\n\\n\\n\\n\\n\\n\\nstarting' $$ > "$2/postmaster.pid"
sleep 0.3
printf '%s\\n\\n\\n\\n\\n\\n\\nready' $$ > "$2/postmaster.pid"
while :; do sleep 0.05; done
`

test('a recovery is waited for, however long it takes', async () => {
  const postgres = join(dataDir, 'postgres')
  await writeFile(postgres, recovering, { mode: 0o700 })
  let minutes = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (minutes += 1) * 60_000)
  try {
    const binaries = { initdb: '', postgres, version: '' }
    const cluster = await startCluster(optionsOf(binaries))
    await cluster.stop()
    expect(await cluster.exited).toBe(0)
  } finally {
    clock.mockRestore()
  }
})
