import { parseArgs } from 'node:util'
import { randomInt } from 'node:crypto'
import { checkDamage } from './damage-check.ts'
import { checkAgainstModel } from './model-check.ts'
import { checkAgainstServer } from './real-check.ts'

const USAGE = `Checks of the embedded event store node. Each prints its seed; the seed repeats the run.

  npm run eventstore:check -- model  [--operations 100000] [--seed N]   random operations against a model, with restarts
  npm run eventstore:check -- real   [--operations 20000]  [--seed N]   the same on the node and on the server of ESDB_URL
  npm run eventstore:check -- damage [--rounds 2000]       [--seed N]   torn and flipped bytes anywhere in the node's files
`

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    operations: { type: 'string' },
    rounds: { type: 'string' },
    seed: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const CHECKS: Record<string, (seed: number) => Promise<{ differences: string[] }>> = {
  model: (seed) =>
    checkAgainstModel({ operations: countOf(values.operations, 100_000), seed, operationsPerRestart: 2500, progress }),
  real: (seed) => checkAgainstServer(process.env['ESDB_URL'] ?? '', countOf(values.operations, 20_000), seed, progress),
  damage: (seed) => checkDamage(countOf(values.rounds, 2000), seed, progress),
}

const check = CHECKS[positionals[0] ?? '']
if (values.help || check === undefined) {
  process.stdout.write(USAGE)
  process.exitCode = values.help ? 0 : 2
} else {
  const seed = values.seed === undefined ? randomInt(2 ** 31) : countOf(values.seed, 0)
  process.stdout.write(`${positionals[0]} seed ${seed}\n`)
  const startedAt = performance.now()
  const result = await check(seed)
  const { differences, ...figures } = result
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  process.stdout.write(
    `${JSON.stringify({ check: positionals[0], seed, ...figures, differences: differences.length, seconds })}\n`,
  )
  process.exitCode = differences.length === 0 ? 0 : 1
}

function progress(done: number, difference?: string): void {
  if (difference !== undefined) process.stdout.write(`${difference}\n`)
  else if (done % 5000 === 0) process.stderr.write(`${done}\n`)
}

function countOf(text: string | undefined, otherwise: number): number {
  const count = text === undefined ? otherwise : Number(text)
  if (!Number.isSafeInteger(count) || count < 0) throw new Error(`not a whole number of at least 0: ${text}`)
  return count
}
