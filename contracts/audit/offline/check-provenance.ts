import { hash } from 'node:crypto'
import {
  checkProof,
  type CheckedProof,
  type ProofRefusal,
  type TrustedKeys,
} from '../../../platform/transparency-log/check-proof.ts'
import { strictBase64 } from '../../../platform/transparency-log/strict-base64.ts'
import { isObject } from './canonical-json.ts'
import { provenanceOf, type ProvenanceDocument } from './provenance-document.ts'
import { textOf, type ProvenEvent } from './proven-events.ts'
import { documentRefusal, type SignatureRefusal } from './signed-document.ts'
import { differences } from './stated-facts.ts'

export interface ProvenanceFault {
  readonly kind:
    | SignatureRefusal
    | ProofRefusal
    | 'not-a-provenance'
    /** The proof is one of another event. */
    | 'another-event'
    /** The stored bytes are not those of the sealed event. */
    | 'changed-data'
    | 'repeated-event'
    /** An event in the middle of its stream was left out. */
    | 'missing-event'
    | 'wrong-text-hash'
    /** The document states something else than its events. */
    | 'changed-fact'
  /** The event of the fault. Null for the document as a whole. */
  readonly event_id: string | null
  readonly detail: string
}

export interface CheckedProvenance {
  readonly document: ProvenanceDocument | null
  readonly events: number
  /** The sealed log, its smallest size that proves an event, and its witnesses there. */
  readonly log: Pick<CheckedProof, 'origin' | 'size' | 'witnesses'> | null
  readonly faults: readonly ProvenanceFault[]
}

/** Streams whose facts depend on what is not in them. Their events are complete from the first one on. */
const wholeStreams = /^(?:ai_review|consent|humanreviewtask)-/

/**
 * Judges `{ document, jws, proofs }` without the platform: who signed the document, whether each event is in the sealed
 * log, and whether the document states what its events state. It finds every fault, not only the first one.
 */
export function checkProvenance(
  answer: unknown,
  keys: TrustedKeys & { readonly documents: unknown },
): CheckedProvenance {
  const faults: ProvenanceFault[] = []
  const found = (kind: ProvenanceFault['kind'], event_id: string | null, detail: string) =>
    void faults.push({ kind, event_id, detail })
  const proofs: unknown = isObject(answer) ? answer['proofs'] : undefined
  if (!isObject(answer) || !Array.isArray(proofs)) {
    found('not-a-provenance', null, 'the file has no document with proofs')
    return { document: null, events: 0, log: null, faults }
  }
  const refusal = documentRefusal('provenance', answer['document'], answer['jws'], keys.documents)
  if (refusal !== undefined) found(refusal, null, 'the signature of the document')

  const events = new Map<string, ProvenEvent>()
  let log: CheckedProof | null = null
  for (const proof of proofs) {
    const id = textOf(proof, 'event_id') ?? ''
    const checked = checkProof(textOf(proof, 'proof') ?? '', keys)
    if ('refusal' in checked) {
      found(checked.refusal, id, 'the proof of the event')
      continue
    }
    if (log === null || checked.size < log.size) log = checked
    const { entry } = checked
    if (entry.id !== id) found('another-event', id, `the proof is one of event ${entry.id}`)
    const bytes = strictBase64(textOf(proof, 'data') ?? '')
    const data = bytes === undefined ? undefined : parsed(bytes)
    if (bytes === undefined || hash('sha256', bytes) !== entry.data)
      found('changed-data', id, `the data of ${entry.type}, revision ${entry.revision} of ${entry.stream}`)
    if (events.has(entry.id)) found('repeated-event', id, `revision ${entry.revision} of ${entry.stream}`)
    else if (isObject(data)) events.set(entry.id, { ...entry, data })
  }
  const proven = [...events.values()]
  for (const gap of gaps(proven)) found('missing-event', null, gap)
  for (const id of wrongTexts(proven)) found('wrong-text-hash', id, 'the text of a consent has another hash')

  const document = provenanceOf(proven) ?? null
  if (document === null) found('missing-event', null, 'the events contain no request for a review')
  else
    for (const { path, ...other } of differences(answer['document'], document))
      found('changed-fact', eventAt(document, path), `${path} is ${other.stated}, and the events state ${other.proven}`)
  return { document, events: proven.length, log: log && logOf(log), faults }
}

function logOf({ origin, size, witnesses }: CheckedProof) {
  return { origin, size, witnesses }
}

/** Revisions that streams lack before their last event here. */
function* gaps(events: readonly ProvenEvent[]): Generator<string> {
  const streams = Map.groupBy(events, ({ stream }) => stream)
  for (const [stream, found] of streams) {
    const revisions = new Set(found.map(({ revision }) => revision))
    for (let revision = 0; wholeStreams.test(stream) && revision < revisions.size; revision += 1)
      if (!revisions.has(revision)) yield `revision ${revision} of ${stream}`
  }
}

/** Texts of consents that do not have the hash of their event, and decisions on a text with another one. */
function* wrongTexts(events: readonly ProvenEvent[]): Generator<string> {
  const hashes = new Map<string | null, string>()
  for (const { id, type, data } of events)
    if (type === 'ConsentTextVersionPublished') {
      const own = hash('sha256', textOf(data, 'text') ?? '')
      hashes.set(textOf(data, 'textVersionId'), own)
      if (own !== textOf(data, 'contentHash')) yield id
    }
  for (const { id, type, data } of events) {
    const ofText = hashes.get(textOf(data, 'textVersionId'))
    if (type === 'ConsentRecorded' && ofText !== undefined && ofText !== textOf(data, 'textSha256')) yield id
  }
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

/** The event that the nearest fact around a path names. */
function eventAt(document: unknown, path: string): string | null {
  let id: string | null = null
  let value = document
  for (const name of path.split('/').slice(1)) {
    id = textOf(value, 'event_id') ?? id
    value = Array.isArray(value) ? value[Number(name)] : isObject(value) ? value[name] : undefined
  }
  return textOf(value, 'event_id') ?? id
}
