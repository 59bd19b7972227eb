import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEventStore } from '../start.ts'
import { describeDifference, firstDifference } from './difference.ts'
import { StoreModel } from './model.ts'
import { RandomOperations } from './random-operations.ts'
import { SeededRandom } from './seeded-random.ts'
import { StoreUnderCheck } from './store-under-check.ts'

export type ModelCheck = { operations: number; seed: number; operationsPerRestart: number; progress: Progress }
/** Called after each operation, and with each difference when it is found. */
export type Progress = (done: number, difference?: string) => void
export type CheckResult = { operations: number; events: number; restarts: number; differences: string[] }

export const DIFFERENCES_SHOWN = 20

/**
 * R3: runs random operations on a fresh node and compares each answer with the model. At random times the node is
 * killed or stopped, restarted on its folder, and all of `$all` is compared. Ends at the first differences.
 */
export async function checkAgainstModel({
  operations,
  seed,
  operationsPerRestart,
  progress,
}: ModelCheck): Promise<CheckResult> {
  const dataDir = await mkdtemp(join(tmpdir(), 'event-store-check-'))
  const random = new SeededRandom(seed)
  const model = new StoreModel()
  const run = `r${seed}`
  const generated = new RandomOperations(random, new SeededRandom(seed), model, run, false)
  let node = await startEventStore({ dataDir })
  const { port } = node
  let store = new StoreUnderCheck(node.url, run, false)
  const result: CheckResult = { operations: 0, events: 0, restarts: 0, differences: [] }
  try {
    while (result.operations < operations && result.differences.length < DIFFERENCES_SHOWN) {
      if (random.oneIn(operationsPerRestart)) {
        if (random.oneIn(2)) node.kill()
        await node.stop()
        node = await startEventStore({ dataDir, port })
        await store.client.dispose()
        store = store.reconnected(node.url)
        model.restart()
        result.restarts += 1
        compareAll(result, progress, model.everything(), await store.everything())
      }
      const operation = generated.next()
      const { answer, message } = await store.perform(operation)
      const expected = model.apply(operation)
      result.operations += 1
      const isSame = JSON.stringify(answer) === JSON.stringify(expected)
      if (isSame && operation.kind === 'append' && expected.outcome === 'written')
        generated.wrote(operation, expected.revision)
      if (!isSame)
        addDifference(result, progress, describeDifference(result.operations, operation, expected, answer, message))
      progress(result.operations)
    }
    compareAll(result, progress, model.everything(), await store.everything())
    result.events = model.log.length
    return result
  } finally {
    await store.client.dispose()
    await node.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

function compareAll(result: CheckResult, progress: Progress, expected: string[], found: string[]): void {
  const difference = firstDifference(expected, found)
  if (difference !== undefined)
    addDifference(result, progress, `$all after ${result.operations} operations: ${difference}`)
}

export function addDifference(result: CheckResult, progress: Progress, difference: string): void {
  result.differences.push(difference)
  progress(result.operations, difference)
}
