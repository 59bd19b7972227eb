import { v5 } from 'uuid'
import type { RawEvent } from '../store/codec.ts'
import { eventIdOf, type RecordedEvent } from '../store/events.ts'
import { formatPosition } from '../../platform/kit/positions.ts'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import type { Channel, ChannelOutput } from './channel.ts'

/** Name space of channel names. Never change it: the ids of all published events follow from it. */
const channels = '3b5f2f0e-5d0c-5c8e-9f5e-2a6d7c1b4e90'

/** Id of the nth public event (from 0) that a source event becomes on a channel: the same on every try and instance. */
export function publicEventId(channel: string, sourceEventId: string, index: number): string {
  return eventIdOf(publicationId(channel, sourceEventId), index)
}

/** The append of the outputs of one source event. The metadata contains the place of the source event. */
export function publicEvents<Deps>(
  channel: Channel<Deps>,
  source: RecordedEvent,
  outputs: readonly ChannelOutput[],
): RawEvent[] {
  const { $correlationId, traceparent } = source.metadata
  const member = channel.organisationMember
  const owner = member === null ? undefined : (source.metadata.orgId ?? organisationOf(source.stream))
  const orgId = owner === noOrganisation ? undefined : owner
  return outputs.map((output, index) => {
    const id = publicEventId(channel.stream, source.id, index)
    return {
      id,
      type: output.type,
      data: {
        ...(orgId === undefined || member === null ? {} : { [member]: orgId }),
        ...output.data,
        event_id: id,
        event_type: output.type,
        occurred_at: output.occurredAt,
        schema_version: output.schemaVersion,
        causation_id: source.id,
        correlation_id: $correlationId,
        hop: output.hop ?? 0,
      },
      metadata: {
        commandId: publicationId(channel.stream, source.id),
        $correlationId,
        $causationId: source.id,
        ...(orgId === undefined ? {} : { orgId }),
        ...(traceparent === undefined ? {} : { traceparent }),
        source: formatPosition(source.position),
      },
    }
  })
}

/** The organisation that owns a stream (`<category>-<orgId>`, `<category>-<orgId>-<id>`), if one does. */
function organisationOf(stream: string): string | undefined {
  return /^[^-]+-([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?:-|$)/.exec(stream)?.[1]
}

function publicationId(channel: string, sourceEventId: string): string {
  return v5(sourceEventId, v5(channel, channels))
}
