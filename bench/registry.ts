import type { Benchmark } from './harness/benchmark.ts'
import { commandsOnNewStreams } from './commands/new-streams.ts'
import { eventStoreNode } from './node/node-benchmarks.ts'

/** Every benchmark, in the order of a run of all. */
export const benchmarks: readonly Benchmark[] = [eventStoreNode, commandsOnNewStreams]
