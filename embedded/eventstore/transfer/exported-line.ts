/*
 * An export is a file of JSON lines: what it is, an event per line in the order of `$all`, and at its end how many there were and
 * the SHA-256 of all lines before, so that a file that was cut off or changed is told from a whole one.
 *
 * Bytes that are UTF-8 stand there as text, others as Base64 under a name of their own.
 */

export const FORMAT = 'eventstore-export/1'

/** An event with all that a store can be given again; positions and creation times are the store's own. */
export type TransferredEvent = {
  stream: string
  /** 2^63 - 1 for a tombstone. */
  revision: bigint
  id: string
  type: string
  isJson: boolean
  data: Uint8Array
  metadata: Uint8Array
  /** When the exported store took it in, for who reads the file. */
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
  // These two end a line for some readers.
  return JSON.stringify(fields).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}

/** Takes a line apart. Throws on what no export writes. */
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
