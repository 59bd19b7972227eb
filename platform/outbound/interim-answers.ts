import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { EgressError } from './egress-error.ts'

/** Most interim answers to one request. */
const mostInterim = 20
/** Most bytes of one of them. */
const mostBytes = 16_384

const endOfHead = '\r\n\r\n'
const none = Buffer.alloc(0)

const readers = new WeakMap<object, InterimAnswers>()

// undici publishes here that it writes a request, with its socket. So the next bytes begin an answer.
subscribe('undici:client:sendHeaders', (message) => {
  if (typeof message !== 'object' || message === null || !('socket' in message)) return
  if (typeof message.socket === 'object' && message.socket !== null) readers.get(message.socket)?.beginAnswer()
})

/**
 * Removes interim answers (1xx) from what undici reads on this socket. A server may send any number of them before the
 * final answer, without being asked (RFC 9110, 15.2). undici ends the connection at a 100.
 */
export function skipInterimAnswers(socket: Socket): void {
  const interim = new InterimAnswers()
  readers.set(socket, interim)
  const read = socket.read.bind(socket)
  socket.read = (size) => {
    for (;;) {
      const chunk: unknown = read(size)
      if (!(chunk instanceof Buffer)) return chunk
      try {
        const left = interim.without(chunk)
        if (left.length > 0) return left
      } catch (error) {
        socket.destroy(error instanceof Error ? error : undefined)
        return null
      }
    }
  }
}

/** The part of one connection's bytes that is no interim answer. */
class InterimAnswers {
  /** The beginning of an answer whose status is not known yet, or of an interim answer. Undefined within other bytes. */
  #head: Buffer | undefined = none
  #count = 0

  beginAnswer(): void {
    this.#head ??= none
    this.#count = 0
  }

  /** @throws EgressError if there are too many interim answers, or one is too large */
  without(chunk: Buffer): Buffer {
    if (this.#head === undefined) return chunk
    let bytes = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk])
    for (let kind = kindOf(bytes); kind !== 'final'; kind = kindOf(bytes)) {
      const end = kind === 'unknown' ? -1 : bytes.indexOf(endOfHead)
      if (end === -1) {
        if (bytes.length > mostBytes) throw tooMany()
        this.#head = bytes
        return none
      }
      this.#count += 1
      if (this.#count > mostInterim || end > mostBytes) throw tooMany()
      bytes = bytes.subarray(end + endOfHead.length)
    }
    this.#head = undefined
    return bytes
  }
}

/** 101 is final: it ends HTTP on the connection. */
function kindOf(bytes: Buffer): 'unknown' | 'interim' | 'final' {
  const begin = bytes.toString('latin1', 0, 'HTTP/1.1 100'.length)
  if (/^HTTP\/1\.\d 1(?!01)\d\d$/.test(begin)) return 'interim'
  return 'HTTP/1.1 100'.length > begin.length && isBeginOfInterim(begin) ? 'unknown' : 'final'
}

function isBeginOfInterim(begin: string): boolean {
  return /^HTTP\/1\.\d 1\d\d$/.test(begin + 'HTTP/1.1 100'.slice(begin.length))
}

function tooMany(): EgressError {
  return new EgressError('connect', { cause: new Error('too many interim answers'), mayHaveBeenSent: true })
}
