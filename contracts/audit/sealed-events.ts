import { logSeals } from '../../streams/log-seals/aggregate.ts'

/** Whether the events of a stream are entries of the sealed log. The seals are not: each would need another one. */
export function isSealedStream(stream: string): boolean {
  return !stream.startsWith('$') && stream !== logSeals.category
}
