import { DELETED_STREAM } from './revision.ts'

/** The part of a stream's metadata on which the node acts. */
export type StreamMetadata = {
  maxCount: number | undefined
  /** Milliseconds. */
  maxAge: number | undefined
  /** First readable revision. DELETED_STREAM after a soft delete. */
  truncateBefore: number | undefined
  acl: StreamAcl | undefined
}

/**
 * Roles for each right in metadata: read, write, delete, read metadata, write metadata. Undefined where the default
 * applies.
 */
type StreamAcl = { [Right in AclRight]: string[] | undefined }
export type AclRight = (typeof ACL_RIGHTS)[number]
const ACL_RIGHTS = ['$r', '$w', '$d', '$mr', '$mw'] as const

export const NO_METADATA: StreamMetadata = {
  maxCount: undefined,
  maxAge: undefined,
  truncateBefore: undefined,
  acl: undefined,
}

/** Metadata streams keep one event. */
export const METASTREAM_METADATA: StreamMetadata = { ...NO_METADATA, maxCount: 1 }

/** Type of the events in a metadata stream. */
export const METADATA_EVENT = '$metadata'

/** The metadata of a soft delete. It is text, as on the server, because 2^63 - 1 is not a JavaScript number. */
export const SOFT_DELETED_JSON = '{"$tb":9223372036854775807}'

const LARGEST_INT64 = 2n ** 63n - 1n
/** Longest .NET time span in whole seconds. A longer `$maxAge` or `$cacheControl` makes the metadata void. */
const LONGEST_SPAN = 922_337_203_685n

export function isMetastream(stream: string): boolean {
  return stream.startsWith('$$')
}

/** Streams that the server keeps in memory and writes itself. Events that a client writes there are never read. */
export function isHeldInMemory(stream: string): boolean {
  return stream.startsWith('$mem-')
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

/**
 * Parses the data of a metadata event as the server does. An unexpected value in a known member makes all of it void.
 */
export function parseStreamMetadata(json: Buffer): StreamMetadata {
  const values = parseObject(json.toString('utf8').replace(/^\uFEFF/, ''))
  if (values === undefined) return NO_METADATA
  const maxCount = integerOf(values, '$maxCount', LARGEST_INT64)
  const maxAge = integerOf(values, '$maxAge', LONGEST_SPAN)
  const cacheControl = integerOf(values, '$cacheControl', LONGEST_SPAN)
  const truncateBefore = integerOf(values, '$tb', LARGEST_INT64)
  const acl = Object.hasOwn(values, '$acl') ? parseAcl(values['$acl']) : undefined
  const isTemporaryVoid = Object.hasOwn(values, '$tmp') && typeof values['$tmp'] !== 'boolean'
  if (maxCount === 'invalid' || maxAge === 'invalid' || cacheControl === 'invalid' || truncateBefore === 'invalid')
    return NO_METADATA
  if (acl === 'invalid' || isTemporaryVoid) return NO_METADATA
  return {
    maxCount: maxCount !== undefined && maxCount > 0n ? revisionOf(maxCount) : undefined,
    maxAge: maxAge !== undefined && maxAge > 0n ? Number(maxAge) * 1000 : undefined,
    truncateBefore: truncateBefore !== undefined && truncateBefore >= 0n ? revisionOf(truncateBefore) : undefined,
    acl,
  }
}

/** The metadata with a new `$tb` and everything else unchanged. Undefined when it is not a JSON object. */
export function withTruncateBefore(json: Buffer, truncateBefore: number): Buffer | undefined {
  const values = parseObject(json.toString('utf8'))
  if (values === undefined) return undefined
  return Buffer.from(
    JSON.stringify({ ...values, $tb: truncateBefore }, (_key, value: unknown) =>
      typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value,
    ),
  )
}

/** First readable revision by count and truncation. Age is checked for each event. */
export function firstReadableRevision(metadata: StreamMetadata, head: number): number {
  const byCount = metadata.maxCount === undefined ? 0 : head - metadata.maxCount + 1
  return Math.max(0, byCount, metadata.truncateBefore ?? 0)
}

/** 2^63 - 1 marks a soft delete. Other values beyond the safe integers must not count as one. */
function revisionOf(value: bigint): number {
  if (value === LARGEST_INT64) return DELETED_STREAM
  return value >= BigInt(DELETED_STREAM) ? DELETED_STREAM - 1 : Number(value)
}

type JsonObject = Record<string, unknown>

declare global {
  interface JSON {
    /** Stands for a value in this very form, with all digits of a number. TypeScript does not know it yet. */
    rawJSON(text: string): object
  }
}

/** Integers are parsed as BigInt, whatever their size, because the server distinguishes 2 from 2.0. */
function parseObject(text: string): JsonObject | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(text, (_key, value: unknown, ...[context]: unknown[]) => {
      const source = typeof value === 'number' && isObject(context) ? context['source'] : undefined
      return typeof source === 'string' && /^-?\d+$/.test(source) ? BigInt(source) : value
    })
  } catch {
    return undefined
  }
  return isObject(parsed) && !Array.isArray(parsed) ? parsed : undefined
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null
}

function integerOf(values: JsonObject, key: string, limit: bigint): bigint | 'invalid' | undefined {
  if (!Object.hasOwn(values, key)) return undefined
  const value = values[key]
  if (typeof value !== 'bigint' || value > limit || value < -limit) return 'invalid'
  return value
}

/** Access lists of streams without their own: ordinary streams, and streams whose names begin with `$`. */
export type DefaultAcls = { user: StreamAcl | undefined; system: StreamAcl | undefined }

/** Parses an event of `$settings` as the server does. Any unexpected value makes all of it void. */
export function parseDefaultAcls(json: Buffer): DefaultAcls {
  const values = parseObject(json.toString('utf8').replace(/^\uFEFF/, '')) ?? {}
  const read = (key: string): StreamAcl | 'invalid' | undefined =>
    Object.hasOwn(values, key) ? parseAcl(values[key]) : undefined
  const user = read('$userStreamAcl')
  const system = read('$systemStreamAcl')
  return user === 'invalid' || system === 'invalid' ? { user: undefined, system: undefined } : { user, system }
}

/** An access list: one role or several for each right, and nothing else. */
function parseAcl(value: unknown): StreamAcl | 'invalid' {
  if (!isObject(value) || Array.isArray(value)) return 'invalid'
  const acl: StreamAcl = { $r: undefined, $w: undefined, $d: undefined, $mr: undefined, $mw: undefined }
  for (const [key, roles] of Object.entries(value)) {
    const right = ACL_RIGHTS.find((known) => known === key)
    const list = typeof roles === 'string' ? [roles] : roles
    if (right === undefined || !Array.isArray(list)) return 'invalid'
    const names = list.filter((role) => typeof role === 'string')
    if (names.length < list.length) return 'invalid'
    acl[right] = names
  }
  return acl
}
