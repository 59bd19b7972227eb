import type { ImageEvent } from '../../streams/image/events.ts'
import type { ImageState } from '../../streams/image/aggregate.ts'
import { repeated, type Decision } from '../handling/decision.ts'

type Declared = Extract<ImageEvent, { type: 'ImageDeclared' }>['data']

export interface DeclareImage extends Omit<Declared, 'declaredAt' | 'closesAt'> {
  readonly now: Date
  /** How long the bytes may be uploaded and submitted. */
  readonly uploadWindowMs: number
}

export function declareImage(command: DeclareImage, state: ImageState): Decision<ImageEvent, 'idempotency-key-reused'> {
  if (state.status !== 'absent') return repeated(command, state)
  const { now, uploadWindowMs, ...declared } = command
  const closesAt = new Date(now.getTime() + uploadWindowMs).toISOString()
  return [{ type: 'ImageDeclared', data: { ...declared, declaredAt: now.toISOString(), closesAt } }]
}
