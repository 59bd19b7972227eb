import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { Pool } from 'undici'
import type { InlineJob, JobDone } from './jobs.ts'
import { memberOf, timed } from './work.ts'

/** Size of one write, as from a client that reads a file. */
const sliceBytes = 65_536

/** Sends requests with image bytes in their bodies, all at once. The bodies are sent slice by slice. */
export async function runInlineJob({
  baseUrl,
  headers,
  patientId,
  imagePath,
  paddings,
  count,
}: InlineJob): Promise<JobDone> {
  const pool = new Pool(baseUrl, { connections: count, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const image = await readFile(imagePath)
  const parts = bodyParts(
    patientId,
    paddings.map((padding) => Buffer.concat([image, padding])),
  )
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const ids: string[] = []
  try {
    const done = await timed(count, count, async () => {
      const own = { ...headers, 'content-type': 'application/json', 'content-length': String(length) }
      const answer = await pool.request({
        path: '/v1/clinical-api/assessments',
        method: 'POST',
        headers: own,
        body: Readable.from(slices(parts), { objectMode: false }),
      })
      const text = await answer.body.text()
      if (answer.statusCode !== 202)
        throw new Error(`a request with images was answered ${answer.statusCode}: ${text.slice(0, 300)}`)
      ids.push(String(memberOf(JSON.parse(text), 'id')))
    })
    return { ...done, ids }
  } finally {
    await pool.close()
  }
}

function bodyParts(patientId: string, images: readonly Buffer[]): readonly Buffer[] {
  const entry = '{"capture_type":"dermoscopic","mime_type":"image/jpeg","data":"'
  const start = `{"patient_id":"${patientId}","finding":{"finding_type":"lesion"},"images":[${entry}`
  const parts = images.flatMap((image, index) => [
    Buffer.from(index === 0 ? start : `"},${entry}`),
    Buffer.from(image.toString('base64')),
  ])
  return [...parts, Buffer.from('"}]}')]
}

function* slices(parts: readonly Buffer[]): Generator<Buffer> {
  for (const part of parts)
    for (let at = 0; at < part.length; at += sliceBytes) yield part.subarray(at, at + sliceBytes)
}
