import { keepCompiled } from '../../platform/kit/compile-cache.ts'
import { sampleOf } from '../sample.ts'
import { chosenBenchmarks, settingsOf, usage } from './harness/command-line.ts'
import { table, writeReport } from './harness/report.ts'
import { runBenchmarks } from './harness/run.ts'
import { benchmarks } from './registry.ts'

const asked = settingsOf(process.argv.slice(2), process.env['ESDB_URL'])
const chosen = asked === undefined ? undefined : chosenBenchmarks(benchmarks, asked.names)
if (asked === undefined || chosen === undefined) {
  console.error(usage(benchmarks))
  process.exit(2)
}
if (asked.list) {
  for (const { name, goals, about } of benchmarks)
    console.log(`${name.padEnd(20)} ${goals.join(', ').padEnd(12)} ${about}`)
  process.exit(0)
}

// Every benchmark starts processes with the same sources.
keepCompiled()

// An interrupt ends the run, and an exit handler ends everything that the run started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

const some = asked.sample === undefined ? chosen : sampleOf(chosen, asked.sample)
const { rows, isBroken } = await runBenchmarks(some, asked.settings, (line) => console.error(line))
console.log(table(rows))
if (asked.json !== undefined) writeReport(asked.json, rows, asked.settings)
process.exit(isBroken ? 1 : 0)
