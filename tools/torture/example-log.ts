import type { Fact } from './facts.ts'

export type ExampleEvent = readonly [
  stream: string,
  type: string,
  data?: Readonly<Record<string, unknown>>,
  metadata?: Readonly<Record<string, unknown>>,
]

const org = '0190b0a0-0000-7000-8000-0000000000aa'

/** A log for tests. Revisions, positions and ids derive from the order. The nth event is `event-n`. */
export function exampleLog(...events: readonly ExampleEvent[]): Fact[] {
  const next = new Map<string, bigint>()
  return events.map(([stream, type, data = {}, metadata = {}], index) => {
    const revision = next.get(stream) ?? 0n
    next.set(stream, revision + 1n)
    return { id: `event-${index}`, stream, revision, position: `${index * 10}/${index * 10}`, type, data, metadata }
  })
}

/** A stream name of the organisation in such a log. */
export function streamOf(category: string, id: string): string {
  return `${category}-${org}-${id}`
}
