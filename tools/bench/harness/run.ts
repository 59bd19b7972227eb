import type { Benchmark, BenchSettings, Measuring } from './benchmark.ts'
import { compare, isFarOff, type Comparison, type Outcome } from './compare.ts'
import type { Row } from './report.ts'

/** The quick form reports a fault only after this many far-off measurements in a row. */
const quickAttempts = 3

/**
 * Runs benchmarks one after the other. A failed benchmark becomes a row, and the others continue. `isBroken` is true
 * when one failed. In the quick form it is also true when a ratio stayed far off its goal.
 */
export async function runBenchmarks(
  benchmarks: readonly Benchmark[],
  settings: BenchSettings,
  print: (line: string) => void,
): Promise<{ readonly rows: readonly Row[]; readonly isBroken: boolean }> {
  const rows: Row[] = []
  let isBroken = false
  for (const { name, goals, run } of benchmarks) {
    const started = performance.now()
    print(`${name} …`)
    const measuring: Measuring = {
      compare: async (comparison) => {
        const outcomes = await measured(comparison, settings, print)
        if (settings.quick && outcomes.some(isFarOff)) isBroken = true
        rows.push(...outcomes)
      },
      notRun: ({ goal, name, why }) => {
        print(`  ${name}: not run, ${why}`)
        rows.push({ goalNumber: goal, name, verdict: 'not run', why })
      },
    }
    try {
      await run(settings, measuring)
    } catch (error) {
      isBroken = true
      const why = error instanceof Error ? error.message : String(error)
      print(`  ${name} failed: ${error instanceof Error ? (error.stack ?? why) : why}`)
      rows.push({ goalNumber: goals.join(', '), name, verdict: 'failed', why: why.split('\n')[0] ?? '' })
    }
    print(`  ${((performance.now() - started) / 1000).toFixed(0)} s`)
  }
  return { rows, isBroken }
}

async function measured(
  comparison: Comparison,
  { quick, rounds }: BenchSettings,
  print: (line: string) => void,
): Promise<readonly Outcome[]> {
  for (let attempt = 1; ; attempt += 1) {
    const outcomes = await compare(comparison, rounds)
    for (const { name, ours, other, ratio, spread, verdict } of outcomes) {
      const width = Number.isNaN(spread) ? '' : ` (± ${(spread * 50).toFixed(0)} %)`
      print(`  ${name}: ${ours.name} over ${other.name} ${ratio.toPrecision(3)}${width}, ${verdict}`)
    }
    if (!quick || attempt === quickAttempts || !outcomes.some(isFarOff)) return outcomes
  }
}
