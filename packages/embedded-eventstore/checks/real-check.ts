import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEventStore } from '../start.ts'
import { describeDifference, firstDifference } from './difference.ts'
import { DIFFERENCES_SHOWN, addDifference, type CheckResult, type Progress } from './model-check.ts'
import { StoreModel } from './model.ts'
import { RandomOperations } from './random-operations.ts'
import { SeededRandom } from './seeded-random.ts'
import { StoreUnderCheck } from './store-under-check.ts'

/**
 * R3b: runs random operations on a fresh node and on a real server. Compares answers and errors word for word, and
 * positions by their order. The model runs too, so it is compared with the real server. Documented differences are
 * excluded.
 */
export async function checkAgainstServer(
  realUrl: string,
  operations: number,
  seed: number,
  progress: Progress,
): Promise<CheckResult> {
  if (realUrl === '') throw new Error('ESDB_URL is not set')
  const dataDir = await mkdtemp(join(tmpdir(), 'event-store-check-'))
  const random = new SeededRandom(seed)
  const model = new StoreModel()
  // A server keeps the events of earlier runs.
  const run = `r${seed}x${Date.now().toString(36)}`
  const generated = new RandomOperations(random, new SeededRandom(Date.now()), model, run, true)
  const node = await startEventStore({ dataDir })
  const [ours, theirs] = [new StoreUnderCheck(node.url, run, false), new StoreUnderCheck(realUrl, run, true)]
  const result: CheckResult = { operations: 0, events: 0, restarts: 0, differences: [] }
  try {
    await theirs.begin()
    while (result.operations < operations && result.differences.length < DIFFERENCES_SHOWN) {
      const operation = generated.next()
      const [found, real] = await Promise.all([ours.perform(operation), theirs.perform(operation)])
      const modelled = model.apply(operation)
      result.operations += 1
      const isSame = JSON.stringify(found) === JSON.stringify(real)
      const isModelled = JSON.stringify(real.answer) === JSON.stringify(modelled)
      if (!isSame)
        addDifference(
          result,
          progress,
          describeDifference(
            result.operations,
            operation,
            real.answer,
            found.answer,
            `${real.message} | ${found.message}`,
          ),
        )
      else if (!isModelled)
        addDifference(
          result,
          progress,
          `only the model differs: ${describeDifference(result.operations, operation, real.answer, modelled)}`,
        )
      else if (operation.kind === 'append' && modelled.outcome === 'written')
        generated.wrote(operation, modelled.revision)
      progress(result.operations)
    }
    const difference = firstDifference(await theirs.everything(), await ours.everything())
    if (difference !== undefined) addDifference(result, progress, `$all: ${difference}`)
    result.events = model.log.length
    return result
  } finally {
    await Promise.all([ours.client.dispose(), theirs.client.dispose()])
    await node.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}
