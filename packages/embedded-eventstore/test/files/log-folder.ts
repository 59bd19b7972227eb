import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeIndex } from '../../index/stream-index.ts'
import { append } from '../../streams/append.ts'
import { readForwards } from '../../streams/read-stream.ts'
import { readLogForwards } from '../../streams/read-all.ts'
import { openStore, type StreamStore } from '../../streams/stream-store.ts'

/** A folder of the node's files, used without the node's process. */
export class LogFolder {
  readonly path: string

  constructor(copyOf?: LogFolder) {
    this.path = mkdtempSync(join(tmpdir(), 'event-log-'))
    if (copyOf !== undefined) cpSync(copyOf.path, this.path, { recursive: true })
  }

  open(): StreamStore {
    return openStore(this.path, (error) => {
      throw error
    })
  }

  get segment(): string {
    const name = readdirSync(join(this.path, 'log')).find((file) => file.endsWith('.segment'))
    if (name === undefined) throw new Error('the folder holds no segment')
    return join(this.path, 'log', name)
  }

  get mark(): string {
    return join(this.path, 'log', 'acknowledged')
  }

  flip(file: string, offset: number, mask = 0x01): void {
    const bytes = readFileSync(file)
    bytes.writeUInt8(bytes.readUInt8(offset) ^ mask, offset)
    writeFileSync(file, bytes)
  }

  removeIndex(): void {
    removeIndex(this.path)
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** Appends events with the given data. Resolves when they are durable. */
export function appendTo(store: StreamStore, stream: string, texts: string[]): Promise<void> {
  const events = texts.map((text) => ({
    id: randomUUID(),
    type: 'Noted',
    contentType: 'application/json',
    data: Buffer.from(JSON.stringify({ text })),
    metadata: Buffer.alloc(0),
  }))
  return new Promise((resolve, reject) => {
    append(store, stream, 'any', events, (outcome) =>
      outcome.kind === 'success' ? resolve() : reject(new Error(outcome.kind)),
    )
  })
}

/** Stream, revision and stored bytes of every event in the log. */
export function everything(store: StreamStore): string[] {
  const lines: string[] = []
  for (const chunk of readLogForwards(store, 0)) {
    for (const { frame, event } of chunk)
      lines.push(`${frame.stream} ${event.revision} ${event.message.toString('base64')}`)
  }
  return lines
}

/** The same through the index, stream by stream. */
export function everythingByStream(store: StreamStore, streams: string[]): string[] {
  const lines: string[] = []
  for (const stream of streams) {
    for (const page of readForwards(store, stream, 0, Infinity)) {
      for (const event of page) lines.push(`${stream} ${event.revision} ${event.message.toString('base64')}`)
    }
  }
  return lines
}
