import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { freshDatabase, setup, teardown } from '../../test/support/postgres.ts'
import { checkEquality } from './check.ts'

const USAGE = `Random histories and disturbances: the live read models equal a rebuild from the log, row by row.

  npm run equality -- [--cases 10000] [--seed N] [--lanes 4]   prints its seed
  npm run equality -- --seed N --path P                        repeats one printed failure
`

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '10000' },
    lanes: { type: 'string', default: '4' },
    seed: { type: 'string' },
    path: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) process.stdout.write(USAGE)
else await run()

async function run(): Promise<void> {
  const seed = values.seed === undefined ? randomInt(2 ** 30) : countOf(values.seed)
  process.stdout.write(`equality seed ${seed}\n`)
  const startedAt = performance.now()
  await setup()
  const database = await freshDatabase()
  try {
    const { failures, ...figures } = await checkEquality({
      databaseUrl: database.url,
      seed,
      cases: countOf(values.cases),
      lanes: countOf(values.lanes),
      ...(values.path === undefined ? {} : { path: values.path }),
      onCase: ({ cases }) => void (cases % 500 === 0 && process.stderr.write(`${cases}\n`)),
    })
    for (const failure of failures) process.stdout.write(`${failure}\n`)
    const kinds = Object.entries(figures.disturbances)
    // With fewer cases a kind may be missing by chance.
    const missing = figures.cases < 100 ? [] : kinds.filter(([, count]) => count === 0).map(([kind]) => kind)
    if (missing.length > 0) process.stdout.write(`these disturbances never happened: ${missing.join(', ')}\n`)
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    process.stdout.write(`${JSON.stringify({ seed, ...figures, failures: failures.length, seconds })}\n`)
    process.exitCode = failures.length === 0 && missing.length === 0 ? 0 : 1
  } finally {
    await database.drop()
    await teardown()
  }
}

function countOf(text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1) throw new Error(`not a positive whole number: ${text}`)
  return count
}
