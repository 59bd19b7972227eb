import { randomUUID } from 'node:crypto'
import { eventData } from '../log/frame.ts'
import { append } from '../streams/append.ts'
import { readEvent } from '../streams/read-stream.ts'
import { parseDefaultAcls, type DefaultAcls } from '../streams/stream-metadata.ts'
import type { StreamStore } from '../streams/stream-store.ts'

const SETTINGS = '$settings'
const JSON_CONTENT = 'application/json'

/** The access lists of streams without a list of their own, from the last event of `$settings`. */
export class DefaultAcl {
  private readonly store: StreamStore
  private acls: DefaultAcls

  constructor(store: StreamStore) {
    this.store = store
    this.acls = this.read()
    store.onStream(SETTINGS, () => (this.acls = this.read()))
  }

  /**
   * One list for ordinary streams, one for streams whose names begin with `$`. Undefined where `$settings` has no list.
   */
  get current(): DefaultAcls {
    return this.acls
  }

  private read(): DefaultAcls {
    const last = readEvent(this.store, SETTINGS, -1)
    return last === undefined ? { user: undefined, system: undefined } : parseDefaultAcls(eventData(last))
  }
}

/** Whether the JSON contains both lists. With an invalid one, the rights are those of a store without `$settings`. */
export function hasBothAcls(json: string): boolean {
  const { user, system } = parseDefaultAcls(Buffer.from(json))
  return user !== undefined && system !== undefined
}

/**
 * Appends the JSON to `$settings`, unless its last event contains the same. Resolves when it is durable. Rejects when the
 * stream is deleted for ever or the disk is full, because other rights would apply.
 */
export async function keepSettings(store: StreamStore, json: string): Promise<void> {
  const data = Buffer.from(json)
  const last = readEvent(store, SETTINGS, -1)
  if (last !== undefined && eventData(last).equals(data)) return
  const event = { id: randomUUID(), type: SETTINGS, contentType: JSON_CONTENT, data, metadata: Buffer.alloc(0) }
  await new Promise<void>((resolve, reject) => {
    append(store, SETTINGS, 'any', [event], ({ kind }) => {
      if (kind === 'success') resolve()
      else reject(new Error(`the stream ${SETTINGS} cannot be written (${kind})`))
    })
  })
}
