import { parseArgs } from 'node:util'
import type { Benchmark, BenchSettings } from './benchmark.ts'

export interface Asked {
  readonly names: readonly string[]
  readonly list: boolean
  readonly json: string | undefined
  /** How many of the benchmarks run, chosen at random. Undefined: each. */
  readonly sample: number | undefined
  readonly settings: BenchSettings
}

const options = {
  quick: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  events: { type: 'string' },
  rounds: { type: 'string' },
  json: { type: 'string' },
  sample: { type: 'string' },
} as const

/** The requests of the command line. Undefined when it is invalid. */
export function settingsOf(args: readonly string[], realUrl: string | undefined): Asked | undefined {
  const parsed = parsedOf(args)
  if (parsed === undefined) return undefined
  const { values, positionals } = parsed
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 5))
  const events = values.events === undefined ? undefined : Number(values.events)
  const sample = values.sample === undefined ? undefined : Number(values.sample)
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1
  if (![rounds, events, sample].every((value) => value === undefined || isCount(value))) return undefined
  const settings = { quick: values.quick, rounds, events, realUrl: realUrl === '' ? undefined : realUrl }
  return { names: positionals, list: values.list, json: values.json, sample, settings }
}

/** The named benchmarks, or all without a name. Undefined for an unknown name. */
export function chosenBenchmarks(
  benchmarks: readonly Benchmark[],
  names: readonly string[],
): readonly Benchmark[] | undefined {
  if (names.length === 0) return benchmarks
  if (names.some((name) => !benchmarks.some((each) => each.name === name))) return undefined
  return benchmarks.filter(({ name }) => names.includes(name))
}

export function usage(benchmarks: readonly Benchmark[]): string {
  const names = benchmarks.map(({ name }) => name).join(' | ')
  return `usage: npm run bench -- [${names}]… [--quick] [--sample N] [--rounds N] [--events N] [--json FILE] [--list]`
}

function parsedOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch {
    return undefined
  }
}
