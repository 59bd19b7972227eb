import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import { writeProbeEvents } from './events.ts'

/** One stream for each process that had to try. It keeps its newest event only. */
export const writeProbes = defineAggregate({
  category: 'write_probe',
  id: (processId: string) => processId,
  events: writeProbeEvents,
  initialState: null,
  evolve: () => null,
})
