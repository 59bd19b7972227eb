import { createHash } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from '../durable-file.ts'
import { ByteClient } from './byte-client.ts'
import { FORMAT, eventLine, type Footer, type Header } from './exported-line.ts'

export type ExportOptions = {
  url: string
  /** The file. It appears once it is complete. */
  out: string
  /** Includes the streams that a server keeps for itself: accounts, settings, statistics, persistent subscriptions. */
  withSystemStreams: boolean
}
export type ExportResult = { events: number; leftOut: number; bytes: number; sha256: string }

const WRITTEN_AT_ONCE = 1 << 20

/** Writes all events in a store's `$all` to a file. Rejects on an error of the store or the disk. */
export async function exportStore({ url, out, withSystemStreams }: ExportOptions): Promise<ExportResult> {
  const client = new ByteClient(url)
  const unfinished = `${out}.part`
  const file = await open(unfinished, 'w', 0o600)
  const hash = createHash('sha256')
  const result: ExportResult = { events: 0, leftOut: 0, bytes: 0, sha256: '' }
  let lines: string[] = []
  let held = 0
  const flush = async (): Promise<void> => {
    const bytes = Buffer.from(lines.join(''), 'utf8')
    lines = []
    held = 0
    hash.update(bytes)
    result.bytes += bytes.length
    await file.writeFile(bytes)
  }
  const add = async (line: string): Promise<void> => {
    lines.push(`${line}\n`)
    held += line.length
    if (held >= WRITTEN_AT_ONCE) await flush()
  }
  try {
    const header: Header = { format: FORMAT, exportedAt: new Date().toISOString(), withSystemStreams }
    await add(JSON.stringify(header))
    for await (const event of client.readAll()) {
      if (!withSystemStreams && isSystemStream(event.stream)) {
        result.leftOut += 1
        continue
      }
      result.events += 1
      await add(eventLine(event))
    }
    await flush()
    result.sha256 = hash.copy().digest('hex')
    const footer: Footer = { events: result.events, sha256: result.sha256 }
    lines.push(`${JSON.stringify(footer)}\n`)
    await flush()
    await file.sync()
    await rename(unfinished, out)
    await syncFolder(dirname(out))
    return result
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  } finally {
    await file.close()
    await client.dispose()
  }
}

/** A `$` stream, or the metadata of one. Metadata of other streams is always exported. */
export function isSystemStream(stream: string): boolean {
  return stream.replace(/^(\$\$)+(?=[^$])/, '').startsWith('$')
}
