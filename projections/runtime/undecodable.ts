import { UndecodableEventError, type EventHead } from '../../streams/store/errors.ts'
import { handlerOf } from './batch-writer.ts'
import type { Projector } from './projector.ts'

/**
 * Whether an event that cannot be read stops the projector. A type that nobody knows stops all, since it may be anybody's.
 * On a channel others publish too: what is not ours there is passed over.
 */
export function stopsAt(projector: Projector, head: EventHead, error: Error): boolean {
  const reason = reasonOfUndecodable(error)
  const isForeign = head.stream.endsWith('.events') && ['unknown-type', 'signature', 'malformed'].includes(reason)
  return !isForeign && (reason === 'unknown-type' || handlerOf(projector, head.type) !== undefined)
}

/** A code, without anything of the event. */
export function reasonOfUndecodable(error: Error): string {
  return error instanceof UndecodableEventError ? error.reason : error.name
}

/** The event, its place and the reason, without its data. */
export function reportOfUndecodable(error: Error): string {
  return error instanceof UndecodableEventError ? error.message : `cannot be read: ${error.name}`
}
