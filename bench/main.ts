import { parseArgs } from 'node:util'
import { compare, type Outcome } from './harness/compare.ts'
import { table, writeReport } from './harness/report.ts'
import { withNodeBenchmarks } from './node/node-benchmarks.ts'

const FULL = { events: 1_000_000, reading: 100_000, appends: 20_000 }
const QUICK = { events: 100_000, reading: 10_000, appends: 2_000 }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, events: { type: 'string' }, rounds: { type: 'string', default: '5' }, json: { type: 'string' } },
})
const rounds = Number(values.rounds)
const sizes = values.quick ? QUICK : FULL
const events = Number(values.events ?? sizes.events)
if (positionals.join() !== 'node' || !(rounds >= 1) || !(events >= 10 * sizes.reading)) {
  console.error(`usage: npm run bench -- node [--quick] [--events N, from ${10 * sizes.reading} on] [--rounds N] [--json FILE]`)
  process.exit(2)
}

const realUrl = process.env['ESDB_URL'] === '' ? undefined : process.env['ESDB_URL']
const settings = { ...sizes, events, rounds }
const outcomes: Outcome[] = []
await withNodeBenchmarks({ ...settings, realUrl }, async (comparison) => {
  const outcome = await compare(comparison, rounds)
  outcomes.push(outcome)
  console.error(`${outcome.name}, over ${outcome.other.name}: ${outcome.ratio.toFixed(2)}`)
})
console.log(table(outcomes))
if (values.json !== undefined) writeReport(values.json, outcomes, settings)
