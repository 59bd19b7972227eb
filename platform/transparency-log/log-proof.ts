import { parseCheckpoint, parseNumber, type SignedCheckpoint } from './checkpoint.ts'
import { hashBytes, type Hash } from './merkle.ts'
import { formatNote, NoteError } from './signed-note.ts'
import { strictBase64 } from './strict-base64.ts'

/** A proof that a log contains an entry: C2SP tlog-proof. */
export interface LogProof {
  /** Undefined if the proof has no such line. */
  readonly extra: Buffer | undefined
  readonly index: number
  readonly hashes: readonly Hash[]
  readonly checkpoint: SignedCheckpoint
}

const version = 'c2sp.org/tlog-proof@v1'
/** A tree of 2^53 leaves has no longer proof. */
const mostHashes = 63

export function formatProof({ extra, index, hashes, checkpoint }: LogProof): string {
  return [
    version,
    ...(extra === undefined ? [] : [`extra ${extra.toString('base64')}`]),
    `index ${index}`,
    ...hashes.map((hash) => hash.toString('base64')),
    '',
    formatNote(checkpoint.note),
  ].join('\n')
}

/** Reads a proof and verifies nothing. @throws NoteError */
export function parseProof(text: string): LogProof {
  const end = text.indexOf('\n\n')
  const [first, ...lines] = text.slice(0, Math.max(end, 0)).split('\n')
  if (first !== version) throw new NoteError(`not a proof of ${version}`)
  const extra = lines[0]?.startsWith('extra ') === true ? lines.shift()?.slice('extra '.length) : undefined
  const index = lines.shift() ?? ''
  const bytes = extra === undefined ? undefined : strictBase64(extra)
  if (!index.startsWith('index ') || (extra !== undefined && bytes === undefined))
    throw new NoteError('a proof without an index')
  return {
    extra: bytes,
    index: parseNumber(index.slice('index '.length)),
    hashes: parseHashes(lines),
    checkpoint: parseCheckpoint(text.slice(end + 2)),
  }
}

/** Hashes in base64, one a line. @throws NoteError */
export function parseHashes(lines: readonly string[]): readonly Hash[] {
  const hashes = lines.map(strictBase64).filter((hash) => hash?.length === hashBytes)
  const known = hashes.filter((hash) => hash !== undefined)
  if (known.length !== lines.length || lines.length > mostHashes) throw new NoteError('not the hashes of a proof')
  return known
}
