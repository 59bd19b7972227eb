/** Where backups are: files by name. Names have slashes between folders. */
export interface BackupPlace {
  /** For messages. */
  readonly address: string
  /** Stores a whole file or nothing. It is durable after `flush`. */
  put(name: string, bytes: Uint8Array): Promise<void>
  flush(): Promise<void>
  /** A file that it finds is durable after `flush`, whoever stored it. */
  has(name: string): Promise<boolean>
  /** Undefined if there is no such file. */
  get(name: string): Promise<Buffer | undefined>
  /** Files below a folder, in any order. */
  list(folder: string): AsyncIterable<PlacedFile>
  /** Does nothing if there is no such file. The removal is durable after `flush`. */
  remove(name: string): Promise<void>
  /** Removes what writers that were killed left of files before the instant. */
  removeUnfinished(before: Date): Promise<void>
  close(): void
}

export interface PlacedFile {
  readonly name: string
  readonly modifiedAt: Date
}
