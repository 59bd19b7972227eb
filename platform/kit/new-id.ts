import { v7 } from 'uuid'
import { randomPart } from './random-bytes.ts'

/** A new UUID v7. Ids of one millisecond are in no order. For ids that each answer needs: it draws no bytes of its own. */
export function newId(): string {
  return v7({ random: randomPart(16) })
}
