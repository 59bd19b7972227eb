import type { Projector } from '../projections/projector.ts'
import type { ConcurrencyLimits, Process } from './process.ts'
import type { BoundStep } from './step-run.ts'

/** A process with what its steps need, so that processes of different needs share the workers. */
export interface BoundProcess {
  readonly name: string
  readonly list: Pick<Projector, 'name' | 'version'>
  readonly steps: ReadonlyMap<string, BoundStep>
  readonly concurrency?: ConcurrencyLimits | undefined
}

export function bindProcess<Deps>(process: Process<Deps>, deps: Deps): BoundProcess {
  const steps = Object.entries(process.steps).map(([name, step]): [string, BoundStep] => [
    name,
    (todo, context) => step(todo, deps, context),
  ])
  return { name: process.name, list: process.list, steps: new Map(steps), concurrency: process.concurrency?.(deps) }
}
