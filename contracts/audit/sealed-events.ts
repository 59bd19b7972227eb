import { categoryOf } from '../../engine/store/catalogue.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { channelStreams } from '../../streams/channels/channel-streams.ts'
import { logSeals } from '../../streams/log-seals/aggregate.ts'
import { writeProbes } from '../../streams/write-probe/aggregate.ts'

/** Whether the events of a stream are entries of the sealed log. The seals are not: each would need another one. */
export function isSealedStream(stream: string): boolean {
  return !stream.startsWith('$') && stream !== logSeals.category
}

/** Streams from which the event store may drop old events: by an age, by a number, or by an operator. */
export function mayLoseEvents(stream: string, foreignChannels: readonly string[]): boolean {
  return (
    stream.startsWith('access_log-') ||
    stream.startsWith(`${writeProbes.category}-`) ||
    channelNames.has(stream) ||
    foreignChannels.includes(stream)
  )
}

const channelNames: ReadonlySet<string> = new Set(channelStreams.map(({ name }) => name))

/** Whether only this installation writes to a stream. Its events then need a signature. */
export function isOwnStream(stream: string): boolean {
  return ownCategories.has(categoryOf(stream))
}

const ownCategories: ReadonlySet<string> = new Set(catalogue.categories)
