import type { Fact } from './facts.ts'

export type Told = readonly [
  stream: string,
  type: string,
  data?: Readonly<Record<string, unknown>>,
  metadata?: Readonly<Record<string, unknown>>,
]

const org = '0190b0a0-0000-7000-8000-0000000000aa'

/** A log as a test tells it: revisions, positions and ids follow from the order; the nth event is `event-n`. */
export function toldLog(...events: readonly Told[]): Fact[] {
  const next = new Map<string, bigint>()
  return events.map(([stream, type, data = {}, metadata = {}], index) => {
    const revision = next.get(stream) ?? 0n
    next.set(stream, revision + 1n)
    return { id: `event-${index}`, stream, revision, position: `${index * 10}/${index * 10}`, type, data, metadata }
  })
}

/** The name of a stream of the organisation of told logs. */
export function streamOf(category: string, id: string): string {
  return `${category}-${org}-${id}`
}
