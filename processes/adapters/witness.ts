import type { WitnessAddress } from '../../platform/configuration/witness-addresses.ts'
import type { Egress } from '../../platform/outbound/egress.ts'
import { parseCheckpoint, parseNumber, type SignedCheckpoint } from '../../platform/transparency-log/checkpoint.ts'
import { timeOfCosignature } from '../../platform/transparency-log/cosignature.ts'
import type { Hash } from '../../platform/transparency-log/merkle.ts'
import {
  formatNote,
  NoteError,
  parseSignatureLine,
  parseVkey,
  type NoteSignature,
  type VerifierKey,
} from '../../platform/transparency-log/signed-note.ts'
import { createHash } from 'node:crypto'

/** How a witness answered a checkpoint. */
export type WitnessAnswer =
  | { readonly kind: 'signed'; readonly signature: NoteSignature }
  /** It has signed a larger tree of this log than we have. */
  | { readonly kind: 'ahead'; readonly size: number }
  | { readonly kind: 'unusable'; readonly reason: string }

const timeoutMs = 5_000
const maxBytes = 100_000

/** The client's half of C2SP tlog-witness, for one witness. Nothing that it answers is trusted without a signature. */
export class Witness {
  readonly key: VerifierKey
  readonly #egress: Egress
  readonly #address: string
  /** Size of the last tree that it signed for us. It answers the true one if this one is wrong. */
  #known = 0

  constructor(egress: Egress, { address, vkey }: WitnessAddress) {
    this.#egress = egress
    this.#address = address
    this.key = parseVkey(vkey)
  }

  /** Asks for a signature. `proofFrom` makes the consistency proof from a smaller tree. Never rejects for its answers. */
  async sign(
    checkpoint: SignedCheckpoint,
    proofFrom: (size: number) => Promise<readonly Hash[]>,
    signal: AbortSignal,
  ): Promise<WitnessAnswer> {
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const proof = (await proofFrom(this.#known)).map((hash) => `${hash.toString('base64')}\n`)
      const body = `old ${this.#known}\n${proof.join('')}\n${formatNote(checkpoint.note)}`
      const answer = await this.#send('POST', '/add-checkpoint', body, signal)
      if (typeof answer === 'string') return { kind: 'unusable', reason: answer }
      if (answer.status === 409 && attempt === 1) {
        const size = sizeOf(answer.text)
        if (size === undefined) return { kind: 'unusable', reason: 'answers 409 without a size' }
        if (size > checkpoint.size) return { kind: 'ahead', size }
        this.#known = size
        continue
      }
      if (answer.status !== 200) return { kind: 'unusable', reason: `answers ${answer.status}` }
      const signature = this.#signatureIn(answer.text, checkpoint)
      if (signature === undefined) return { kind: 'unusable', reason: 'answers without a valid signature of its key' }
      this.#known = checkpoint.size
      return { kind: 'signed', signature }
    }
    return { kind: 'unusable', reason: 'answers 409 again' }
  }

  /** The newest checkpoint of a log that it signed, unverified. Undefined if it has none, or does not answer. */
  async newest(origin: string, signal: AbortSignal): Promise<SignedCheckpoint | undefined> {
    const hash = createHash('sha256').update(origin).digest('hex')
    const answer = await this.#send('GET', `/${hash}/checkpoint`, null, signal)
    if (typeof answer === 'string' || answer.status !== 200) return undefined
    try {
      return parseCheckpoint(answer.text)
    } catch (error) {
      if (error instanceof NoteError) return undefined
      throw error
    }
  }

  #signatureIn(text: string, checkpoint: SignedCheckpoint): NoteSignature | undefined {
    for (const line of text.split('\n').slice(0, -1)) {
      try {
        const signature = parseSignatureLine(line)
        if (signature.name !== this.key.name || signature.id !== this.key.id) continue
        return timeOfCosignature(checkpoint, this.key, signature) === undefined ? undefined : signature
      } catch (error) {
        if (!(error instanceof NoteError)) throw error
      }
    }
    return undefined
  }

  async #send(
    method: 'GET' | 'POST',
    path: string,
    body: string | null,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly text: string } | string> {
    try {
      const headers = body === null ? {} : { 'content-type': 'text/plain; charset=utf-8' }
      const request = { purpose: 'witness', method, headers, body, timeoutMs, maxBytes, signal } as const
      const response = await this.#egress.request(this.#address + path, request)
      return { status: response.status, text: await response.text() }
    } catch (error) {
      return `does not answer (${error instanceof Error && 'code' in error ? String(error.code) : 'error'})`
    }
  }
}

function sizeOf(text: string): number | undefined {
  try {
    return parseNumber(text.replace(/\n$/, ''))
  } catch {
    return undefined
  }
}
