import { isForeign, UndecodableEventError, type EventHead } from '../store/errors.ts'
import { handlerOf } from './batch-writer.ts'
import type { Projector } from './projector.ts'

/**
 * Whether an event that cannot be decoded stops the projector. An unknown type stops all projectors, because any of
 * them may need it. Public channels are an exception: other programs may publish there, so the projectors skip events
 * that the platform did not publish.
 */
export function stopsAt(projector: Projector, head: EventHead, error: Error): boolean {
  if (head.stream.endsWith('.events') && error instanceof UndecodableEventError && isForeign(error)) return false
  return reasonOfUndecodable(error) === 'unknown-type' || handlerOf(projector, head.type) !== undefined
}

/** A code without content of the event. */
export function reasonOfUndecodable(error: Error): string {
  return error instanceof UndecodableEventError ? error.reason : error.name
}

/** The event, its place and the reason, without its data. */
export function reportOfUndecodable(error: Error): string {
  return error instanceof UndecodableEventError ? error.message : `cannot be read: ${error.name}`
}
