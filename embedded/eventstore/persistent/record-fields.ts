import type { StoredEvent } from '../log/frame.ts'
import { recordOf } from '../wire/event-message.ts'
import { FieldReader } from '../wire/protobuf.ts'

const NO_BYTES = Buffer.alloc(0)

/** Stream name and user metadata of a stored event. */
export function recordFields(event: StoredEvent): { stream: string; metadata: Buffer } {
  const found: { stream: string; metadata: Buffer } = { stream: '', metadata: NO_BYTES }
  const fields = new FieldReader(recordOf(event.message, event.layout))
  while (fields.next()) {
    if (fields.field === 2) {
      const name = fields.nested()
      while (name.next()) if (name.field === 3) found.stream = name.text()
    } else if (fields.field === 7) found.metadata = fields.content()
  }
  return found
}
