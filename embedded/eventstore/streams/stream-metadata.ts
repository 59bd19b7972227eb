import { DELETED_STREAM } from './revision.ts'

/** What of a stream's metadata the node acts on. */
export type StreamMetadata = {
  maxCount: number | undefined
  /** Milliseconds. */
  maxAge: number | undefined
  /** First revision still to be read; DELETED_STREAM after a soft delete. */
  truncateBefore: number | undefined
}

export const NO_METADATA: StreamMetadata = { maxCount: undefined, maxAge: undefined, truncateBefore: undefined }

/** Metadata streams keep one event. */
export const METASTREAM_METADATA: StreamMetadata = { maxCount: 1, maxAge: undefined, truncateBefore: undefined }

/** Type of the events in a metadata stream. */
export const METADATA_EVENT = '$metadata'

/** What a soft delete writes: the text the server writes, since 2^63 - 1 is no JavaScript number. */
export const SOFT_DELETED_JSON = '{"$tb":9223372036854775807}'

export function isMetastream(stream: string): boolean {
  return stream.startsWith('$$')
}

export function metastreamOf(stream: string): string {
  return `$$${stream}`
}

export function originalStreamOf(metastream: string): string {
  return metastream.slice(2)
}

export function isSoftDeleted(metadata: StreamMetadata): boolean {
  return metadata.truncateBefore === DELETED_STREAM
}

/** Parses a metadata event's data as the server does: anything unexpected makes all of it void. */
export function parseStreamMetadata(json: Buffer): StreamMetadata {
  const values = parseObject(json.toString('utf8'))
  if (values === undefined) return NO_METADATA
  const maxCount = integerOf(values, '$maxCount')
  const maxAge = integerOf(values, '$maxAge')
  const truncateBefore = integerOf(values, '$tb')
  if (maxCount === 'invalid' || maxAge === 'invalid' || truncateBefore === 'invalid') return NO_METADATA
  return {
    maxCount: maxCount !== undefined && maxCount > 0 ? maxCount : undefined,
    maxAge: maxAge !== undefined && maxAge > 0 ? maxAge * 1000 : undefined,
    truncateBefore: truncateBefore !== undefined && truncateBefore >= 0 ? truncateBefore : undefined,
  }
}

/** The metadata with another `$tb`, everything else kept; undefined when it is no JSON object. */
export function withTruncateBefore(json: Buffer, truncateBefore: number): Buffer | undefined {
  const values = parseObject(json.toString('utf8'))
  return values === undefined ? undefined : Buffer.from(JSON.stringify({ ...values, $tb: truncateBefore }))
}

/** First revision that may still be read by count and truncation; age is checked per event. */
export function firstReadableRevision(metadata: StreamMetadata, head: number): number {
  const byCount = metadata.maxCount === undefined ? 0 : head - metadata.maxCount + 1
  return Math.max(0, byCount, metadata.truncateBefore ?? 0)
}

type JsonObject = Record<string, unknown>

function parseObject(text: string): JsonObject | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return undefined
  }
  return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? { ...parsed } : undefined
}

/** 2^63 - 1, the mark of a soft delete, is read as the double 2^63. */
function integerOf(values: JsonObject, key: string): number | 'invalid' | undefined {
  if (!Object.hasOwn(values, key)) return undefined
  const value = values[key]
  if (typeof value !== 'number' || !Number.isInteger(value) || Math.abs(value) > 2 ** 63) return 'invalid'
  return value === 2 ** 63 ? DELETED_STREAM : value
}
