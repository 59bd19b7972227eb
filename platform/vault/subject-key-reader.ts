import type { StoredSecret, VaultRows } from './vault-rows.ts'

interface Waiting {
  readonly promise: Promise<StoredSecret | undefined>
  readonly resolve: (secret: StoredSecret | undefined) => void
  readonly reject: (error: unknown) => void
}

/** Reads all keys requested in one turn of the event loop with one query. A batch of events needs hundreds at once. */
export class SubjectKeyReader {
  readonly #rows: VaultRows
  #waiting = new Map<string, Waiting>()

  constructor(rows: VaultRows) {
    this.#rows = rows
  }

  /** Undefined if there is no row. */
  read(id: string): Promise<StoredSecret | undefined> {
    const present = this.#waiting.get(id)
    if (present !== undefined) return present.promise
    if (this.#waiting.size === 0) setImmediate(() => void this.#flush())
    const waiting: Waiting = Promise.withResolvers<StoredSecret | undefined>()
    this.#waiting.set(id, waiting)
    return waiting.promise
  }

  async #flush(): Promise<void> {
    const asked = this.#waiting
    this.#waiting = new Map()
    try {
      const found = await this.#rows.readMany('subject', [...asked.keys()])
      for (const [id, { resolve }] of asked) resolve(found.get(id))
    } catch (error) {
      for (const { reject } of asked.values()) reject(error)
    }
  }
}
