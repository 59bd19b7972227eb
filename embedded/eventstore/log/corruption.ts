/** The log is not what was written: the data named in the message must not be served. */
export class CorruptLogError extends Error {
  constructor(what: string, position: number) {
    super(`event log is damaged at position ${position}: ${what}`)
    this.name = 'CorruptLogError'
  }
}

/** The index does not fit the log. Nothing is lost: deleted, it is built again from the log at the next start. */
export class CorruptIndexError extends Error {
  constructor(stream: string, what: string) {
    super(`event index is damaged at stream ${stream}: ${what}; stop the node, delete index.sqlite* and start it again`)
    this.name = 'CorruptIndexError'
  }
}
