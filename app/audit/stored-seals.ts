import { sealIn } from '../../contracts/audit/log-seals.ts'
import type { StoredBytes } from '../../engine/store/log-frames.ts'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import type { StoredSeal } from './seal-check.ts'

/** A seal as it is stored, whoever wrote it. */
export function sealOfStored(event: StoredBytes, isSigned: boolean): StoredSeal {
  const { id, stream, revision, position, type, dataBytes } = event
  return { id, stream, revision, position, isSigned, seal: sealIn(type, jsonOf(Buffer.from(dataBytes).toString())) }
}
