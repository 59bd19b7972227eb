import { eventData } from '../log/frame.ts'
import { readEvent } from '../streams/read-stream.ts'
import { parseDefaultAcls, type DefaultAcls } from '../streams/stream-metadata.ts'
import type { StreamStore } from '../streams/stream-store.ts'

const SETTINGS = '$settings'

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
