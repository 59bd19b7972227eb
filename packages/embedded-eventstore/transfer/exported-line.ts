/*
 * An export is a file of JSON lines. The first line is the header; one line per event follows, in the order of `$all`.
 * The last line contains the number of events and the SHA-256 of all lines before it. It detects a cut or changed file.
 *
 * Bytes that are valid UTF-8 are stored as text, others as Base64 under another name.
 */

export const FORMAT = 'eventstore-export/1'

/** The parts of an event that a store accepts again. Each store assigns its own positions and creation times. */
export type TransferredEvent = {
  stream: string
  /** 2^63 - 1 for a tombstone. */
  revision: bigint
  id: string
  type: string
  isJson: boolean
  data: Uint8Array
  metadata: Uint8Array
  /** Creation time in the exported store, for readers of the file. */
  created: string
}

export type Header = { format: string; exportedAt: string; withSystemStreams: boolean }
export type Footer = { events: number; sha256: string }

export function eventLine({ stream, revision, id, type, isJson, data, metadata, created }: TransferredEvent): string {
  const fields = {
    stream,
    revision: String(revision),
    id,
    type,
    isJson,
    created,
    ...named('data', data),
    ...named('metadata', metadata),
  }
  // Some programs take these two characters as the end of a line.
  return JSON.stringify(fields).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}

/** Parses a line. Throws on a line that no export contains. */
export function parseLine(line: string): { header: Header } | { event: TransferredEvent } | { footer: Footer } {
  const values: unknown = JSON.parse(line)
  if (typeof values !== 'object' || values === null) throw new Error(`not a line of an export: ${line.slice(0, 80)}`)
  const fields = new Map<string, unknown>(Object.entries(values))
  if (fields.has('format'))
    return {
      header: {
        format: textIn(fields, 'format'),
        exportedAt: textIn(fields, 'exportedAt'),
        withSystemStreams: fields.get('withSystemStreams') === true,
      },
    }
  if (fields.has('sha256'))
    return { footer: { events: Number(fields.get('events')), sha256: textIn(fields, 'sha256') } }
  return {
    event: {
      stream: textIn(fields, 'stream'),
      revision: BigInt(textIn(fields, 'revision')),
      id: textIn(fields, 'id'),
      type: textIn(fields, 'type'),
      isJson: fields.get('isJson') === true,
      created: textIn(fields, 'created'),
      data: bytesIn(fields, 'data'),
      metadata: bytesIn(fields, 'metadata'),
    },
  }
}

function named(name: string, bytes: Uint8Array): Record<string, string> {
  const buffer = Buffer.from(bytes)
  const text = buffer.toString('utf8')
  return Buffer.from(text, 'utf8').equals(buffer) ? { [name]: text } : { [`${name}Base64`]: buffer.toString('base64') }
}

function bytesIn(fields: Map<string, unknown>, name: string): Uint8Array {
  return fields.has(name)
    ? Buffer.from(textIn(fields, name), 'utf8')
    : Buffer.from(textIn(fields, `${name}Base64`), 'base64')
}

function textIn(fields: Map<string, unknown>, name: string): string {
  const value = fields.get(name)
  if (typeof value !== 'string') throw new Error(`a line of the export has no ${name}`)
  return value
}
