import { binaryEvent } from '@eventstore/db-client'

/** A link event with the data `revision@stream`. */
export function link(target: string): ReturnType<typeof binaryEvent> {
  return binaryEvent({ type: '$>', data: Buffer.from(target) })
}
