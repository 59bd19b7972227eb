import { createHash, type Hash } from 'node:crypto'

export type ReceivedForm = {
  fields: Readonly<Record<string, string>>
  /** SHA-256 in hex and length of the received image. The bytes are not kept. */
  image: { sha256: string; bytes: number } | undefined
}

export class MalformedForm extends Error {}

type Part = { name: string; text: string; hash: Hash | undefined; bytes: number }

const IMAGE = 'image'
const LONGEST_FIELD = 8_192
const LONGEST_HEADERS = 16_384

/** Reads a form, URL-encoded or multipart, as a stream. Throws `MalformedForm`. */
export async function readForm(contentType: string, body: AsyncIterable<Buffer>): Promise<ReceivedForm> {
  const [, quoted, plain] = /^multipart\/form-data;.*\bboundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary !== undefined) return await readMultipart(boundary, body)
  const text = await readText(body)
  const isForm = contentType.startsWith('application/x-www-form-urlencoded')
  return { fields: isForm ? Object.fromEntries(new URLSearchParams(text)) : {}, image: undefined }
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of body) if (text.length <= LONGEST_FIELD) text += chunk.toString()
  if (text.length > LONGEST_FIELD) throw new MalformedForm('the form is too long')
  return text
}

async function readMultipart(boundary: string, body: AsyncIterable<Buffer>): Promise<ReceivedForm> {
  const reader = new MultipartReader(boundary)
  for await (const chunk of body) reader.take(chunk)
  const parts = reader.finish()
  const image = parts.find(({ name }) => name === IMAGE)
  return {
    fields: Object.fromEntries(parts.filter(({ name }) => name !== IMAGE).map(({ name, text }) => [name, text])),
    image: image?.hash === undefined ? undefined : { sha256: image.hash.digest('hex'), bytes: image.bytes },
  }
}

class MultipartReader {
  readonly #delimiter: Buffer
  readonly #parts: Part[] = []
  #part: Part | undefined
  #state: 'content' | 'after-delimiter' | 'headers' | 'end' = 'content'
  /** The first delimiter may be at the very beginning, without a line break before it. */
  #buffer = Buffer.from('\r\n')

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
  }

  take(chunk: Buffer): void {
    if (this.#state === 'end') return
    this.#buffer = Buffer.concat([this.#buffer, chunk])
    while (this.#step()) continue
  }

  finish(): readonly Part[] {
    if (this.#state !== 'end') throw new MalformedForm('the form ends before its last boundary')
    return this.#parts
  }

  /** False when more bytes are needed. */
  #step(): boolean {
    switch (this.#state) {
      case 'content':
        return this.#readContent()
      case 'after-delimiter':
        return this.#readMark()
      case 'headers':
        return this.#readHeaders()
      default:
        return false
    }
  }

  /** Holds back the bytes that may be the beginning of a delimiter. */
  #readContent(): boolean {
    const at = this.#buffer.indexOf(this.#delimiter)
    const safe = at < 0 ? Math.max(0, this.#buffer.length - this.#delimiter.length) : at
    if (this.#part !== undefined) addTo(this.#part, this.#buffer.subarray(0, safe))
    this.#buffer = this.#buffer.subarray(at < 0 ? safe : at + this.#delimiter.length)
    if (at >= 0) this.#state = 'after-delimiter'
    return at >= 0
  }

  /** The line break stays in the buffer, so that it ends the empty header block of a part without headers. */
  #readMark(): boolean {
    if (this.#buffer.length < 2) return false
    const mark = this.#buffer.toString('latin1', 0, 2)
    if (mark !== '--' && mark !== '\r\n') throw new MalformedForm('a boundary is malformed')
    this.#state = mark === '--' ? 'end' : 'headers'
    return true
  }

  #readHeaders(): boolean {
    const at = this.#buffer.indexOf('\r\n\r\n')
    if (at < 0) {
      if (this.#buffer.length > LONGEST_HEADERS) throw new MalformedForm('the headers of a part are too long')
      return false
    }
    this.#part = startPart(this.#buffer.toString('utf8', 0, at))
    this.#parts.push(this.#part)
    this.#buffer = this.#buffer.subarray(at + 4)
    this.#state = 'content'
    return true
  }
}

function startPart(headers: string): Part {
  const name = /content-disposition:[^\r\n]*\bname="([^"]*)"/i.exec(headers)?.[1]
  if (name === undefined) throw new MalformedForm('a part has no name')
  return { name, text: '', hash: name === IMAGE ? createHash('sha256') : undefined, bytes: 0 }
}

function addTo(part: Part, bytes: Buffer): void {
  part.bytes += bytes.length
  if (part.hash !== undefined) part.hash.update(bytes)
  else if (part.bytes <= LONGEST_FIELD) part.text += bytes.toString()
  else throw new MalformedForm(`the member ${part.name} is too long`)
}
