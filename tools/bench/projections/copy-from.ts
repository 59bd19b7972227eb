import type { Readable } from 'node:stream'
import type { Connection, Submittable } from 'pg'

interface CopyConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** A `COPY … FROM STDIN` for `Client.query`, fed from a stream. */
export class CopyFrom implements Submittable {
  readonly #text: string
  readonly #source: Readable
  readonly #outcome = Promise.withResolvers<number>()
  #count = 0
  #failure: Error | undefined

  constructor(text: string, source: Readable) {
    this.#text = text
    this.#source = source
  }

  /** Number of rows that the server accepted. Rejects with the server's error. */
  get rows(): Promise<number> {
    return this.#outcome.promise
  }

  submit(connection: Connection): void {
    connection.query(this.#text)
  }

  handleCopyInResponse(connection: CopyConnection): void {
    const send = async (): Promise<void> => {
      for await (const chunk of this.#source) connection.sendCopyFromChunk(chunk)
      connection.endCopyFrom()
    }
    send().catch((error: unknown) => this.#outcome.reject(error))
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#count = Number(text.split(' ')[1])
  }

  handleError(error: Error): void {
    this.#failure = error
  }

  handleReadyForQuery(): void {
    if (this.#failure === undefined) this.#outcome.resolve(this.#count)
    else this.#outcome.reject(this.#failure)
  }
}
