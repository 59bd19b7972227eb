import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

export type ReceivedForm = {
  fields: Readonly<Record<string, string>>
  /** SHA-256 in hex and length of the received image. The bytes are not kept. */
  image: { sha256: string; bytes: number } | undefined
}

export class MalformedForm extends Error {}

const FORM = /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/i
const IMAGE = 'image'
const LIMITS = { fieldSize: 8_192, headerSize: 16_384, fields: 100, files: 1 }

/** Reads a form, URL-encoded or multipart, as a stream. Throws `MalformedForm`. */
export async function readForm(contentType: string, body: AsyncIterable<Buffer>): Promise<ReceivedForm> {
  const isForm = FORM.test(contentType)
  const parser = newParser(isForm ? contentType : 'application/x-www-form-urlencoded')
  const fields: [string, string][] = []
  const hash = createHash('sha256')
  const image = { isGiven: false, bytes: 0 }
  let tooLong: string | undefined
  parser.on('field', (name, value, _isNameCut, isValueCut) => {
    if (isValueCut) tooLong = name
    else fields.push([name, value])
  })
  parser.on('file', (_name, bytes) => {
    image.isGiven = true
    bytes.on('data', (chunk: Buffer) => {
      image.bytes += chunk.length
      hash.update(chunk)
    })
  })
  await pipeline(Readable.from(body), parser).catch((error: unknown) => {
    throw new MalformedForm(error instanceof Error ? error.message : 'the form is malformed', { cause: error })
  })
  if (tooLong !== undefined) throw new MalformedForm(`the member ${tooLong} is too long`)
  return {
    fields: isForm ? Object.fromEntries(fields) : {},
    image: image.isGiven ? { sha256: hash.digest('hex'), bytes: image.bytes } : undefined,
  }
}

/** Throws `MalformedForm` when the content type names no boundary. */
function newParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: LIMITS,
      isPartAFile: (name) => name === IMAGE,
    })
  } catch (error) {
    throw new MalformedForm('the content type names no boundary', { cause: error })
  }
}
