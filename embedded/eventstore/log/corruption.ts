/** The log is not what was written: the data named in the message must not be served. */
export class CorruptLogError extends Error {
  constructor(what: string, position: number) {
    super(`event log is damaged at position ${position}: ${what}`)
    this.name = 'CorruptLogError'
  }
}
